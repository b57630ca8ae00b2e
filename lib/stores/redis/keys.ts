import { SchedulerLockConfigError } from '../../base/errors.js';
import { show, unknownNames } from '../../base/wording.js';

/** The default of the option `keyPrefix`. */
export const DEFAULT_KEY_PREFIX = 'scheduler';

/** What is wrong with the options that name keys, one sentence each. An unknown option would silently have its default. */
export function keyProblems(options: object): string[] {
  const { keyPrefix, key } = options as { keyPrefix?: unknown; key?: unknown };
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const problems = unknownNames(Object.fromEntries(given), ['keyPrefix', 'key']);
  if (keyPrefix !== undefined && (typeof keyPrefix !== 'string' || keyPrefix === '')) {
    problems.push(`keyPrefix: ${show(keyPrefix)} is not valid. Give a text that is not empty.`);
  }
  if (key !== undefined && typeof key !== 'function') {
    problems.push(
      `key: ${show(key)} is no function. Give one that makes the Redis key of a lock from its name.`,
    );
  }
  return problems;
}

/** The part of a key that decides its Cluster slot: https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags */
export function hashTag(key: string): string | undefined {
  const open = key.indexOf('{');
  const close = open < 0 ? -1 : key.indexOf('}', open + 1);
  return close > open + 1 ? key.slice(open + 1, close) : undefined;
}

/** The key of the locks that have queued calls, and that beside which the records of instances are: no lock can have one of these. */
export const ownKeys = (keyPrefix: string) =>
  ({ queued: `${keyPrefix}:queued`, instances: `${keyPrefix}:instances` }) as const;

/**
 * The Redis key of a lock.
 *
 * @param key makes the key; often a function of the user
 * @param own keys that no lock can have
 * @throws SchedulerLockConfigError if `key` fails, or returns no key, or one that no lock can have
 */
export function lockKey(name: string, key: (name: string) => unknown, own: readonly string[] = []): string {
  let made: unknown;
  try {
    made = key(name);
  } catch (cause) {
    throw new SchedulerLockConfigError([`key: it failed for the lock "${name}": ${String(cause)}`], {
      cause,
    });
  }
  if (own.some((each) => each === made)) {
    throw new SchedulerLockConfigError([
      `key: it gave "${String(made)}" for the lock "${name}", and there the library itself keeps what it knows of all locks. ` +
        'Let it end in another way, such as with ":lock", or give another `keyPrefix` beside it.',
    ]);
  }
  if (typeof made === 'string' && made !== '') return made;
  throw new SchedulerLockConfigError([
    `key: it gave ${show(made)} for the lock "${name}". Give a text that is not empty.`,
  ]);
}

/**
 * Locks with the same key, which would silently exclude each other, and locks without a key: one sentence each.
 *
 * @param key makes the key; often a function of the user
 */
export function sharedKeys(
  names: Iterable<string>,
  key: (name: string) => unknown,
  own: readonly string[],
): string[] {
  const owners = new Map<string, string>();
  const problems: string[] = [];
  for (const name of new Set(names)) {
    let made: string;
    try {
      made = lockKey(name, key, own);
    } catch (error) {
      problems.push(...(error as SchedulerLockConfigError).problems);
      continue;
    }
    const owner = owners.get(made);
    owners.set(made, owner ?? name);
    if (owner !== undefined) {
      problems.push(
        `key: it gave "${made}" for the lock "${owner}" and for the lock "${name}", so that they would exclude each other. Give each name a key of its own; jobs that are to exclude each other share one name.`,
      );
    }
  }
  return problems;
}

const STATE = ':state';
const LINE = ':state:line';
const WHO = ':state:who';
const ENTRIES = ':state:entries';
const ORDER = ':state:order';
const HISTORY = ':state:history';
const PLACES = ':state:places';

/**
 * Whether a key, prefix included, is or could be the key of a state. Then no lock can have it, even if the lock of that state does
 * not exist. All state keys have a hash tag: that of the lock key, or one around it.
 */
export function isStateKey(stored: string): boolean {
  return (
    [STATE, LINE, WHO, ENTRIES, ORDER, HISTORY, PLACES].some((end) => stored.endsWith(end)) &&
    hashTag(stored) !== undefined
  );
}

/** The keys of a lock, and of its line. */
export type LockKeys = readonly [lock: string, state: string, line: string, who: string];

/** Which keys of a lock a script takes, and how many these are. */
export interface KeysOf {
  readonly count: number;
  of(keys: LockKeys): readonly string[];
}

export const OF_LOCK: KeysOf = { count: 2, of: ([lock, state]) => [lock, state] };
export const OF_LINE: KeysOf = { count: 4, of: (keys) => keys };
export const OF_QUEUE: KeysOf = { count: 2, of: ([, state]) => besideState(state, ENTRIES, ORDER) };
export const OF_HISTORY: KeysOf = { count: 2, of: ([, state]) => besideState(state, HISTORY, PLACES) };
export const OF_TURN: KeysOf = { count: 3, of: ([lock, state, line]) => [lock, state, line] };

/** Keys beside the state of a lock. */
const besideState = (state: string, ...ends: string[]): string[] =>
  ends.map((end) => state.slice(0, -STATE.length) + end);

/** The keys of a lock, by that of its lock itself. */
export function lockKeys(lock: string, clientPrefix: string): LockKeys {
  const state = stateKey(lock, clientPrefix);
  const [line = '', who = ''] = besideState(state, LINE, WHO);
  return [lock, state, line, who];
}

/**
 * The key of a lock's state. Both keys share a Cluster slot, also with the client's own `keyPrefix` (which the client puts before
 * every key).
 *
 * @throws SchedulerLockConfigError if the lock key is a state key, or if no state key can share a slot with it
 */
export function stateKey(lockKey: string, clientPrefix: string): string {
  const stored = clientPrefix + lockKey;
  if (isStateKey(stored)) {
    throw new SchedulerLockConfigError([
      `the Redis key "${stored}" is where the state of a lock with the key "${stored.slice(0, -STATE.length)}" is kept. ` +
        'Let `key` end in another way, such as with ":lock", or change the name.',
    ]);
  }
  if (hashTag(stored) !== undefined) return lockKey + STATE;
  // A brace outside of a tag would end, or begin, the tag that goes around the key.
  if (stored.includes('}') || clientPrefix.includes('{')) {
    throw new SchedulerLockConfigError([
      `the Redis key "${stored}" holds a brace that makes no hash tag, so its state cannot be kept in the same ` +
        'Cluster slot. Change `key` or `keyPrefix`: either no braces, or one tag such as "{app}:locks".',
    ]);
  }
  return `{${stored}}${STATE}`;
}
