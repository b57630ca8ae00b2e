import { beforeEach, describe, expect, test } from '@jest/globals';
import { StoreUnavailableError } from '../../../lib/base/errors.js';
import { Insight } from '../../../lib/insight/insight.js';
import type { LockStore } from '../../../lib/contract/lock-store.js';
import { at, INTERVAL, JOB, miss, ticks } from './support/facts.js';
import { entry, FakeStore, instance, lockInfo, NOW } from './support/store.js';
import { locksOnly } from '../../support/locks-only.js';

const T = at('03:00');
let fake: FakeStore;
let insight: Insight;

beforeEach(() => {
  fake = new FakeStore();
  insight = new Insight(fake.store, { ticks });
});

const statusOf = async (): Promise<unknown> => (await insight.job(JOB.job))?.status;

describe('a store', () => {
  test('that keeps no histories tells nothing, and what to do', () => {
    const store = { ...locksOnly, label: 'Mine' } as LockStore;
    expect(() => new Insight(store)).toThrow(
      'new Insight(): the store Mine keeps no histories, so it cannot tell who ran what. Use Redis, PostgreSQL, MySQL or MongoDB, or give your own store entries',
    );
  });

  test('that fails makes the question fail', async () => {
    fake.store.history.instances = () => Promise.reject(new Error('away'));
    await expect(insight.jobs()).rejects.toThrow('away');
  });

  test('that knows no instance has no jobs', async () => {
    fake.instances = [];
    expect(await insight.jobs()).toEqual([]);
    expect(await insight.instances()).toEqual([]);
    expect(await insight.job(JOB.job)).toBeUndefined();
  });
});

describe('the instances', () => {
  test('are up, gone after three beats, or have left; the newest that is up comes first', async () => {
    fake.instances = [
      instance('old'),
      instance('left', { left: true }),
      instance('gone', { seenAt: NOW - 90_001 }),
      instance('slow', { seenAt: NOW - 90_000, startedAt: at('01:00') }),
      instance('new', { startedAt: at('02:00') }),
    ];
    expect((await insight.instances()).map((one) => `${one.instance} ${one.state}`)).toEqual([
      'new up',
      'slow up',
      'old up',
      'left left',
      'gone gone',
    ]);
  });

  test('tell of their jobs, and of those that are stopped there', async () => {
    fake.instances = [instance('api-1', { jobs: [JOB, INTERVAL], stopped: [0], clockOffset: 3 })];
    expect(await insight.instances()).toEqual([
      {
        instance: 'api-1',
        state: 'up',
        startedAt: at('12:00', 21),
        seenAt: NOW - 10_000,
        leads: [],
        clockOffset: 3,
        stopped: [0],
        jobs: [{ ...JOB, stopped: true }, INTERVAL],
      },
    ]);
  });
});

