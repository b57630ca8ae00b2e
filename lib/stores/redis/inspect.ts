import { SchedulerLockConfigError } from '../../base/errors.js';
import { given } from '../../base/shared.js';
import type { ReleaseOutcome } from '../../contract/lock-store.js';
import { MOST_SHOWN, shownLine, type Standing } from '../../contract/line.js';
import type { JobInfo, LockInfo } from '../../contract/lock-info.js';
import { type AskedClient, primaries } from './connection-options.js';
import { isStateKey, OF_LINE, stateKey } from './keys.js';
import { LeaseCalls, type LeaseCommands } from './lease-commands.js';
import { failure, translate } from './redis-client.js';
import type { RedisConnection } from './redis-connection.js';
import { readPause } from './pause-scripts.js';
import { endOf } from './replies.js';
import { leaseScript } from './script.js';

type Answer = [
  // In front: the answer of a lock must not begin with a text of somebody else's.
  now: [seconds: string, micros: string],
  token: string | null,
  left: number,
  fields: string[] | null,
  line: string[],
];

/**
 * Reads the entry of a lock.
 *
 * KEYS: lock, state, waiting, who
 * ARGV: -
 *
 * Returns the time, the content of the lock key or false, ms until it expires, the fields of the state, name and value in turn, and of each
 * call in line its place, and until when it waits, with its channel, in turn. There are no fields (false) if one of the keys has a value
 * of another type, and no line if this user may not run ZRANGE.
 */
export const INSPECT = leaseScript(
  /* lua */ `
local waiting, who = KEYS[k + 3], KEYS[k + 4]
local function problem(reply) return type(reply) == 'table' and reply.err end
local token, fields = redis.pcall('GET', lock), redis.pcall('HGETALL', state)
local failed = problem(token) or problem(fields)
if failed and not string.find(failed, 'WRONGTYPE') then error(failed, 0) end
if failed then token, fields = false, false end
local found = redis.pcall('ZRANGE', waiting, 0, ${MOST_SHOWN - 1}, 'WITHSCORES')
local line = {}
for n = 1, problem(found) and 0 or #found, 2 do
  local said = redis.pcall('HGET', who, found[n])
  line[n], line[n + 1] = found[n + 1], not problem(said) and said or ''
end
return { redis.call('TIME'), token, redis.call('PTTL', lock), fields, line }`,
  [],
  OF_LINE,
);

/** How many keys the server looks at in one step of a SCAN. */
const STEP = 1_000;
/** How many locks are read at once. */
const BATCH_SIZE = 200;
/** Stands for any name. No lock has this name, as control characters are not allowed. */
const ANY = '\u0001';

/** Looks at locks: those of one turn of the event loop go together, in few commands. */
export class LockLooks {
  readonly #looks: LeaseCalls<Answer>;

  constructor(
    private readonly connection: RedisConnection,
    private readonly commands: LeaseCommands,
  ) {
    this.#looks = new LeaseCalls(commands, INSPECT, (reply) => reply as Answer, false);
  }

