import { SchedulerLockConfigError } from '../../base/errors.js';
import { MOST_BYTES } from '../../contract/queued-arguments.js';
import { asciiJson, show } from '../../base/wording.js';

const MOST_KEY = 200;

/**
 * The arguments of a call as JSON. Properties that are `undefined` are left out, as are such arguments at the end.
 *
 * @throws SchedulerLockConfigError with the path of the first value that would not come back as it is, or if they take too much
 */
export function writeArguments(where: string, args: readonly unknown[]): string {
  const given = args.slice(0, args.findLastIndex((value) => value !== undefined) + 1);
  for (const [index, value] of given.entries()) {
    const problem = problemOf(value, `argument ${index + 1}`, []);
    if (problem !== undefined) throw refused(where, problem);
  }
  const bytes = Buffer.byteLength(JSON.stringify(given));
  if (bytes > MOST_BYTES)
    throw refused(
      where,
      `the arguments take ${bytes} bytes as JSON, more than ${MOST_BYTES}. Pass an id instead of the data`,
    );
  return asciiJson(given);
}

/** The key of a call. @throws SchedulerLockConfigError if it is not valid */
export function checkKey(where: string, key: unknown): string {
  // PostgreSQL has no texts with a NUL character.
  if (typeof key === 'string' && key.length <= MOST_KEY && !key.includes('\0')) return key;
  const kind = String(key).includes('\0') ? 'with a NUL character' : `of ${String(key).length} characters`;
  const what = typeof key === 'string' ? `a text ${kind}` : show(key);
  throw refused(
    where,
    `queue.key gave ${what}. Return a text of at most ${MOST_KEY} characters, without the NUL character`,
  );
}

const refused = (where: string, problem: string): SchedulerLockConfigError =>
  new SchedulerLockConfigError([`${where}: ${problem}. Nothing was queued, and nothing was run.`]);

/** @param around the objects that the value is in */
function problemOf(value: unknown, path: string, around: readonly object[]): string | undefined {
  if (value === null || typeof value === 'boolean' || typeof value === 'string' || Number.isFinite(value))
    return undefined;
  if (typeof value !== 'object' || !isPlain(value)) {
    const what = typeof value === 'bigint' ? 'a bigint' : show(value);
    return `${path} is ${what}, which would not come back as it is. Pass plain values: an id, or what is needed of it`;
  }
  if (around.includes(value)) return `${path} contains itself. Pass plain values`;
  // A hole would come back as null.
  const inside: [unknown, string][] = Array.isArray(value)
    ? Array.from(value, (one: unknown, index) => [one, `${path}[${index}]`])
    : Object.entries(value).flatMap(([name, one]) => (one === undefined ? [] : [[one, `${path}.${name}`]]));
  for (const [one, where] of inside) {
    const found = problemOf(one, where, [...around, value]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The prototype of arrays is an array itself, that of a class of arrays is not. JSON leaves out the properties of an array. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (Array.isArray(value) && Array.isArray(prototype))
    return Object.keys(value).every((name) => /^\d+$/.test(name));
  return prototype === Object.prototype || prototype === null;
}