describe('the jobs', () => {
  test('are told with all that is known of them', async () => {
    fake.instances = [instance('api-1'), instance('api-2'), instance('api-0', { left: true })];
    fake.entries = [entry(T, { tick: T, attempt: 1 })];
    const { overdue: _overdue, enabled: _enabled, ...known } = JOB;
    expect(await insight.jobs()).toEqual([
      {
        ...known,
        status: 'ok',
        attention: false,
        last: {
          lock: 'invoices',
          job: JOB.job,
          fencingToken: T * 1_000 + 7,
          instance: 'api-1',
          tick: T,
          attempt: 1,
          startedAt: T,
          endedAt: T + 12_000,
          duration: 12_000,
          outcome: 'completed',
          trigger: 'schedule',
        },
        next: at('03:00', 23),
        failures: 0,
        instances: ['api-1', 'api-2'],
      },
    ]);
  });

  test('that need attention come first, and say why', async () => {
    const job = (name: string): typeof JOB => ({ ...JOB, job: name, lock: name });
    fake.instances = [instance('api-1', { jobs: ['a', 'b', 'c', 'd'].map(job) })];
    fake.entries = [
      entry(T, { lock: 'a', job: 'a', tick: T }),
      entry(T, { lock: 'b', job: 'b', tick: T, outcome: 'failed', error: 'no paper' }),
      entry(T, { lock: 'd', job: 'd', tick: T }),
    ];
    const jobs = await insight.jobs();
    expect(jobs.map(({ job: name, status }) => `${name} ${status}`)).toEqual([
      'c overdue',
      'b failing',
      'a ok',
      'd ok',
    ]);
    expect(jobs.map(({ overdue, failures }) => [overdue, failures])).toEqual([
      [T, 0],
      [undefined, 1],
      [undefined, 0],
      [undefined, 0],
    ]);
    expect(jobs[1]?.why?.sentence).toContain('no paper');
    expect(jobs.map(({ why }) => why?.cause)).toEqual(['unknown', 'ran', undefined, undefined]);
    for (const { job: name, why } of jobs.slice(0, 2)) expect(await insight.why(name)).toEqual(why);
  });

  test('have no next date if no instance is up, or they are off', async () => {
    fake.instances = [instance('api-1', { left: true })];
    expect((await insight.jobs())[0]?.next).toBeUndefined();
    fake.instances = [instance('api-1', { jobs: [{ ...JOB, enabled: false }] })];
    expect(await insight.jobs()).toMatchObject([{ status: 'off' }]);
    expect((await insight.jobs())[0]?.next).toBeUndefined();
  });

  test('have no next date either if the last instance that had it switched on has died', async () => {
    const on = instance('api-1', { seenAt: NOW - 600_000 });
    fake.instances = [instance('api-2', { jobs: [{ ...JOB, enabled: false }] }), on];
    const [job] = await insight.jobs();
    expect(job?.status).not.toBe('off');
    expect(job?.next).toBeUndefined();
    fake.instances.push(instance('api-3'));
    expect((await insight.jobs())[0]?.next).toBe(at('03:00', 23));
  });

  test('have the dates of the cron in the folder in which the program was started', async () => {
    insight = new Insight(fake.store);
    fake.instances = [instance('api-1')];
    expect(await insight.jobs()).toMatchObject([{ status: 'overdue', overdue: T, next: at('03:00', 23) }]);
  });

  test('are as the newest instance that is up knows them', async () => {
    const later = { ...JOB, schedule: '0 4 * * *' };
    fake.instances = [
      instance('api-0', { left: true, startedAt: at('03:05'), jobs: [{ ...JOB, schedule: '0 5 * * *' }] }),
      instance('api-1'),
      instance('api-2', { startedAt: at('03:04'), jobs: [later] }),
    ];
    expect(await insight.job(JOB.job)).toMatchObject({
      schedule: '0 4 * * *',
      instances: ['api-2', 'api-1'],
    });
  });

  test('that a deploy has removed are left out', async () => {
    const others = instance('api-2', { startedAt: at('03:04'), jobs: [INTERVAL] });
    fake.instances = [others, instance('api-1', { left: true, jobs: [JOB, INTERVAL] })];
    expect((await insight.jobs()).map(({ job }) => job)).toEqual([INTERVAL.job]);
    expect(await insight.job(JOB.job)).toBeUndefined();
    expect(await insight.why(JOB.job)).toEqual({
      job: JOB.job,
      cause: 'unknown-job',
      jobs: [],
      sentence:
        'A deploy has removed it: api-1 was the last instance that had it, and was last seen at 2026-11-22 03:09:50Z.',
    });
    for (const more of [{ left: true }, { startedAt: at('11:00', 21) }]) {
      fake.instances = [{ ...others, ...more }, instance('api-1', { left: true, jobs: [JOB, INTERVAL] })];
      expect((await insight.jobs()).map(({ job }) => job)).toContain(JOB.job);
    }
    // Its clock is ahead, and by the store's the other one started before it.
    const ahead = { clockOffset: -300_000 };
    const canary = instance('api-1', { left: true, jobs: [JOB, INTERVAL], startedAt: at('03:06'), ...ahead });
    fake.instances = [{ ...others, ...ahead }, canary];
    expect((await insight.jobs()).map(({ job }) => job)).toContain(JOB.job);
    // Another application is up: that says nothing of this one.
    fake.instances = [others, instance('api-1', { left: true })];
    expect((await insight.jobs()).map(({ job }) => job)).toContain(JOB.job);
  });

  describe('that only some instances of an application have', () => {
    const web = instance('web-1', { startedAt: at('02:00'), jobs: [INTERVAL] });
    const worker = { jobs: [JOB, INTERVAL], startedAt: at('01:00'), seenAt: at('02:50') };
    const found = async (): Promise<string[]> => (await insight.jobs()).map(({ job }) => job);

    test('are told of if the last of these was killed', async () => {
      fake.instances = [web, instance('worker-1', worker)];
      expect(await found()).toContain(JOB.job);
      expect(await insight.job(JOB.job)).toMatchObject({ status: 'overdue' });
    });

    test('are told of if a new one was killed soon, and the others are new, too', async () => {
      const fresh = { ...worker, startedAt: at('02:45') };
      fake.instances = [
        instance('web-2', { startedAt: at('02:46'), jobs: [INTERVAL] }),
        instance('worker-2', fresh),
        instance('worker-1', { ...worker, seenAt: at('02:46'), left: true }),
        { ...web, seenAt: at('02:47'), left: true },
      ];
      expect(await found()).toContain(JOB.job);
    });

    test('were removed if the last of these was shut down, or the others had just replaced it', async () => {
      fake.instances = [web, instance('worker-1', { ...worker, left: true })];
      expect(await found()).toEqual([INTERVAL.job]);
      fake.instances = [{ ...web, startedAt: at('02:45') }, instance('worker-1', worker)];
      expect(await found()).toEqual([INTERVAL.job]);
    });
  });

  test('are not late for a tick whose grace goes on', async () => {
    fake.instances = [instance('api-1', { time: T + 59_000, seenAt: T + 59_000 })];
    const before = [{ job: JOB.job, tick: at('03:00', 21), outcome: 'failed' as const }];
    fake.locks = [lockInfo({ time: T + 59_000, jobs: before })];
    expect(await insight.jobs()).toMatchObject([{ status: 'failing' }]);
  });

  test('whose runs could not be read are forgotten with the next answer, if a deploy has removed one of them', async () => {
    const other = { ...JOB, job: 'Invoices.other', lock: 'other' };
    fake.instances = [instance('api-1', { jobs: [JOB, other] })];
    fake.refusal = new StoreUnavailableError('locked', { outcome: 'not-applied', refused: true });
    await insight.jobs();
    expect(insight.unreadable.parts).toEqual(['locked']);
    fake.instances = [instance('api-1')];
    fake.refusal = undefined;
    await insight.jobs();
    expect(insight.unreadable.parts).toEqual([]);
  });

  test('of whose runs one could not be read are forgotten with the next answer, if a deploy has removed them', async () => {
    const { entries } = fake.store.history;
    fake.store.history.entries = (query) => {
      if (query.name === 'torn') query.onUnreadable?.();
      return entries(query);
    };
    fake.instances = [instance('api-1', { jobs: [JOB, { ...JOB, job: 'Invoices.torn', lock: 'torn' }] })];
    await insight.jobs();
    expect(insight.unreadable.runs).toBe(1);
    fake.instances = [instance('api-1')];
    await insight.jobs();
    expect(insight.unreadable.runs).toBe(0);
  });

  test('of which one cannot be read are told as such, though others can', async () => {
    const others = ['one', 'two', 'three'].map((job) => ({ ...JOB, job, lock: job }));
    fake.instances = [instance('api-1', { jobs: others })];
    const { entries } = fake.store.history;
    const refusal = new StoreUnavailableError('wrong type', { outcome: 'not-applied', refused: true });
    fake.store.history.entries = (query) => (query.name === 'one' ? Promise.reject(refusal) : entries(query));
    await insight.jobs();
    expect(insight.unreadable.parts).toEqual(['wrong type']);
  });

  describe('are as each is by itself, however many instances have come and gone since', () => {
    const MINUTE = 60_000;
    const others = (count: number) =>
      Array.from({ length: count }, (_, n) =>
        instance(`later-${n}`, {
          jobs: [{ ...JOB, job: 'another', lock: 'another' }],
          startedAt: NOW - 5 * MINUTE,
          seenAt: NOW - 4 * MINUTE,
          left: true,
        }),
      );
    const both = async (): Promise<unknown[]> => {
      const jobs = await insight.jobs();
      return [jobs.find(({ job }) => job === JOB.job)?.status, await statusOf()];
    };

    test.each([0, 50, 250])('%i, and only the instance that is gone knew the job', async (count) => {
      insight = new Insight(fake.store);
      const gone = {
        startedAt: at('12:00', 20),
        seenAt: at('23:00', 21),
      };
      fake.instances = [instance('gone', gone), ...others(count)];
      fake.locks = [lockInfo({ jobs: [{ job: JOB.job, tick: at('03:00', 21), outcome: 'completed' }] })];
      fake.entries = [entry(at('03:00', 21), { tick: at('03:00', 21) })];
      expect(await both()).toEqual(['overdue', 'overdue']);
    });

    test.each([0, 50, 250])('%i, and the job was made at run time after its newest tick', async (count) => {
      const gone = { startedAt: at('02:00'), seenAt: at('03:05'), added: { 0: at('03:01') } };
      fake.instances = [instance('gone', gone), ...others(count)];
      expect(await both()).toEqual(['new', 'new']);
    });
  });

  test('are asked for by their locks, some at a time', async () => {
    const jobs = Array.from({ length: 250 }, (_, index) => ({
      ...JOB,
      job: `job ${index}`,
      lock: `lock ${index}`,
    }));
    const sharing = [
      { ...JOB, job: 'one', lock: 'lock 0' },
      { ...JOB, job: 'any', lock: undefined as never },
    ];
    fake.instances = [instance('api-1', { jobs: [...jobs, ...sharing] }), instance('api-2', { jobs })];
    expect(await insight.jobs()).toHaveLength(252);
    const calls = fake.asked.filter((call) => call.startsWith('inspect'));
    expect(calls).toEqual(['inspect 100', 'inspect 100', 'inspect 50']);
    expect(fake.asked).toHaveLength(253);
    expect(fake.asked).toEqual(expect.arrayContaining(['entries lock 0 200', 'entries lock 1 20']));
    expect(fake.atOnce).toBe(10);
  });
});