  /**
   * The locks with these names, or every lock under the keys of a store, found by SCAN, on each master of a Cluster.
   *
   * @throws SchedulerLockConfigError if the names cannot be read from the keys
   */
  async at(given?: readonly string[]): Promise<LockInfo[]> {
    const { connection, commands } = this;
    const all =
      given ?? (await namesOf((await connection.connected()) as AskedClient, connection.keyPrefix, commands));
    const names = [...new Set(all)];
    const infos: LockInfo[] = [];
    for (let i = 0; i < names.length; i += BATCH_SIZE) {
      const look = async (name: string): Promise<LockInfo[]> => lockIn(name, await this.#looks.ask(name, []));
      infos.push(...(await Promise.all(names.slice(i, i + BATCH_SIZE).map(look))).flat());
    }
    return infos;
  }
}

async function namesOf(
  client: AskedClient,
  keyPrefix: string,
  { key, own }: LeaseCommands,
): Promise<string[]> {
  // The client does not add its own prefix to SCAN.
  const [lock, state] = [key(ANY), stateKey(key(ANY), keyPrefix)].map((each) =>
    (keyPrefix + each).split(ANY),
  );
  if (lock?.length !== 2 || state === undefined || state.length < 2) {
    throw new SchedulerLockConfigError([
      'inspect(): the function `key` does not put the name into the Redis key once and as it is, so names cannot be told from keys.',
    ]);
  }
  const find = async (parts: string[]): Promise<string[]> =>
    (await Promise.all(primaries(client).map((node) => scan(node, parts)))).flat();
  const names = [...(await find(state)), ...(await find(lock))];
  // A state key may look like the key of a lock whose name ends in the same way.
  return [...new Set(names)]
    .filter((name) => !isStateKey(keyPrefix + key(name)) && !own.includes(key(name)))
    .sort();
}

/** The names in the keys that consist of these parts. */
async function scan(node: AskedClient, parts: readonly string[]): Promise<string[]> {
  const pattern = parts.map((part) => part.replaceAll(/[\\*?[\]]/g, '\\$&')).join('*');
  const [head = ''] = parts;
  const tail = parts.slice(1).join('*');
  const names: string[] = [];
  let cursor = '0';
  do {
    const step = node.scan(cursor, 'MATCH', pattern, 'COUNT', STEP);
    const [next, keys] = await step.catch((error: unknown) => Promise.reject(failure(translate(error))));
    cursor = next;
    for (const found of keys)
      if (found.length > head.length + tail.length)
        names.push(found.slice(head.length, found.length - tail.length));
  } while (cursor !== '0');
  return names;
}

/** What INSPECT answers about a lock; none if there is none. */
function lockIn(name: string, [[seconds, micros], token, left, fields, line]: Answer): LockInfo[] {
  const ms = Number(left);
  const time = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  // A value of another type is in the place of the lock, so no instance can take it.
  if (fields === null) return [{ name, time, state: 'held', jobs: [] }];
  const state = new Map<string, string>();
  for (let i = 0; i < fields.length; i += 2) state.set(fields[i] ?? '', fields[i + 1] ?? '');
  if (token === null && state.size === 0) return [];
  const newest = state.get('token') ?? '';
  const held = token?.replace(/ \d+$/, '');
  const ended = held === `ended:${newest}`;
  // The newest lease of this library may be over, and another client may hold the lock.
  const ours = held === undefined || held === newest || ended;
  // If the server forgot a lease, only its end is known.
  const known = ours && state.get('holder') !== '';
  const [ownHolder, fence] = known ? ['holder', 'fence'].map((field) => state.get(field)) : [];
  const holder = ours ? ownHolder : shedLockHost(token);
  const began = known ? (state.get('since') ?? state.get('began')) : undefined;
  // The field has seconds, and is empty once the lease has ended. The fencing token is the same time in microseconds, unless
  // the server's clock was set back.
  const granted = Math.floor(Number(fence) / 1_000);
  const since =
    began === '' || Number(began) === Math.floor(granted / 1_000) ? granted : Number(began) * 1_000;
  const paused = readPause(state.get('paused'));
  const info: LockInfo = {
    name,
    time,
    state: token === null ? 'free' : ended ? 'cooling-down' : 'held',
    ...(holder === undefined ? undefined : { holder }),
    ...(began === undefined ? undefined : { since }),
    ...(token === null || ms < 0 ? undefined : { expiresIn: ms }),
    ...(fence === undefined ? undefined : { fencingToken: Number(fence), ...runOf(state, fence) }),
    ...(known && held === newest && newest !== '' ? { token: newest } : undefined),
    ...(token === null && isInterrupted(state) ? { interrupted: true } : undefined),
    ...(paused !== undefined && paused.until > time && { paused }),
    ...shownLine(standingOf(line, time), time),
    jobs: [...state].flatMap(([field, value]) =>
      field.startsWith('job:') ? jobOf(field.slice(4), value) : [],
    ),
  };
  return [info];
}

/**
 * The host of the JVM that holds a lock by ShedLock, from the value of its key. The time in that value is not used: it is by the clock of
 * the JVM. See InternalRedisLockProvider, https://github.com/lukas-krecan/ShedLock
 */
function shedLockHost(value: string | null): string | undefined {
  return /^ADDED:\d{4}-\d\d-\d\dT[\d:.]+Z@(.+):[\da-f-]{36}$/.exec(value ?? '')?.[1];
}

/** @param line place and text of each call in turn @param now epoch ms */
function standingOf(line: readonly string[], now: number): Pick<Standing, 'place' | 'process'>[] {
  return line.flatMap((place, n) => {
    const [, until, channel = ''] = /^(\d+) (.+)$/s.exec(line[n + 1] ?? '') ?? [];
    if (n % 2 === 1 || Number(until ?? 0) <= now) return [];
    const [process = ''] = /[^:]*:[^:]*$/.exec(channel) ?? [];
    return [{ place: Number(place), process }];
  });
}

/** The job of the newest lease, which has this fencing token. */
function runOf(state: ReadonlyMap<string, string>, fence: string): Pick<LockInfo, 'job'> {
  const of = state.get('of') ?? '';
  return of.startsWith(`${fence} `) && of.length > fence.length + 1
    ? { job: of.slice(fence.length + 1) }
    : {};
}

/** Whether the newest lease has ended by itself, if the lock is free: a release notes that it has ended. */
const isInterrupted = (state: ReadonlyMap<string, string>): boolean =>
  state.has('fence') && state.get('since') !== '';

function jobOf(job: string, start: string): JobInfo[] {
  const [, due] = /^next (\d+) \d+$/.exec(start) ?? [];
  if (due !== undefined) return [{ job, due: Number(due) }];
  const [, tick, attempt, outcome = '-'] = /^(\d+) (\d+) (\S+) /.exec(start) ?? [];
  // An abandoned lease has left the field empty.
  if (tick === undefined) return [];
  const [how, retryAt] = endOf(outcome);
  const end = given({ outcome: how as ReleaseOutcome | undefined, retryAt });
  return [{ job, tick: Number(tick), attempt: Number(attempt), ...end }];
}
