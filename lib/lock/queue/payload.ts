import { SchedulerLockConfigError } from '../../base/errors.js';
import { MOST_BYTES } from '../../contract/queued-arguments.js';
import { asciiJson, show } from '../../base/wording.js';

/** The most characters of a key. */
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
  const problem = given
    .map((value, index) => problemOf(value, `argument ${index + 1}`, []))
    .find((found) => found !== undefined);
  if (problem !== undefined) throw refused(where, problem);
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
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return undefined;
  if (typeof value === 'number')
    return Number.isFinite(value)
      ? undefined
      : `${path} is ${value}, which JSON has not. Pass a finite number`;
  if (typeof value !== 'object')
    return `${path} is ${kindOf(value)}. Pass plain values: texts, numbers, arrays, objects`;
  if (around.includes(value)) return `${path} contains itself. Pass plain values`;
  const inside = [...around, value];
  const prototype: unknown = Object.getPrototypeOf(value);
  // The prototype of arrays is an array itself, that of a class of arrays is not.
  if (Array.isArray(value) && Array.isArray(prototype)) return problemOfArray(value, path, inside);
  if (prototype !== Object.prototype && prototype !== null)
    return `${path} is ${show(value)}, which would not come back as one. Pass plain values: an id, or what is needed of it`;
  const own = Object.entries(value).filter(([, one]) => one !== undefined);
  return first(
    own.map(([name, one]) => [one, `${path}.${name}`] as const),
    inside,
  );
}

function problemOfArray(
  value: readonly unknown[],
  path: string,
  inside: readonly object[],
): string | undefined {
  const own = Object.keys(value).find((name) => !/^\d+$/.test(name));
  if (own !== undefined)
    return `${path}.${own} is a property of an array, which JSON leaves out. Pass an object with the array in it`;
  // A hole would come back as null.
  return first(
    Array.from(value, (one: unknown, index) => [one, `${path}[${index}]`] as const),
    inside,
  );
}

function first(
  values: readonly (readonly [unknown, string])[],
  around: readonly object[],
): string | undefined {
  for (const [value, path] of values) {
    const problem = problemOf(value, path, around);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

const kindOf = (value: unknown): string => (value === undefined ? 'undefined' : `a ${typeof value}`);