test('what people did comes newest first, also within one millisecond', async () => {
  const [pause, resume] = [
    { action: 'pause', actor: 'anna', until: NOW + 60_000 },
    { action: 'resume', actor: 'bob' },
  ] as const;
  fake.entries = [
    entry(T, { by: resume, at: T, fencingToken: T * 1_000 + 8 }),
    entry(T, { by: pause, at: T, fencingToken: T * 1_000 + 7 }),
  ];
  const acts = await insight.controls({ lock: 'invoices' });
  expect(acts.map(({ action, actor, at: time }) => [action, actor, time])).toEqual([
    ['resume', 'bob', T],
    ['pause', 'anna', T],
  ]);
});

describe('the entries of a lock', () => {
  const asked = (): string[] => fake.asked.filter((call) => call.startsWith('entries'));

  test('that tell how a job is are as many for one job as for all', async () => {
    fake.entries = Array.from({ length: 30 }, (_, n) => T - n * 3_600_000).map((startedAt) =>
      entry(startedAt, { tick: startedAt, outcome: 'failed' }),
    );
    const [one] = await insight.jobs();
    expect(await insight.job(JOB.job)).toEqual(one);
    expect(asked()).toEqual(['entries invoices 20', 'entries invoices 20']);
  });

  test('are enough if none of the newest is of a run of the job', async () => {
    const of = { lock: 'poll', attempt: 1 };
    const others = [1, 2, 3].map((minute) => entry(T - minute * 60_000, { lock: 'poll', job: 'another' }));
    fake.entries = [...others, entry(T - 240_000, { ...of, job: INTERVAL.job, outcome: 'failed' })];
    fake.instances = [instance('api-1', { jobs: [INTERVAL] })];
    fake.locks = [lockInfo({ name: 'poll', jobs: [{ job: INTERVAL.job, due: NOW + 60_000 }] })];
    expect(await insight.jobs()).toMatchObject([{ status: 'failing', failures: 1 }]);
  });

  test('say that more may have failed than they have read, for one job as for all', async () => {
    const failed = (count: number): void => {
      fake.entries = Array.from({ length: count }, (_, n) => entry(T - n * 3_600_000, { outcome: 'failed' }));
    };
    fake.locks = [lockInfo()];
    failed(240);
    const some = { failures: 20, sinceAtLeast: true };
    expect([await insight.job(JOB.job), ...(await insight.jobs())]).toMatchObject([some, some]);
    failed(19);
    expect(await insight.job(JOB.job)).not.toHaveProperty('sinceAtLeast');
  });

  test('say how often it has failed before the run that goes on', async () => {
    const failed = [1, 2, 3, 4, 5].map((hour) =>
      entry(T - hour * 3_600_000, { tick: T - hour * 3_600_000, outcome: 'failed' }),
    );
    fake.entries = failed;
    fake.locks = [lockInfo({ state: 'held', fencingToken: T * 1_000, holder: 'api-1', job: JOB.job })];
    expect(await insight.jobs()).toMatchObject([{ failures: 5, last: { outcome: 'running' } }]);
  });
});

