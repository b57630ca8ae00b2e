import type { ControlAct } from './history-store.js';

/** What a queued call carries. */
export interface Queued {
  readonly args: readonly unknown[];
  /** The person who made it. Absent: the application made it. */
  readonly by?: ControlAct;
}

/** The arguments of a call that a person makes, with that person: a store keeps both as one text. */
export const writeQueued = (args: readonly unknown[], by: ControlAct): string => JSON.stringify({ args, by });

/** The arguments that a store has kept: an array, or an object with a person beside it. `undefined` if the text is neither. */
export function readQueued(text: string): Queued | undefined {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (Array.isArray(read)) return { args: read };
  if (typeof read !== 'object' || read === null) return undefined;
  const { args, by } = read as Partial<Queued>;
  return Array.isArray(args) && typeof by?.actor === 'string' ? { args, by } : undefined;
}
