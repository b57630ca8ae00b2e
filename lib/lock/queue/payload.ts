import { SchedulerLockConfigError } from '../../base/errors.js';
import { MOST_BYTES } from '../../contract/queued-arguments.js';
import { asciiJson, show } from '../../base/wording.js';

const MOST_KEY = 200;

/**
 * The arguments of a call as JSON: null, booleans, finite numbers, texts, arrays and plain objects. Properties that are `undefined` are
 * left out, as are such arguments at the end.
 *
 * @param where the call was made, for the message
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

/** The key of a call. @throws SchedulerLockConfigError if it is no text, too long, or holds a NUL character */
export function checkKey(where: string, key: unknown): string {
  if (typeof key !== 'string') throw refused(where, `queue.key gave ${show(key)}. Return a text`);
  // PostgreSQL has no texts with it.
  if (key.includes('\0'))
    throw refused(where, 'queue.key gave a text with a NUL character. Return one without');
  if (key.length <= MOST_KEY) return key;
  throw refused(
    where,
    `queue.key gave a text of ${key.length} characters, more than ${MOST_KEY}. Return a shorter one`,
  );
}

const refused = (where: string, problem: string): SchedulerLockConfigError =>
  new SchedulerLockConfigError([`${where}: ${problem}. Nothing was queued, and nothing was run.`]);

/** @param around the objects that the value is in */
function problemOf(value: unknown, path: string, around: readonly object[]): string | undefined {
  if (typeof value !== 'object' || value === null) return problemOfPlain(value, path);
  if (around.includes(value)) return `${path} contains itself. Pass plain values`;
  const problem = problemOfObject(value, path);
  if (problem !== undefined) return problem;
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

function problemOfPlain(value: unknown, path: string): string | undefined {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return undefined;
  if (typeof value !== 'number')
    return `${path} is ${value === undefined ? 'undefined' : `a ${typeof value}`}. Pass plain values: texts, numbers, arrays, objects`;
  return Number.isFinite(value) ? undefined : `${path} is ${value}, which JSON has not. Pass a finite number`;
}

function problemOfObject(value: object, path: string): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  // The prototype of arrays is an array itself, that of a class of arrays is not.
  if (Array.isArray(value) && Array.isArray(prototype)) {
    const own = Object.keys(value).find((name) => !/^\d+$/.test(name));
    return own === undefined
      ? undefined
      : `${path}.${own} is a property of an array, which JSON leaves out. Pass an object with the array in it`;
  }
  if (prototype === Object.prototype || prototype === null) return undefined;
  return `${path} is ${show(value)}, which would not come back as one. Pass plain values: an id, or what is needed of it`;
}