describe('the run of the newest lease', () => {
  const held = lockInfo({
    state: 'held',
    holder: 'api-2',
    fencingToken: T * 1_000 + 9,
    job: JOB.job,
    jobs: [{ job: JOB.job, tick: T, attempt: 1 }],
  });

  test('goes on', async () => {
    fake.locks = [{ ...held, time: NOW + 5 }];
    const run = {
      lock: 'invoices',
      job: JOB.job,
      fencingToken: T * 1_000 + 9,
      instance: 'api-2',
      tick: T,
      attempt: 1,
    };
    expect(await insight.runs({ job: JOB.job })).toEqual([{ ...run, startedAt: T, outcome: 'running' }]);
    expect(await statusOf()).toBe('running');
    expect((await insight.why(JOB.job)).sentence).toBe(
      'It is running on api-2 since 03:00:00Z, for 10 min now.',
    );
  });

  test('was interrupted, if its lease has ended by itself', async () => {
    fake.locks = [{ ...held, state: 'free', interrupted: true }];
    expect(await insight.runs()).toMatchObject([{ outcome: 'interrupted', tick: T }]);
    expect(await statusOf()).toBe('interrupted');
  });

  test('is known by its end, once that is kept', async () => {
    fake.locks = [held];
    fake.entries = [entry(T, { fencingToken: T * 1_000 + 9, tick: T })];
    expect(await insight.runs()).toMatchObject([{ outcome: 'completed' }]);
  });

  test('has ended as the lock says, and is among the runs once more is kept', async () => {
    const jobs = [{ job: JOB.job, tick: T, attempt: 1, outcome: 'failed' as const }];
    fake.locks = [{ ...held, state: 'free', jobs }];
    expect(await statusOf()).toBe('failing');
    expect((await insight.why(JOB.job)).sentence).toBe(
      'The tick of 2026-11-22 03:00:00Z was started (failed), but nothing more is known of its run.',
    );
    expect(await insight.runs()).toEqual([]);
  });

  test('has no tick if that was run before, or has ended', async () => {
    fake.locks = [held];
    fake.entries = [entry(T - 1, { tick: T, attempt: 1, outcome: 'interrupted' })];
    expect((await insight.runs())[0]).not.toHaveProperty('tick');
    fake.entries = [];
    fake.locks = [{ ...held, jobs: [{ job: JOB.job, tick: T, attempt: 1, outcome: 'completed' }] }];
    expect((await insight.runs())[0]).toMatchObject({ outcome: 'running' });
    expect((await insight.runs())[0]).not.toHaveProperty('tick');
  });

  test('is nobody knows whose, if the lock is held by another client', async () => {
    const { holder: _, ...others } = held;
    fake.locks = [others];
    expect(await insight.runs()).toEqual([]);
  });

  test('of another job under the lock is told as such', async () => {
    fake.locks = [{ ...held, job: 'Invoices.export', fencingToken: at('02:55') * 1_000, jobs: [] }];
    expect(await insight.why(JOB.job, T)).toMatchObject({
      cause: 'lock-taken',
      run: { job: 'Invoices.export' },
    });
  });
});

