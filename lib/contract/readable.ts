import type { InstanceRecord, KnownJob, MissEntry, RunEntry } from './history-store.js';

/*
 * Reads the records of a history one at a time: an unreadable one (somebody has changed it, or a newer version wrote it in another form)
 * must not hide the others. Only the fields that are checked here have to be there.
 */

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

/** Around the dates of an instance, as `JSON.stringify` writes them. Inside a JSON text, their quotes would have backslashes. */
const [NEXT, LAST] = ['"next":[', '],"last":['];

/**
 * Reads the records of instances. Dates are most of a record, and seldom needed: they are parsed when they are first used. Instances that
 * are up mostly have the same dates, which are parsed once.
 *
 * @returns a function that answers `undefined` for what it cannot read
 */
export function instanceReader(): (text: unknown) => ToldInstance | undefined {
  const read = new Map<string, Dates>();
  const datesIn = (text: string): Dates => {
    // None if they cannot be read: then they are not known.
    const dates = read.get(text) ?? readable(`[${text}]`, isDates) ?? [];
    read.set(text, dates);
    return dates;
  };
  return (text) => {
    const all = String(text);
    const next = all.indexOf(NEXT);
    const last = all.indexOf(LAST, next);
    const end = all.indexOf(']', last + LAST.length);
    if (next < 0 || last < 0 || end < 0) return readable(all, isInstance);
    const told = readable(`${all.slice(0, next)}${NEXT}${LAST}${all.slice(end)}`, isInstance);
    const dates = {
      next: late(all.slice(next + NEXT.length, last), datesIn),
      last: late(all.slice(last + LAST.length, end), datesIn),
    };
    return told && Object.defineProperties(told, dates);
  };
}

/** A property that is parsed at its first use. */
function late<T>(text: string, read: (text: string) => T): PropertyDescriptor {
  let value: T | undefined;
  return { get: () => (value ??= read(text)), enumerable: true, configurable: true };
}

type Dates = InstanceRecord['next'];

const isDates = (value: unknown): value is Dates => Array.isArray(value);

/** What an instance reports of itself, without what the store adds. */
export type ToldInstance = Omit<InstanceRecord, 'instance' | 'jobs' | 'seenAt' | 'time'>;

export const isInstance = (value: unknown): value is ToldInstance =>
  isObject(value) &&
  [value['startedAt'], value['every']].every(Number.isFinite) &&
  [value['leads'], value['next'], value['last'], value['hung'] ?? [], value['stopped'] ?? []].every(
    Array.isArray,
  );

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
