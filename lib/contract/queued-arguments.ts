import { asciiJson } from '../base/wording.js';
import type { ControlAct } from './history-store.js';

/** The most that the arguments of a call may take as JSON, bytes. */
export const MOST_BYTES = 16 * 1_024;

/** What a queued call carries. */
export interface Queued {
  readonly args: readonly unknown[];
  /** The person who made it. Absent: the application made it. */
  readonly by?: ControlAct;
}

/** The arguments of a call that a person makes, behind that person: a store keeps both as one text. */
export const writeQueued = (args: readonly unknown[], by: ControlAct): string => asciiJson({ by, args });

/** Such a text: the person, and the arguments. A text of JSON inside of it has its quotes escaped. */
const WITH_PERSON = /^(\{"by":.*?,"args":)(.*)\}$/s;

/** The text of a call that another one with its key becomes one with: the person who asked first, if one has, and the newest arguments. */
export function mergedArguments(kept: string, newest: string): string {
  const [, person] = WITH_PERSON.exec(kept) ?? [];
  if (person === undefined) return newest;
  const [, , args = newest] = WITH_PERSON.exec(newest) ?? [];
  return `${person}${args}}`;
}

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