describe('the runs', () => {
  beforeEach(() => {
    fake.instances = [instance('api-1', { jobs: [JOB, INTERVAL] })];
    fake.entries = [
      entry(at('03:00', 20), { outcome: 'failed', tick: at('03:00', 20) }),
      entry(at('03:00', 21)),
      entry(at('03:05'), { lock: 'poll', job: INTERVAL.job }),
      entry(at('02:00'), { job: 'Invoices.export' }),
      entry(at('01:00'), { outcome: 'abandoned' }),
      entry(at('00:00'), { outcome: 'interrupted' }),
      miss('api-1', 'not-fired'),
      entry(at('01:00', 1), { lock: 'Old.job', job: 'Old.job' }),
    ];
  });

  const starts = async (query?: Parameters<Insight['runs']>[0]): Promise<string[]> =>
    (await insight.runs(query)).map(({ startedAt }) => new Date(startedAt).toISOString().slice(8, 16));

  test.each<[string, Parameters<Insight['runs']>[0], string[]]>([
    ['of all locks, newest first', undefined, ['22T03:05', '22T02:00', '22T00:00', '21T03:00', '20T03:00']],
    ['of a job', { job: JOB.job }, ['22T00:00', '21T03:00', '20T03:00']],
    ['of a lock', { lock: 'invoices' }, ['22T02:00', '22T00:00', '21T03:00', '20T03:00']],
    ['of a job, a few', { job: JOB.job, limit: 1 }, ['22T00:00']],
    ['that went wrong', { bad: true }, ['22T00:00', '20T03:00']],
    ['of a job that nobody knows any more', { job: 'Old.job' }, ['01T01:00']],
    ['of a job that never was', { job: 'No.job' }, []],
  ])('%s', async (_what, query, expected) => {
    expect(await starts(query)).toEqual(expected);
  });

  test('of which nobody knows the end have none', async () => {
    const [run] = await insight.runs({ job: JOB.job });
    expect(run).toMatchObject({ outcome: 'interrupted' });
    expect(run).not.toHaveProperty('endedAt');
  });
});

