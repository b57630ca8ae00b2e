import { describe, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { AcquireRequest, AcquireResult, ReleaseOptions } from '../../../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../../../lib/contract/lease-ref.js';
import { RedisLockStore } from '../../../../lib/stores/redis/index.js';
import type { HistoryEntry, Miss, RunRecord } from '../../../../lib/contract/history-store.js';
import { commandsDuring } from '../../../support/local-redis.js';
import { until } from '../../../support/until.js';
import { ownStore } from './support/own-redis.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NAME = 'refresh';
const LOCK = `scheduler:${NAME}:lock`;
const STATE = `{${LOCK}}:state`;
const [HISTORY, PLACES] = [`${STATE}:history`, `${STATE}:places`];
const TICK = 1_760_000_000_000;
const RUN = { job: 'RefreshJobs.refresh', tick: TICK };
const HOLDER = 'host:1:abc';
const KEPT = { count: 100, age: 30 * DAY };
const RECORD: RunRecord = { kept: KEPT, duration: 1_200 };

let client: Redis;
let store: RedisLockStore;
let tokens = 0;

ownStore((...own) => ([client, store] = own));

type Granted = Extract<AcquireResult, { acquired: true }>;

async function take(fields: Partial<AcquireRequest> = {}): Promise<LeaseRef & Pick<Granted, 'interrupted'>> {
  const { history: _history, ...request } = {
    name: NAME,
    token: `token-${(tokens += 1)}`,
    ttl: HOUR,
    holder: HOLDER,
    ...fields,
  };
  const result = await store.acquire({ ...request, history: true, ...fields });
  if (!result.acquired) throw new Error(`refused: ${result.reason}`);
  const { acquired: _, previousSchedule: __, ...facts } = result;
  return { ...request, ...facts };
}

const entries = (limit = 100, name = NAME): Promise<HistoryEntry[]> => store.history.entries({ name, limit });

/** Whoever reads finds the records of the store written. */
const written = (): Promise<unknown> => entries(1);

const run = (lease: LeaseRef, fields: object): object => ({
  type: 'run',
  lock: lease.name,
  fencingToken: lease.fencingToken,
  instance: HOLDER,
  at: expect.any(Number),
  ...fields,
});

const isOf = (entry: HistoryEntry, { fencingToken }: LeaseRef): boolean =>
  entry.type === 'run' && entry.fencingToken === fencingToken;

/** As if the holder of the lock had died, and the time of its lease had passed. */
const die = (): Promise<unknown> => client.del(LOCK);

describe('a release with a record', () => {
  test('keeps the run with all that is known of it', async () => {
    const lease = await take({ ...RUN, rerun: 0 });
    const before = Number((await client.time())[0]) * 1_000;
    const record = { ...RECORD, error: 'Error: no paper', traceId: 'af' };
    await store.release({ ...lease, attempt: 1 }, { outcome: 'failed', record });
    const [entry, ...others] = await entries();
    expect(others).toEqual([]);
    expect(entry).toEqual(
      run(lease, {
        job: RUN.job,
        tick: TICK,
        attempt: 1,
        outcome: 'failed',
        duration: 1_200,
        error: 'Error: no paper',
        traceId: 'af',
      }),
    );
    expect(entry?.at).toBeGreaterThanOrEqual(before);
  });

  const plain = {};
  const nothing = (): undefined => undefined;
  test.each<[way: string, fields: object, options: ReleaseOptions, prepare: () => unknown]>([
    ['a plain run', plain, {}, nothing],
    ['a run with a tick', RUN, {}, nothing],
    ['a run with an interval', { job: 'a', interval: HOUR }, {}, nothing],
    ['a run that failed', plain, { outcome: 'failed' }, nothing],
    ['a run with a tick that passed its timeout', RUN, { outcome: 'timed-out' }, nothing],
    ['a run that was aborted', RUN, { outcome: 'aborted' }, nothing],
    ['a run that keeps its lock', plain, { keepFor: HOUR }, nothing],
    ['a run with a tick that keeps its lock', RUN, { keepFor: HOUR }, nothing],
    ['a run that is called while others wait', plain, {}, () => client.hset(STATE, 'line', 'token channel')],
    ['a run that is called after others have waited', plain, {}, () => waited()],
    ['a run with a tick that is called while others wait', RUN, {}, () => waited()],
    ['a run whose state was lost', plain, {}, () => client.del(STATE)],
  ])('keeps it once, also if it is sent again: %s', async (_way, fields, options, prepare) => {
    const lease = await take(fields);
    await prepare();
    const recorded = { ...options, record: RECORD };
    expect(await store.release(lease, recorded)).toEqual({ released: true });
    expect(await store.release(lease, recorded)).toEqual({ released: false, reason: 'ended' });
    const { outcome = 'completed' } = options;
    expect(await entries()).toMatchObject([run(lease, { outcome, duration: 1_200 })]);
    expect(await client.zcard(PLACES)).toBe(1);
  });

  const waited = (): Promise<unknown> =>
    client.multi().hdel(STATE, 'since').hset(STATE, { began: '1', line: 'token channel' }).exec();

  test('keeps it for a lease that was lost: to nobody, or to another holder', async () => {
    const lost = await take(RUN);
    await die();
    expect(await store.release(lost, { record: RECORD })).toMatchObject({ reason: 'expired' });
    const taken = await take();
    await client.set(LOCK, 'a stranger');
    expect(await store.release(taken, { record: RECORD })).toMatchObject({ reason: 'taken' });
    expect(await store.release(taken, { record: RECORD })).toMatchObject({ released: false });
    expect(await entries()).toMatchObject([run(taken, {}), run(lost, {})]);
  });

  test('keeps nothing of an abandoned lease', async () => {
    await store.release(await take(RUN), { outcome: 'abandoned', record: RECORD });
    expect(await entries()).toEqual([]);
    expect(await client.keys('*:state:*')).toEqual([]);
  });

  test('keeps both kinds of outcomes apart, so many of each, for so long', async () => {
    const record = { ...RECORD, kept: { count: 10, age: DAY } };
    const failed = await take();
    await store.release(failed, { outcome: 'failed', record });
    for (let i = 0; i < 300; i++) await store.release(await take(), { record });
    expect(await entries(1_000)).toContainEqual(expect.objectContaining(run(failed, { outcome: 'failed' })));
    // A tenth too many may stay.
    expect(await client.zcard(PLACES)).toBeLessThanOrEqual(11 + 1);
    for (const key of [HISTORY, PLACES]) {
      expect(await client.pttl(key)).toBeLessThanOrEqual(DAY + HOUR);
      expect(await client.pttl(key)).toBeGreaterThan(DAY - HOUR);
    }
    const newest = await entries(5);
    expect(newest.map(({ type }) => type)).toEqual(Array.from({ length: 5 }, () => 'run'));
  });

  test('goes with others in one command, and so do the records, each of its own lock or none', async () => {
    const names = Array.from({ length: 120 }, (_, i) => `job-${i}`);
    const leases = await Promise.all(names.map((name) => take({ name })));
    const options = (i: number): ReleaseOptions =>
      i % 3 === 2 ? {} : { outcome: i % 3 ? 'failed' : 'completed', record: { ...RECORD, duration: i } };
    const commands = await commandsDuring(client, async () => {
      await Promise.all(leases.map((lease, i) => store.release(lease, options(i))));
      await written();
    });
    expect(commands.length).toBeLessThan(15);
    // Each with the keys that it writes.
    const keys = commands.flatMap(([, , count, ...args]) => args.slice(0, Number(count)));
    const keyOf = (i: number): string => `{scheduler:job-${i}:lock}:state:history`;
    expect(keys).toEqual(expect.arrayContaining([keyOf(0), keyOf(118)]));
    expect(keys).not.toContain(keyOf(2));
    for (const [i, lease] of leases.entries()) {
      const { outcome, record } = options(i);
      expect(await entries(9, lease.name)).toEqual(
        record ? [run(lease, { outcome, duration: record.duration })] : [],
      );
    }
  });

  test('costs a release without one nothing: it sends what it did before', async () => {
    const lease = await take();
    const [[, , ...args] = []] = await commandsDuring(client, () => store.release(lease));
    expect(args).toEqual(['2', LOCK, STATE, lease.token, String(lease.fencingToken)]);
  });

  test('sends what one without it sends: the record follows', async () => {
    const lease = await take();
    const options = { outcome: 'failed', record: RECORD } as const;
    const [[, , ...args] = []] = await commandsDuring(client, () => store.release(lease, options));
    expect(args).toEqual(['2', LOCK, STATE, lease.token, String(lease.fencingToken), 'failed', '']);
  });

  test('keeps it a moment later, if nobody asks for it', async () => {
    await store.release(await take(), { record: RECORD });
    await until(async () => (await client.zcard(PLACES)) === 1);
  });

  test('is kept by a shutdown right after it', async () => {
    await store.release(await take(), { record: RECORD });
    await store.close();
    expect(await client.zcard(PLACES)).toBe(1);
  });

  test('does not hold up a shutdown where the server is frozen', async () => {
    const other = client.duplicate({ disconnectTimeout: 100 });
    await store.release(await take(), { record: RECORD });
    await other.client('PAUSE', 60_000, 'WRITE');
    try {
      await store.close();
    } finally {
      await other.client('UNPAUSE');
      other.disconnect();
    }
  });

  test('is not lost where thousands end at one moment', async () => {
    const names = Array.from({ length: 2_000 }, (_, i) => `job-${i}`);
    const leases = await Promise.all(names.map((name) => take({ name })));
    await Promise.all(leases.map((lease) => store.release(lease, { record: RECORD })));
    const kept = await Promise.all(names.map((name) => entries(1, name)));
    expect(kept.every(({ length }) => length === 1)).toBe(true);
  });

  test('of two records that of the release which ended the lease counts, whichever is written first', async () => {
    const by = { action: 'break', actor: 'ann' } as const;
    const another = new RedisLockStore(client, { key: (name) => `scheduler:${name}:lock` });
    await another.init();
    const [end, stop] = [{ record: RECORD }, { outcome: 'aborted', record: { ...RECORD, by } }] as const;
    for (const [first, second] of [
      [end, stop],
      [stop, end],
    ] as const) {
      const lease = await take();
      expect(await store.release(lease, first)).toEqual({ released: true });
      expect(await another.release(lease, second)).toEqual({ released: false, reason: 'ended' });
      // Whoever asks has its own records written.
      await another.history.entries({ name: NAME, limit: 1 });
      // The first one lies behind others that have completed.
      for (let i = 0; i < 3; i++) await store.release(await take(), { record: RECORD });
      // Among these four, wherever it stands: records of one batch are written side by side.
      const entry = (await entries(4)).find((each) => isOf(each, lease));
      const { outcome = 'completed' } = first as ReleaseOptions;
      expect(entry).toEqual(run(lease, { outcome, duration: 1_200, ...(first === stop && { by }) }));
    }
    await another.close();
  });

  test('counts as that of a release which has ended the lease, though a try before that one failed', async () => {
    const another = new RedisLockStore(client, { key: (name) => `scheduler:${name}:lock` });
    await another.init();
    const lease = await take();
    await client.rename(STATE, 'elsewhere');
    await client.set(STATE, 'no hash');
    await expect(store.release(lease, { record: RECORD })).rejects.toMatchObject({ code: 'LOCK_STATE' });
    await client.rename('elsewhere', STATE);
    expect(await store.release(lease, { record: RECORD })).toEqual({ released: true });
    await another.release(lease, { outcome: 'aborted', record: RECORD });
    await another.close();
    expect(await entries()).toEqual([run(lease, { outcome: 'completed', duration: 1_200 })]);
  });

  test.each(['a plain run', 'a run with a tick'])(
    'succeeds on a server that is out of memory: %s',
    async (kind) => {
      const lease = await take(kind === 'a plain run' ? {} : RUN);
      await client.config('SET', 'maxmemory', '1');
      try {
        expect(await store.release(lease, { record: RECORD })).toEqual({ released: true });
        const lost = { ...lease, token: 'of nobody', fencingToken: 1 };
        expect(await store.release(lost, { record: RECORD })).toMatchObject({ released: false });
        expect(await entries()).toEqual([]);
      } finally {
        await client.config('SET', 'maxmemory', '0');
      }
      expect(await client.exists(LOCK)).toBe(0);
    },
  );
});

describe('the queued call of a lease', () => {
  const enqueue = (id: string): Promise<unknown> =>
    store.queuedCalls.enqueue({ name: NAME, id, job: 'a', args: '[]', priority: 0, max: 10, redeliver: 1 });

  test('that gives way to the next one leaves a record under its own fencing token', async () => {
    await enqueue('one');
    await enqueue('two');
    const lease = await take({ job: 'a' });
    const options = { takes: [{ job: 'a', ttl: HOUR }] };
    const first = await store.queuedCalls.next(lease, options);
    if (first.queuedCall === undefined) throw new Error('no queued call');
    const one = { ...lease, queuedCall: first.queuedCall.id, fencingToken: first.fencingToken };
    const ended = { ...options, outcome: 'completed', record: RECORD } as const;
    const second = await store.queuedCalls.next(one, ended);
    if (second.queuedCall === undefined) throw new Error('no queued call');
    expect(await store.queuedCalls.next(one, ended)).toMatchObject({ queuedCall: { id: 'two' } });
    expect(await entries()).toEqual([run(one, { job: 'a', outcome: 'completed', duration: 1_200 })]);

    const [info] = await store.inspect([NAME]);
    expect(info).toMatchObject({ job: 'a' });
    const two = { ...one, queuedCall: 'two', fencingToken: Number(info?.fencingToken) };
    await store.release(two, { outcome: 'failed', record: RECORD });
    expect(await entries()).toMatchObject([run(two, { outcome: 'failed' }), run(one, {})]);
  });
});

describe('a lease that has ended by itself', () => {
  test('is told with the next grant, once, with the run that it was for', async () => {
    const dead = await take({ ...RUN, rerun: 1 });
    await die();
    const next = await take({ ...RUN, rerun: 1, holder: 'another' });
    const { fencingToken } = dead;
    const interrupted = { fencingToken, holder: HOLDER, ...RUN, attempt: 1 };
    expect(next).toMatchObject({ interrupted, attempt: 2 });
    await store.release(next, { record: RECORD });
    expect((await take()).interrupted).toBeUndefined();
  });

  test.each([
    ['a run without a tick', { job: 'by hand' }, { job: 'by hand' }],
    ['a lock without a job', {}, {}],
    ['a run whose job is known by its tick only', { ...RUN, history: false }, { ...RUN, attempt: 1 }],
    ['a run of a newer kind', { job: 'a', interval: HOUR }, { job: 'a' }],
  ])('is told as far as it is known: %s', async (_what, fields, known) => {
    const { fencingToken } = await take(fields);
    await die();
    const { interrupted, attempt } = await take({ job: RUN.job });
    expect(interrupted).toEqual({ fencingToken, holder: HOLDER, ...known });
    expect(attempt).toBeUndefined();
  });

  test.each([
    ['without a job', {}, {}],
    ['with a job that nothing has noted', { job: 'second' }, {}],
    [
      'with a job that its tick tells',
      { job: 'third', tick: TICK },
      { job: 'third', tick: TICK, attempt: 1 },
    ],
  ])(
    'is never told with the job of the run that was remembered before it: %s',
    async (_what, fields, known) => {
      await store.release(await take({ job: 'first', tick: TICK }), { record: RECORD });
      const { fencingToken } = await take({ ...fields, history: false });
      await die();
      const { interrupted } = await take({ job: 'third', tick: TICK + 1 });
      expect(interrupted).toEqual({ fencingToken, holder: HOLDER, ...known });
    },
  );

  test('is not told where it was released, abandoned or never there, nor with a refusal', async () => {
    expect((await take()).interrupted).toBeUndefined();
    expect(await store.acquire({ name: NAME, token: 'x', ttl: 1, holder: 'x', history: true })).toMatchObject(
      {
        acquired: false,
      },
    );
    await client.flushall();
    await store.release(await take(), { outcome: 'abandoned' });
    expect((await take()).interrupted).toBeUndefined();
  });

  test('is told to a call that has waited for its turn', async () => {
    const dead = await take({ job: 'first' });
    const wait = { limit: HOUR, priority: 0, process: 'p' };
    const waiting = { name: NAME, token: 'waiting', ttl: HOUR, holder: 'there', job: 'second', wait };
    expect(await store.acquire({ ...waiting, history: true })).toMatchObject({ waiting: { ahead: 0 } });
    await die();
    const { fencingToken } = dead;
    expect(await store.acquire({ ...waiting, history: true })).toMatchObject({
      acquired: true,
      interrupted: { fencingToken, holder: HOLDER, job: 'first' },
    });
    // Of this one, `since` is elsewhere as long as calls wait.
    await store.acquire({ ...waiting, token: 'next', history: true });
    await die();
    await client.del(`${STATE}:line`, `${STATE}:who`);
    await client.hdel(STATE, 'line', 'turn');
    expect((await take()).interrupted).toMatchObject({ holder: 'there', job: 'second' });
  });

  test('costs a request without a history nothing: it sends and reads what it did before', async () => {
    await take();
    await die();
    const request = { name: NAME, token: 'plain', ttl: HOUR, holder: HOLDER };
    const [[, , ...args] = []] = await commandsDuring(client, async () => {
      expect(await store.acquire(request)).toEqual({ acquired: true, fencingToken: expect.any(Number) });
    });
    expect(args).toEqual(['2', LOCK, STATE, 'plain', String(HOUR), HOLDER]);
  });

  test('is kept as interrupted, but not over its end', async () => {
    const [one, two] = [await take(RUN), await take({ name: 'other', ...RUN })];
    for (const lease of [one, two]) {
      const { name, fencingToken, holder, job } = lease;
      await store.history.interrupted({ name, fencingToken, holder, job: job ?? '', kept: KEPT });
    }
    expect(await entries()).toEqual([run(one, { job: RUN.job, outcome: 'interrupted' })]);
    await store.release(one, { record: RECORD });
    await store.release(two, { outcome: 'failed', record: RECORD });
    await store.history.interrupted({ ...two, kept: KEPT });
    expect(await entries()).toMatchObject([{ outcome: 'completed' }]);
    expect(await entries(9, 'other')).toMatchObject([{ outcome: 'failed' }]);
  });

  test('is shown by inspect(), with its job', async () => {
    const look = async (): Promise<unknown> => (await store.inspect([NAME]))[0];
    const lease = await take({ job: 'by hand' });
    expect(await look()).toMatchObject({ state: 'held', job: 'by hand' });
    expect(await look()).not.toHaveProperty('interrupted');
    await die();
    expect(await look()).toMatchObject({ state: 'free', job: 'by hand', interrupted: true });
    await store.release(lease);
    expect(await look()).not.toHaveProperty('interrupted');
    // Of this one nobody has noted the job.
    await store.acquire({ ...lease, token: 'plain' });
    expect(await look()).not.toHaveProperty('job');
  });
});

describe('the entries of a lock', () => {
  const time = async (): Promise<number> => {
    const [seconds, micros] = (await client.time()).map(Number) as [number, number];
    return seconds * 1_000 + Math.floor(micros / 1_000);
  };
  const nextMillisecond = async (): Promise<void> => {
    const now = await time();
    await until(async () => (await time()) > now);
  };

  test('come newest first, so many runs and so many misses', async () => {
    for (let i = 0; i < 3; i++) {
      await store.release(await take({ job: 'a', tick: TICK + i }), {
        outcome: i === 1 ? 'failed' : 'completed',
        record: RECORD,
      });
      await written();
      // Entries of the two kinds in one millisecond would have no order.
      await nextMillisecond();
      await store.history.miss(missOf({ tick: TICK + 10 + i }));
      await nextMillisecond();
    }
    const shown = (all: HistoryEntry[]): unknown[] =>
      all.map((entry) => (entry.type === 'run' ? entry.outcome : entry.tick - TICK));
    expect(shown(await entries())).toEqual([12, 'completed', 11, 'failed', 10, 'completed']);
    expect(shown(await entries(1))).toEqual([12, 'completed']);
    expect(await entries(9, 'another')).toEqual([]);
  });
});

const missOf = (fields: Partial<Miss>): Miss => ({
  name: NAME,
  job: 'a',
  instance: HOLDER,
  tick: 0,
  reason: 'not-fired',
  count: 1,
  kept: KEPT,
  ...fields,
});

describe('a tick that nobody has started', () => {
  const miss = (fields: Partial<Miss>) => store.history.miss(missOf(fields));
  const ran = async (fields: Partial<AcquireRequest>): Promise<void> =>
    void (await store.release(await take({ job: 'a', ...fields })));

  test('is kept as missed for each instance that tells of it', async () => {
    await ran({ tick: TICK });
    const tick = TICK + 5;
    expect(await miss({ tick })).toEqual({ missed: true, tick });
    const second = { tick, instance: 'b', reason: 'held', count: 2, holder: 'c' };
    expect(await miss(second)).toEqual({ missed: true, tick });
    expect(await miss({ tick: tick + 1 })).toMatchObject({ missed: true });
    const facts = { type: 'miss', lock: NAME, job: 'a', at: expect.any(Number) };
    expect((await entries()).slice(1)).toEqual([
      { ...facts, ...second },
      { ...facts, tick, instance: HOLDER, reason: 'not-fired', count: 1 },
    ]);
    expect(await client.pttl(HISTORY)).toBeGreaterThan(29 * DAY);
  });

  test('was not missed if it or a newer one was started', async () => {
    await ran({ tick: TICK });
    expect(await miss({ tick: TICK })).toEqual({ missed: false });
    expect(await miss({ tick: TICK - 1 })).toMatchObject({ missed: false });
    expect(await entries()).toEqual([]);
  });

  test('was missed also if no start of the job is known; what is kept of that expires, and changes no lock', async () => {
    expect(await miss({ tick: TICK })).toEqual({ missed: true, tick: TICK });
    expect(await store.history.told({ name: NAME, job: 'a', tick: TICK, kept: KEPT })).toBe(true);
    expect(await client.exists(STATE)).toBe(0);
    expect(await store.inspect([NAME])).toEqual([]);
    await ran({ job: 'another', tick: TICK });
    await store.release(await take({ job: 'a', tick: TICK }), { outcome: 'abandoned' });
    expect(await miss({ tick: TICK + 1 })).toMatchObject({ missed: true });
  });

  test('was not missed while a run of the job goes on, but while another one does', async () => {
    const lease = await take({ job: 'a', tick: TICK });
    expect(await miss({ tick: TICK + 1 })).toMatchObject({ missed: false });
    await store.release(lease, { keepFor: HOUR });
    expect(await miss({ tick: TICK + 1 })).toMatchObject({ missed: true });
    await client.del(LOCK);
    await take({ job: 'b' });
    expect(await miss({ tick: TICK + 2 })).toMatchObject({ missed: true });
  });

  test('of an interval is missed once it is due for longer than the grace', async () => {
    await ran({ interval: HOUR });
    const due = Number(/next (\d+)/.exec((await client.hget(STATE, 'job:a')) ?? '')?.[1]);
    expect(await miss({ grace: 1 })).toEqual({ missed: false });
    const past = due - 2 * HOUR;
    await client.hset(STATE, 'job:a', `next ${past} ${HOUR}`);
    expect(await miss({ grace: 2 * HOUR })).toMatchObject({ missed: false });
    expect(await miss({ grace: HOUR / 2 })).toEqual({ missed: true, tick: past });
    expect(await miss({ grace: HOUR / 2 })).toEqual({ missed: true, tick: past });
    expect(await entries(1)).toMatchObject([{ type: 'miss', tick: past }]);
  });
});

test('histories are kept with a `key` function of the user, and with a prefix of the client', async () => {
  const prefixed = client.duplicate({ keyPrefix: 'app:', disconnectTimeout: 100 });
  await prefixed.ping();
  for (const [own, key, state] of [
    [client, (name: string) => `{jobs}:${name}`, '{jobs}:refresh:state'],
    [prefixed, (name: string) => `jobs:${name}`, 'app:{app:jobs:refresh}:state'],
    [client, undefined, STATE],
  ] as const) {
    store = new RedisLockStore(own, key === undefined ? {} : { key });
    expect(await store.history.init()).toBeUndefined();
    await store.release(await take({ job: 'a', tick: TICK }), { record: RECORD });
    expect(await store.history.miss(missOf({ tick: TICK + 1 }))).toMatchObject({ missed: true });
    expect(await entries()).toHaveLength(2);
    expect(await client.exists(`${state}:history`, `${state}:places`)).toBe(2);
    await store.close();
  }
  prefixed.disconnect();
});

describe('few entries', () => {
  test('do not tell as aborted what has completed, however late somebody else told of it', async () => {
    const first = await take();
    await store.release(first, { record: RECORD });
    await written();
    for (let n = 0; n < 2; n++) await store.release(await take(), { record: RECORD });
    await written();
    expect(await store.release(first, { outcome: 'aborted', record: RECORD })).toMatchObject({
      reason: 'expired',
    });
    const [last] = await entries(1);
    expect(last).toMatchObject({ outcome: 'completed' });
    expect(await entries()).toHaveLength(3);
  });

  test('do not tell as interrupted what has completed, however late somebody notes an interruption', async () => {
    const leases: LeaseRef[] = [];
    for (let n = 0; n < 3; n++) {
      const lease = await take();
      leases.push(lease);
      await store.release(lease, { outcome: 'completed', record: RECORD });
    }
    const [first, , last] = leases as [LeaseRef, LeaseRef, LeaseRef];
    const { fencingToken, holder } = first;
    const [{ at } = { at: 0 }] = await entries(1);
    await until(async () => {
      const [seconds, micros] = await client.time();
      return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000) > at;
    });
    await store.history.interrupted({ name: NAME, fencingToken, holder, kept: KEPT });
    expect(await entries(1)).toEqual([expect.objectContaining(run(last, { outcome: 'completed' }))]);
    expect(await entries()).toHaveLength(3);
  });

  test('tell an interruption that was none but that, though newer runs have completed', async () => {
    const lost = await take();
    await die();
    await store.history.interrupted({
      name: NAME,
      fencingToken: lost.fencingToken,
      holder: HOLDER,
      kept: KEPT,
    });
    const next = await take();
    await store.release(next, { outcome: 'completed', record: RECORD });
    expect(await entries(2)).toMatchObject([{ outcome: 'completed' }, { outcome: 'interrupted' }]);
  });
});
