import type { InstanceRecord, KnownJob, MissEntry, RunEntry } from './history-store.js';

// Reads records one at a time: an unreadable one must not hide the others. Only the fields that are checked here have to be there.

/** The value of a text, or `undefined` if it is no JSON, or not what it should be. */
export function readable<T>(text: unknown, isOne: (value: unknown) => value is T): T | undefined {
  try {
    const value: unknown = JSON.parse(String(text));
    return isOne(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Reads each record, and calls back for those that cannot be read. */
export function readEach<Raw, T>(
  records: readonly Raw[],
  read: (record: Raw) => T | undefined,
  onUnreadable: (() => void) | undefined,
): T[] {
  return records.flatMap((record) => {
    const value = read(record);
    if (value === undefined) onUnreadable?.();
    return value === undefined ? [] : [value];
  });
}

/** What an instance reports of itself, without what the store adds. */
export type ToldInstance = Omit<InstanceRecord, 'jobs' | 'seenAt' | 'time'>;

export const isInstance = (value: unknown): value is ToldInstance =>
  isObject(value) &&
  typeof value['instance'] === 'string' &&
  [value['startedAt'], value['every']].every(Number.isFinite) &&
  [value['leads'], value['hung'] ?? [], value['stopped'] ?? []].every(Array.isArray) &&
  isObject(value['added'] ?? {});

export const isJobs = (value: unknown): value is KnownJob[] =>
  Array.isArray(value) && value.every((job) => isObject(job) && isJob(job));

function isJob({ job, kind, enabled, overdue }: Readonly<Record<string, unknown>>): boolean {
  const isNamed = [job, kind].every((text) => typeof text === 'string');
  return isNamed && typeof enabled === 'boolean' && (overdue === false || typeof overdue === 'number');
}

export const isRun = (value: unknown): value is RunEntry =>
  isObject(value) && typeof value['instance'] === 'string';

export const isMiss = (value: unknown): value is MissEntry =>
  isObject(value) &&
  [value['job'], value['instance'], value['reason']].every((text) => typeof text === 'string') &&
  [value['tick'], value['count']].every(Number.isSafeInteger);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