describe('why', () => {
  test('reads a time, a date and a text alike', async () => {
    fake.entries = [entry(T, { tick: T })];
    const expected = await insight.why(JOB.job, T);
    expect(expected).toMatchObject({ job: JOB.job, tick: T, cause: 'ran', run: { instance: 'api-1' } });
    expect(await insight.why(JOB.job, new Date(T))).toEqual(expected);
    expect(await insight.why(JOB.job, '2026-11-22 03:00')).toEqual(expected);
    expect(await insight.why(JOB.job, '2026-11-22T04:00:00+01:00')).toEqual(expected);
  });

  test('reads and shows times in the zone of the option', async () => {
    insight = new Insight(fake.store, { ticks, zone: 'Europe/Berlin' });
    fake.entries = [entry(T, { tick: T })];
    const { sentence } = await insight.why(JOB.job, '2026-11-22 04:00');
    expect(sentence).toBe(
      'The tick of 2026-11-22 04:00:00+01:00 ran on api-1: started at 04:00:00+01:00, completed after 12 s.',
    );
  });

  test('tells what was noted of a tick', async () => {
    fake.entries = [miss('api-1', 'store-unavailable')];
    expect(await insight.why(JOB.job, T)).toMatchObject({ cause: 'store-away', instances: ['api-1'] });
  });

  test('begins with the oldest run that completed: those that went wrong are kept longer', async () => {
    fake.instances = [instance('api-1', { startedAt: at('00:00', 1) })];
    fake.entries = [entry(at('03:00', 20)), entry(at('03:00', 10), { outcome: 'failed' })];
    expect(await insight.why(JOB.job, at('03:00', 15))).toMatchObject({
      cause: 'too-old',
      since: at('03:00', 20),
    });
    expect(await insight.why(JOB.job, at('03:00', 21))).toMatchObject({ cause: 'unknown' });
  });

  test('does not guess a job', async () => {
    expect(await insight.why('Invoices.sent')).toMatchObject({ cause: 'unknown-job', jobs: [JOB.job] });
  });

  test('names the jobs under a lock whose name is given in the place of a job', async () => {
    const jobs = [JOB, { ...JOB, job: 'Reports.send' }].map((job) => ({ ...job, lock: 'nightly' }));
    fake.instances = [instance('api-1', { jobs })];
    const { sentence } = await insight.why('nightly');
    expect(sentence).toBe(`No instance knows a job nightly. Did you mean ${JOB.job} or Reports.send?`);
  });
});

describe('a bad question', () => {
  const ask = {
    'an empty job': () => insight.why(''),
    'a job that is none': () => insight.job(undefined as never),
    'an empty lock': () => insight.runs({ lock: ' ' }),
    'a text that is no time': () => insight.why(JOB.job, 'yesterday'),
    'an invalid date': () => insight.why(JOB.job, new Date(Number.NaN)),
    seconds: () => insight.why(JOB.job, T / 1_000),
    'no runs': () => insight.runs({ limit: 0 }),
    'half a run': () => insight.runs({ limit: 1.5 }),
    'too many runs': () => insight.runs({ limit: 1_001 }),
  };
  const TIME =
    "Give epoch milliseconds, a Date, or a text such as '2026-11-22 03:00' or '2026-11-22T03:00:00+01:00'.";

  test.each<[keyof typeof ask, string]>([
    ['an empty job', "why(): job: '' is no name. Give the name of a job."],
    ['a job that is none', 'job(): job: undefined is no name. Give the name of a job.'],
    ['an empty lock', "runs(): lock: ' ' is no name. Give the name of a lock."],
    ['a text that is no time', `why(): at: 'yesterday' is no time. ${TIME}`],
    ['an invalid date', `why(): at: an invalid Date, or one before 1973, is no time. ${TIME}`],
    ['seconds', `why(): at: ${T / 1_000} is no time. ${TIME}`],
    ['no runs', 'runs(): limit: 0 is no whole number from 1 to 1000.'],
    ['half a run', 'runs(): limit: 1.5 is no whole number from 1 to 1000.'],
    ['too many runs', 'runs(): limit: 1001 is no whole number from 1 to 1000.'],
  ])('%s', async (what, message) => {
    await expect(ask[what]()).rejects.toMatchObject({ code: 'SCHEDULER_LOCK_CONFIG', problems: [message] });
    expect(fake.asked).toEqual([]);
  });

  test('a zone that nobody knows', () => {
    expect(() => new Insight(fake.store, { zone: 'Mars' })).toThrow(
      "new Insight(): zone: 'Mars' is no time zone. Give a name such as 'Europe/Berlin'.",
    );
  });
});
