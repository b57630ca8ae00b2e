import { beforeEach, expect, test } from '@jest/globals';
import type { SchedulerLockEvent } from '../../../lib/contract/events/events.js';
import { StoreUnavailableError } from '../../../lib/base/errors.js';
import { Watch } from '../../../lib/insight/watch.js';
import { Reader } from '../../../lib/insight/read.js';
import type { RunInfo } from '../../../lib/insight/types.js';
import type { WatchedJob } from '../../../lib/insight/watched-job.js';
import type {
  Alarm,
  HistoryEntry,
  HistoryStore,
  InstanceRecord,
  Miss,
  MissResult,
} from '../../../lib/contract/history-store.js';
import type { LockInfo } from '../../../lib/contract/lock-info.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';

/* Jobs that did not run, as one instance notices them. Ticks come each ten minutes, and count as overdue after one. */

const MINUTE = 60_000;
const PERIOD = 10 * MINUTE;
const KEPT = { count: 100, age: 1_000 };

let clock: ManualClock;
let asked: Miss[];
let events: SchedulerLockEvent[];
let entries: HistoryEntry[];
let answer: (miss: Miss) => MissResult | Error;
let idle: string | undefined;
let offset: number | undefined;
let watch: Watch;
let locks: LockInfo[];
let instances: InstanceRecord[];
let inspected: string[];
let alarms: Alarm[];
/** Whether nobody else has marked an alarm. */
let isFirst: boolean;
let runs: RunInfo[];
let failed: Set<string>;
/** Whether the store does not answer who is there, and what runs. */
let away: boolean;
let entriesFail: boolean;
/** Resolves when the store answers who is there. */
let fleetAnswers: Promise<void>;
/** Whether the instance asks the store with its ticks only. */
let withTicks: boolean;
/** How often the store was asked who is there. */
let fleetAsked: number;
/** The next tick. */
let tick: number;

interface Fields extends Partial<Omit<WatchedJob, 'interval'>> {
  readonly interval?: number;
  readonly enabled?: boolean;
  readonly every?: number;
  /** Whether its cron job is stopped here. */
  readonly isStopped?: () => boolean;
}

function job(wanted: Fields = {}): WatchedJob {
  const { interval, enabled = true, every = PERIOD, isStopped, ...fields } = wanted;
  const { job: name = 'report', grace = MINUTE } = fields;
  const schedule = { kind: 'cron', schedule: '*/10 * * * *', timeZone: 'UTC' } as const;
  return {
    job: name,
    lock: 'report-lock',
    comesLate: false,
    grace,
    interval,
    shown: () => ({
      job: name,
      lock: 'report-lock',
      ...(interval === undefined ? schedule : { kind: 'interval', interval }),
      enabled,
      ...(isStopped?.() && { stopped: true }),
      overdue: grace,
    }),
    dates: {
      newest: (at) => Math.floor(at / every) * every,
      next: (at) => (Math.floor(at / every) + 1) * every,
    },
    isThere: () => true,
    initialDelay: 0,
    ...fields,
  };
}

const ofStatus = (wanted: string): [job: string, tick: number | undefined][] =>
  [...watch.judgements].flatMap(([name, { status, tick: of }]) => (status === wanted ? [[name, of]] : []));
const overdue = (): Map<string, number | undefined> => new Map(ofStatus('overdue'));

beforeEach(() => {
  clock = new ManualClock(Date.UTC(2026, 0, 1) + 1_000);
  [asked, events, entries, idle, offset] = [[], [], [], undefined, 0];
  [locks, instances, inspected, alarms, runs] = [[], [], [], [], []];
  [isFirst, away, entriesFail, failed] = [true, false, false, new Set()];
  [withTicks, fleetAsked] = [false, 0];
  fleetAnswers = Promise.resolve();
  answer = ({ tick: of }) => ({
    missed: true,
    ...(of === undefined ? undefined : { tick: of }),
  });
  const history: HistoryStore = {
    interrupted: () => Promise.resolve(),
    entries: () => (entriesFail ? Promise.reject(new Error('away')) : Promise.resolve(entries)),
    miss(miss) {
      asked.push(miss);
      const told = answer(miss);
      return told instanceof Error ? Promise.reject(told) : Promise.resolve(told);
    },
    told(alarm) {
      alarms.push(alarm);
      return Promise.resolve(isFirst);
    },
    beat: () => Promise.resolve({ time: 0, known: true }),
    instances: async () => {
      fleetAsked += 1;
      await fleetAnswers;
      return instances;
    },
  };
  const inspect = (names: readonly string[] = []): Promise<LockInfo[]> => {
    if (away) return Promise.reject(new Error('away'));
    inspected.push(...names);
    return Promise.resolve(locks);
  };
  watch = new Watch(new Reader(history, inspect), history, clock, {
    instance: 'here',
    kept: KEPT,
    emit: (event) => events.push(event),
    get withTicks() {
      return withTicks;
    },
    idleReason: () => idle,
    clockOffset: () => offset,
    runs: () => runs,
    wentWrong: (name) => (failed.has(name) ? 'failed' : undefined),
  });
  tick = (Math.floor(clock.now() / PERIOD) + 1) * PERIOD;
});

/** Time goes on until so long after the tick. */
const pass = (afterTick: number): Promise<void> => clock.advance(tick + afterTick - clock.now());

test('many jobs that are added at a time are looked at together, by one timer', () => {
  let timers = 0;
  const setTimer = clock.setTimer.bind(clock);
  clock.setTimer = (...args) => {
    timers++;
    return setTimer(...args);
  };
  for (let n = 0; n < 100; n++) watch.add(job({ job: `job-${n}`, comesLate: n % 2 === 0 }));
  expect(timers).toBeLessThan(4);
  expect(clock.pending).toBe(1);
});

test('a tick that nobody has called is told of when its grace is over, and not before', async () => {
  watch.add(job());
  await pass(MINUTE - 1);
  expect(asked).toEqual([]);
  await pass(MINUTE + 1);
  const about = { name: 'report-lock', job: 'report', instance: 'here', kept: KEPT };
  expect(asked).toEqual([{ ...about, tick, reason: 'not-fired', count: 1 }]);
  expect(overdue()).toEqual(new Map([['report', tick]]));
});

test('nothing is asked about a tick that began here, or that others have started', async () => {
  for (const name of ['report', 'others']) watch.add(job({ job: name }));
  await pass(0);
  watch.began('report', tick);
  watch.refused('others', tick, { reason: 'already-ran', tick });
  await pass(2 * MINUTE);
  expect(asked).toEqual([]);
  expect(overdue().size).toBe(0);
});

test('a taken lock says nothing of who has it: the store is asked at each tick, and tells with the first one', async () => {
  const held = (n: number) =>
    watch.refused('report', tick + n * PERIOD, { reason: 'held', holder: 'stranger' });
  watch.add(job());
  await pass(0);
  for (const n of [0, 1, 2]) {
    await pass(n * PERIOD);
    held(n);
    await pass(n * PERIOD + 2 * MINUTE);
    expect(overdue()).toEqual(new Map([['report', tick + n * PERIOD]]));
  }
  const ticks = [0, 1, 2].map((n) => ({ tick: tick + n * PERIOD, reason: 'held', holder: 'stranger' }));
  expect(asked).toMatchObject(ticks);
  await pass(3 * PERIOD);
  watch.began('report', tick + 3 * PERIOD);
  await pass(3 * PERIOD + 2 * MINUTE);
  expect(asked).toHaveLength(3);
  expect(overdue().size).toBe(0);
});

test('a tick that finds its lock kept by atLeast is not missed', async () => {
  const atLeast = 2 * PERIOD + 3 * MINUTE;
  watch.add({ ...job(), shown: () => ({ ...job().shown(), atLeast }) });
  await pass(0);
  entries = [
    {
      type: 'run',
      lock: 'report-lock',
      job: 'report',
      instance: 'there',
      fencingToken: tick * 1_000,
      tick,
      attempt: 1,
      outcome: 'completed',
      at: tick + 1_000,
      duration: 1_000,
    },
  ];
  for (const n of [1, 2]) {
    await pass(n * PERIOD);
    watch.refused('report', tick + n * PERIOD, { reason: 'cooling-down' });
  }
  await pass(2 * PERIOD + 2 * MINUTE);
  expect(asked).toEqual([]);
  await pass(3 * PERIOD + 2 * MINUTE);
  expect(asked).toMatchObject([{ tick: tick + 3 * PERIOD }]);
});

test('refusals that name the tick prove that the job runs, however many there are', async () => {
  watch.add(job());
  await pass(0);
  for (const n of [0, 1, 2, 3]) {
    await pass(n * PERIOD);
    const own = tick + n * PERIOD;
    watch.refused('report', own, { reason: 'held', tick: own });
  }
  await pass(3 * PERIOD + 2 * MINUTE);
  expect(asked).toEqual([]);
});

test('of a tick that found its lock taken, the store is asked, with who was in the way', async () => {
  watch.add(job());
  await pass(0);
  watch.refused('report', tick, { reason: 'held', holder: 'there' });
  await pass(2 * MINUTE);
  expect(asked).toMatchObject([{ tick, reason: 'held', holder: 'there', count: 1, since: tick }]);
});

test('an older start is no evidence for a tick', async () => {
  watch.add(job());
  await pass(0);
  watch.refused('report', tick, { reason: 'clock-skew', tick: tick - PERIOD });
  await pass(2 * MINUTE);
  expect(asked).toMatchObject([{ tick, reason: 'clock-skew' }]);
});

test('the instance that marks the miss first tells the fleet, once, with the reasons of all', async () => {
  watch.add(job());
  await pass(MINUTE);
  const miss = { type: 'miss', lock: 'report-lock', job: 'report', tick, at: clock.now() } as const;
  entries = [
    { ...miss, instance: 'there', reason: 'held', count: 2, holder: 'elsewhere' },
    { ...miss, instance: 'here', reason: 'not-fired', count: 1 },
    { ...miss, tick: tick - PERIOD, instance: 'here', reason: 'not-fired', count: 1 },
  ];
  await clock.advance(MINUTE);
  const reasons = [
    { missedBy: 'there', reason: 'held', count: 2, holder: 'elsewhere' },
    { missedBy: 'here', reason: 'not-fired', count: 1 },
  ];
  expect(events).toMatchObject([{ type: 'overdue', lock: 'report-lock', job: 'report', tick, reasons }]);
});

test('an instance that is not the first tells nothing, but knows', async () => {
  isFirst = false;
  watch.add(job());
  await pass(3 * MINUTE);
  expect(events).toEqual([]);
  expect(overdue().get('report')).toBe(tick);
});

test('a tick that the store knows to be started is not overdue, and is not asked for again', async () => {
  answer = () => ({ missed: false });
  watch.add(job());
  await pass(9 * MINUTE);
  expect(asked).toHaveLength(1);
  expect(events).toEqual([]);
  expect(overdue().size).toBe(0);
});

test('a run that went on when the tick came was in its way: that is no alarm', async () => {
  watch.add(job());
  const run = { type: 'run', lock: 'report-lock', job: 'report', instance: 'there' } as const;
  entries = [{ ...run, outcome: 'completed', fencingToken: (tick - 1) * 1_000, at: tick + 1 }];
  await pass(2 * MINUTE);
  expect(asked).toEqual([]);
});

test('a start that comes late ends it', async () => {
  watch.add(job());
  await pass(2 * MINUTE);
  expect(overdue().size).toBe(1);
  watch.began('report', tick);
  expect(overdue().size).toBe(0);
});

test('while the store is away nobody knows: it is asked again until it answers, with when that began', async () => {
  watch.add(job());
  await pass(0);
  watch.refused('report', tick, { reason: 'store-unavailable' });
  away = true;
  await pass(3 * MINUTE);
  expect(events).toEqual([]);
  expect(ofStatus('unknown')).toEqual([['report', tick]]);
  away = false;
  answer = () => new Error('away again');
  await pass(4 * MINUTE);
  expect(asked.length).toBeGreaterThan(2);
  answer = () => ({ missed: true, tick });
  await pass(5 * MINUTE);
  expect(asked.at(-1)).toMatchObject({ tick, reason: 'store-unavailable', count: 1, since: tick });
  expect(events).toMatchObject([{ type: 'overdue', tick }]);
});

test('a miss that the store refuses to keep is told of at once, and takes no other alarm with it', async () => {
  answer = () =>
    new StoreUnavailableError('It has no column data.', { outcome: 'not-applied', refused: true });
  watch.add(job());
  watch.add(job({ job: 'other' }));
  await clock.advance(tick + MINUTE - clock.now());
  const reasons = [{ missedBy: 'here', reason: 'not-fired', count: 1 }];
  expect(events).toMatchObject([
    { type: 'overdue', job: 'report', tick, reasons },
    { type: 'overdue', job: 'other', tick, reasons },
  ]);
  await clock.advance(PERIOD / 2);
  expect(events).toHaveLength(2);
});

test('the ticks that an outage has cost are told of when their grace is over, also if newer ones hide them', async () => {
  const started = ['report', 'catches-up'].map((name) => ({ job: name, tick: tick - 1 }));
  locks = [{ name: 'report-lock', time: clock.now(), state: 'free', jobs: started }];
  watch.add(job({ every: 30_000 }));
  watch.add(job({ job: 'catches-up', comesLate: true }));
  await pass(0);
  for (const name of ['report', 'catches-up']) watch.refused(name, tick, { reason: 'store-unavailable' });
  answer = () => ({ missed: false });
  watch.available();
  watch.available();
  await pass(30_000);
  watch.began('report', tick + 30_000);
  expect(asked).toEqual([]);
  await pass(MINUTE + 1_000);
  const mine = asked.filter(({ job: of }) => of === 'report');
  expect(mine).toMatchObject([{ tick, late: true, reason: 'store-unavailable', since: tick }]);
});

test('an outage is over before others start the tick: that is no alarm, as its grace is not over', async () => {
  watch.add(job());
  await pass(0);
  watch.refused('report', tick, { reason: 'store-unavailable' });
  watch.available();
  await pass(MINUTE - 1);
  expect(asked).toEqual([]);
  answer = () => ({ missed: false });
  await pass(2 * MINUTE);
  expect(asked).toMatchObject([{ tick }, { tick, late: true }]);
  expect(events).toEqual([]);
});

test('a tick that an outage has cost, and that found a run of its job, is no alarm', async () => {
  watch.add(job());
  await pass(0);
  watch.refused('report', tick, { reason: 'store-unavailable' });
  watch.available();
  const run = {
    type: 'run',
    lock: 'report-lock',
    job: 'report',
    instance: 'there',
    outcome: 'completed',
  } as const;
  entries = [{ ...run, fencingToken: (tick - 1_000) * 1_000, at: tick + 1_000, duration: 2_000 }];
  await pass(2 * MINUTE);
  expect(asked).toEqual([]);
});

test('a tick that an outage has cost, and nobody has started, is told once', async () => {
  watch.add(job());
  await pass(0);
  watch.refused('report', tick, { reason: 'store-unavailable' });
  watch.available();
  await pass(3 * MINUTE);
  expect(asked).toMatchObject([{ tick, reason: 'store-unavailable' }]);
  expect(events).toMatchObject([{ type: 'overdue', tick }]);
});

test('a clock that is corrected after the start makes no date of before the start overdue', async () => {
  offset = 3_600_000;
  watch.add(job());
  clock.setWallClock(clock.now() + offset);
  offset = 0;
  await clock.advance(MINUTE);
  expect([ofStatus('overdue'), asked]).toEqual([[], []]);
  expect(ofStatus('new')).toHaveLength(1);
});

test('a tick that ran here without its lock is noted when the store is back, and is no alarm', async () => {
  watch.add(job());
  await pass(0);
  watch.began('report', tick, true);
  const since = clock.now();
  tick += PERIOD;
  await pass(0);
  watch.began('report', tick, true);
  expect(asked).toEqual([]);
  watch.available();
  await pass(3 * MINUTE);
  expect(asked).toMatchObject([{ tick, reason: 'unlocked', count: 2, since, late: true }]);
  expect([events, alarms, overdue()]).toEqual([[], [], new Map()]);
});

test('ticks in a row that were skipped for one reason are counted', async () => {
  watch.add(job());
  await pass(0);
  watch.refused('report', tick, { reason: 'not-leader' });
  const first = tick;
  tick += PERIOD;
  await pass(0);
  watch.refused('report', tick, { reason: 'not-leader' });
  await pass(2 * MINUTE);
  expect(asked.at(-1)).toMatchObject({ tick, reason: 'not-leader', count: 2, since: first });
});

test('an instance that fires nothing says why', async () => {
  idle = 'not-leader';
  watch.add(job());
  await pass(2 * MINUTE);
  expect(asked).toMatchObject([{ reason: 'not-leader' }]);
});

test('ticks that came while its job was stopped are not its business', async () => {
  let isStopped = true;
  locks = startedBefore();
  watch.add(job({ isStopped: () => isStopped }));
  await pass(2 * MINUTE);
  expect(ofStatus('off')).toHaveLength(1);
  isStopped = false;
  await pass(8 * MINUTE);
  expect(ofStatus('ok')).toHaveLength(1);
  expect([...asked, ...events]).toEqual([]);
});

test('an instance on which its job is stopped sees that nobody runs it, and that another one does', async () => {
  instances = [instanceOf('there', true)];
  locks = startedBefore();
  watch.add(job({ isStopped: () => true }));
  await pass(2 * MINUTE);
  expect(ofStatus('overdue')).toEqual([['report', tick]]);
  expect(asked).toMatchObject([{ tick, reason: 'disabled' }]);
  tick += PERIOD;
  locks = startedBefore(tick);
  await pass(2 * MINUTE);
  expect(ofStatus('ok')).toHaveLength(1);
});

test.each([
  ['left', () => instanceOf('before', true, { left: true })],
  ['died', () => instanceOf('before', true, { seenAt: clock.now() - PERIOD })],
])(
  'no tick of a stopped job is an alarm, though the instance before this one had it on and %s',
  async (_how, before) => {
    let isStopped = true;
    [locks, instances] = [startedBefore(), [before()]];
    watch.add(job({ isStopped: () => isStopped }));
    await pass(2 * MINUTE);
    expect(ofStatus('off')).toHaveLength(1);
    isStopped = false;
    await pass(8 * MINUTE);
    expect(ofStatus('ok')).toHaveLength(1);
    expect([...asked, ...events]).toEqual([]);
    // From here on it is watched as before.
    await pass(PERIOD + 2 * MINUTE);
    expect(ofStatus('overdue')).toEqual([['report', tick + PERIOD]]);
  },
);

test('of a job that was stopped on all, the first one that starts it again is no alarm to the others', async () => {
  const stopped = job({ isStopped: () => true });
  [locks, instances] = [startedBefore(), [instanceOf('there', true, { jobs: [stopped.shown()] })]];
  watch.add(stopped);
  await pass(2 * MINUTE);
  expect(ofStatus('off')).toHaveLength(1);
  instances = [instanceOf('there', true)];
  await pass(9 * MINUTE);
  expect(ofStatus('ok')).toHaveLength(1);
  expect([...asked, ...events]).toEqual([]);
  await pass(PERIOD + 2 * MINUTE);
  expect(ofStatus('overdue')).toEqual([['report', tick + PERIOD]]);
});

test('a job that is stopped here, and whose younger instance died, is an alarm: it ran there', async () => {
  const there = instanceOf('there', true, { startedAt: clock.now() + MINUTE, seenAt: clock.now() + MINUTE });
  [locks, instances] = [startedBefore(), [{ ...there, time: clock.now() + PERIOD }]];
  watch.add(job({ isStopped: () => true }));
  await pass(2 * MINUTE);
  expect(ofStatus('overdue')).toEqual([['report', tick]]);
});

test('a tick that an outage has cost is no alarm if the job is paused, or was when it came', async () => {
  watch.add(job());
  await pass(0);
  watch.refused('report', tick, { reason: 'store-unavailable' });
  watch.available();
  const by = { actor: 'anna', reason: 'the provider is down' };
  locks = [{ ...startedBefore()[0]!, paused: { ...by, id: 1, since: tick - PERIOD, until: tick + PERIOD } }];
  await pass(3 * MINUTE);
  expect(ofStatus('paused')).toHaveLength(1);
  expect([...asked, ...events]).toEqual([]);
});

test('a tick that an outage has cost is no alarm if its job was deleted before the end of its grace', async () => {
  let isThere = true;
  [locks, instances] = [startedBefore(), [instanceOf('there', true)]];
  watch.add(job({ isThere: () => isThere }));
  await pass(0);
  watch.refused('report', tick, { reason: 'store-unavailable' });
  watch.available();
  await pass(MINUTE / 2);
  isThere = false;
  await pass(3 * MINUTE);
  expect([...asked, ...events]).toEqual([]);
});

test('a tick that an outage has cost is no alarm of the job that has taken its name', async () => {
  watch.add(job());
  await pass(0);
  watch.refused('report', tick, { reason: 'store-unavailable' });
  watch.available();
  await pass(MINUTE / 2);
  watch.add(job({ every: 6 * PERIOD }));
  await pass(3 * MINUTE);
  expect([...asked, ...events]).toEqual([]);
});

test('what is fired each second is judged once a minute, by all instances at the same tick', async () => {
  watch.add(job({ every: 1_000 }));
  await clock.advance(5 * MINUTE);
  expect(asked.length).toBeGreaterThanOrEqual(3);
  expect(asked.length).toBeLessThanOrEqual(5);
  for (const { tick: of = 1 } of asked) expect(of % MINUTE).toBe(0);
});

test('an interval is overdue when it has not run for its length and its grace', async () => {
  answer = () => ({ missed: true, tick: 42 });
  watch.add(job({ interval: PERIOD }));
  await clock.advance(PERIOD / 2);
  watch.began('report', undefined);
  await clock.advance(PERIOD);
  // Others have run it half an interval ago.
  watch.refused('report', undefined, { reason: 'already-ran', expiresIn: PERIOD / 2 - PERIOD / 10 });
  const due = clock.now() + PERIOD / 2;
  await clock.advance(PERIOD / 2 + MINUTE - 1_000);
  expect(asked).toEqual([]);
  await clock.advance(2_000);
  expect(asked).toMatchObject([{ grace: MINUTE, reason: 'not-fired' }]);
  expect(overdue().get('report')).toBe(due);
});

test('an interval that the store knows to be fine is not asked for again until it should have run', async () => {
  answer = () => ({ missed: false });
  watch.add(job({ interval: PERIOD }));
  await clock.advance(2 * PERIOD);
  expect(asked).toHaveLength(1);
  expect(overdue().size).toBe(0);
});

test('after stop() nothing is asked, and nothing more is told', async () => {
  watch.add(job());
  await pass(MINUTE - 1);
  watch.stop();
  await pass(9 * MINUTE);
  expect(asked).toEqual([]);
  expect(events).toEqual([]);
});

test('an instance whose clock is ahead asks when the grace is over by the clock of the store', async () => {
  offset = -2 * MINUTE;
  await clock.advance(PERIOD / 2);
  watch.add(job());
  await pass(0);
  watch.refused('report', tick, { reason: 'clock-skew' });
  await pass(3 * MINUTE - 1);
  expect(asked).toEqual([]);
  await pass(3 * MINUTE + 1);
  expect(asked).toMatchObject([{ tick, reason: 'clock-skew' }]);
});

test('a job that takes the name of a deleted one is watched by its own schedule', async () => {
  watch.add(job({ isThere: () => false }));
  watch.add(job());
  await pass(MINUTE + 1);
  expect(asked).toMatchObject([{ job: 'report', tick }]);
});

/* Incidents. */

const instanceOf = (name: string, enabled: boolean, more: Partial<InstanceRecord> = {}): InstanceRecord => ({
  instance: name,
  startedAt: clock.now() - 100 * PERIOD,
  every: 30_000,
  leads: [],
  left: false,
  seenAt: clock.now(),
  time: clock.now(),
  jobs: [job({ enabled }).shown()],
  ...more,
});

test('a run that hangs here is told of, again each hour while it goes on, and not after it', async () => {
  watch.add(job());
  await pass(0);
  watch.began('report', tick);
  const lease = { lock: 'report-lock', job: 'report', instance: 'here', fencingToken: tick * 1_000, tick };
  runs = [{ ...lease, startedAt: tick, outcome: 'running', hung: true }];
  // Its timeout has passed.
  watch.soon('report');
  await pass(2 * MINUTE);
  expect(events).toMatchObject([{ type: 'hung', ...lease, since: tick }]);
  expect(ofStatus('hung')).toHaveLength(1);
  for (let held = 1; held <= 12; held += 1) {
    await pass(held * PERIOD);
    watch.refused('report', tick + held * PERIOD, { reason: 'held' });
  }
  await pass(125 * MINUTE);
  expect(events.map(({ type }) => type)).toEqual(['hung', 'hung', 'hung']);
  runs = [];
  expect(ofStatus('hung')).toEqual([]);
  await pass(5 * 60 * MINUTE);
  expect(events.filter(({ type }) => type === 'hung')).toHaveLength(3);
});

test('an instance that has it disabled sees that the one that ran it has died, and tells', async () => {
  instances = [instanceOf('worker', true, { seenAt: clock.now() - PERIOD })];
  locks = [
    {
      name: 'report-lock',
      time: clock.now(),
      state: 'free',
      jobs: [{ job: 'report', tick: tick - PERIOD, outcome: 'completed' }],
    },
  ];
  watch.add(job({ enabled: false }));
  await pass(MINUTE + 4_000);
  expect(asked).toMatchObject([{ tick, reason: 'disabled' }]);
  expect(events).toMatchObject([{ type: 'overdue', tick }]);
});

test('a job that is disabled everywhere since a deploy is off', async () => {
  instances = [instanceOf('before', true, { left: true })];
  watch.add(job({ enabled: false }));
  await pass(2 * MINUTE);
  expect(ofStatus('off')).toHaveLength(1);
  expect([...asked, ...events]).toEqual([]);
});

test('an alarm ends within five minutes if a deploy switches its job off everywhere', async () => {
  [locks, instances] = [startedBefore(), [instanceOf('worker', true, { seenAt: clock.now() - PERIOD })]];
  watch.add(job({ enabled: false, every: 24 * PERIOD, grace: MINUTE }));
  tick = (Math.floor(clock.now() / (24 * PERIOD)) + 1) * 24 * PERIOD;
  locks = startedBefore(tick - 24 * PERIOD);
  await pass(2 * MINUTE);
  expect(ofStatus('overdue')).toHaveLength(1);
  instances = [instanceOf('worker', false)];
  await pass(8 * MINUTE);
  expect(ofStatus('off')).toHaveLength(1);
});

test('a run elsewhere is asked about though another one here has the token of its lease', async () => {
  await foundRun();
  locks = [leased(MINUTE)];
  const other = { lock: 'other-lock', job: 'other', instance: 'here', fencingToken: tick * 1_000 };
  runs = [{ ...other, startedAt: tick, outcome: 'running' }];
  await pass(2 * MINUTE);
  locks = killed();
  await pass(8 * MINUTE);
  expect(ofStatus('interrupted')).toHaveLength(1);
});

test('a job that is on where the first beat comes after that of this instance is off for a minute at most', async () => {
  watch.add(job({ enabled: false }));
  await clock.advance(10_000);
  expect(ofStatus('off')).toHaveLength(1);
  instances = [instanceOf('worker', true)];
  await clock.advance(MINUTE);
  expect(ofStatus('off')).toEqual([]);
});

test.each(['a cron job', 'an interval'])(
  'an instance that has %s disabled tells of a worker that started just after it, and died within the minute',
  async (kind) => {
    const interval = kind === 'an interval' ? { interval: PERIOD } : {};
    await pass(-MINUTE / 2);
    const began = { job: 'report', tick: tick - PERIOD, outcome: 'completed' } as const;
    const last = kind === 'an interval' ? { job: 'report', due: tick } : began;
    locks = [{ name: 'report-lock', time: clock.now(), state: 'free', jobs: [last] }];
    watch.add(job({ enabled: false, ...interval }));
    await clock.advance(1_000);
    expect(ofStatus('off')).toHaveLength(1);
    const died = {
      startedAt: clock.now(),
      seenAt: clock.now() + 1_000,
      time: tick + MINUTE,
      every: 1_000,
    } as const;
    instances = [instanceOf('worker', true, { ...died, jobs: [job({ ...interval }).shown()] })];
    await pass(MINUTE + 10_000);
    expect(asked).toMatchObject([{ job: 'report', reason: 'disabled' }]);
    expect(ofStatus('overdue')).toEqual([['report', tick]]);
  },
);

test('an interval whose worker died during a pause is told of one interval after the pause', async () => {
  const by = {
    action: 'pause',
    actor: 'anna',
    reason: 'the provider is down',
    until: tick + PERIOD,
  } as const;
  const id = (tick - PERIOD) * 1_000;
  const lock = {
    name: 'report-lock',
    state: 'free',
    jobs: [{ job: 'report', due: tick - PERIOD / 2 }],
  } as const;
  const paused = { actor: by.actor, reason: by.reason, id, since: tick - PERIOD, until: by.until };
  const worker = { seenAt: clock.now() - PERIOD, jobs: [job({ interval: PERIOD }).shown()] };
  instances = [instanceOf('worker', true, worker)];
  locks = [{ ...lock, paused, time: clock.now() }];
  watch.add(job({ enabled: false, interval: PERIOD }));
  await pass(PERIOD);
  expect(ofStatus('paused')).toHaveLength(1);
  // The pause is over: its entry tells of it.
  locks = [{ ...lock, time: clock.now() }];
  const note = { type: 'run', lock: 'report-lock', instance: 'anna', outcome: 'interrupted' } as const;
  entries = [{ ...note, fencingToken: id, at: tick - PERIOD, by }];
  await pass(2 * PERIOD);
  expect(ofStatus('overdue')).toEqual([]);
  await pass(2 * PERIOD + 2 * MINUTE);
  expect(ofStatus('overdue')).toHaveLength(1);
  expect(asked).toMatchObject([{ job: 'report', reason: 'disabled' }]);
});

test('an instance that has just started knows nothing until the store has answered', async () => {
  away = true;
  watch.add(job());
  await clock.advance(30_000);
  expect(ofStatus('unknown')).toHaveLength(1);
  away = false;
  await clock.advance(5_000);
  expect(ofStatus('unknown')).toEqual([]);
});

test('an instance asks nobody which ticks have come before it knows the clock of the store', async () => {
  offset = undefined;
  watch.add(job());
  await pass(2 * MINUTE);
  expect(inspected).toEqual([]);
  expect(ofStatus('unknown')).toHaveLength(1);
  offset = 0;
  watch.arm();
  await clock.advance(0);
  expect(inspected).toContain('report-lock');
});

test('an instance that starts after all were down tells of the tick that nobody started', async () => {
  const before = Math.floor(clock.now() / PERIOD) * PERIOD;
  await clock.advance(2 * MINUTE);
  instances = [instanceOf('before', true, { left: true, seenAt: before - MINUTE })];
  watch.add(job());
  await clock.advance(4_000);
  // It is not to blame.
  const reasons = [{ missedBy: 'here', reason: 'not-up', count: 1 }];
  expect(events).toMatchObject([{ type: 'overdue', tick: before, reasons }]);
});

test.each([true, false])(
  'an instance that starts says nothing of a job before it knows who else is there (enabled: %s)',
  async (enabled) => {
    const before = Math.floor(clock.now() / PERIOD) * PERIOD;
    await clock.advance(2 * MINUTE);
    instances = [instanceOf('worker', true, { left: true, seenAt: before - MINUTE })];
    let answer = (): void => undefined;
    fleetAnswers = new Promise((resolve) => (answer = resolve));
    watch.add(job({ enabled }));
    expect(ofStatus('unknown')).toHaveLength(1);
    await clock.advance(6_000);
    expect(inspected).not.toEqual([]);
    expect(ofStatus('unknown')).toHaveLength(1);
    answer();
    await clock.advance(1);
    expect(ofStatus('unknown')).toEqual([]);
  },
);

test('who tells has marked it, so that no other one tells', async () => {
  watch.add(job());
  await pass(MINUTE + 4_000);
  expect(events).toHaveLength(1);
  expect(alarms).toMatchObject([{ job: 'report', tick }]);
});

test('an alarm has at least the own reason, if what others have noted cannot be read', async () => {
  watch.add(job());
  await pass(MINUTE + 1);
  entriesFail = true;
  const reasons = [{ missedBy: 'here', reason: 'not-fired', count: 1 }];
  await pass(MINUTE + 4_000);
  expect(events).toMatchObject([{ type: 'overdue', tick, reasons }]);
});

test('the very first tick of a job is missed like any other', async () => {
  watch.add(job());
  locks = [];
  await pass(2 * MINUTE);
  expect(events).toMatchObject([{ type: 'overdue', tick }]);
});

test('the reason of a tick that came before it by a clock that is ahead is that clock', async () => {
  await clock.advance(PERIOD / 2);
  offset = -PERIOD;
  watch.add(job());
  await pass(MINUTE + 1);
  expect(asked).toMatchObject([{ reason: 'clock-skew' }]);
});

test('an outage that is over has an end, in the reason for what it has cost', async () => {
  watch.add(job());
  await pass(0);
  watch.refused('report', tick, { reason: 'store-unavailable' });
  await pass(20_000);
  watch.available();
  await pass(2 * MINUTE);
  expect(asked).toMatchObject([{ reason: 'store-unavailable', since: tick, until: tick + 20_000 }]);
});

test('a job that is well or running costs no call of the store between its ticks', async () => {
  watch.add(job());
  await clock.advance(0);
  expect(inspected).toHaveLength(1);
  for (let n = 0; n < 6; n += 1) {
    await pass(0);
    watch.began('report', tick);
    tick += PERIOD;
  }
  expect(ofStatus('ok')).toHaveLength(1);
  expect(inspected).toHaveLength(1);
});

test('a later run by hand elsewhere, which completed, ends the failing of a job before its next tick', async () => {
  const hour = 3_600_000;
  watch.add(job({ every: hour }));
  tick = (Math.floor(clock.now() / hour) + 1) * hour;
  await pass(0);
  watch.began('report', tick);
  failed.add('report');
  await pass(MINUTE);
  expect(ofStatus('failing')).toHaveLength(1);
  const startedAt = tick + 2 * MINUTE;
  const run = {
    type: 'run',
    lock: 'report-lock',
    job: 'report',
    instance: 'there',
    duration: 1_000,
  } as const;
  entries = [
    { ...run, outcome: 'completed', trigger: 'hand', fencingToken: startedAt * 1_000, at: startedAt + 1_000 },
    {
      ...run,
      instance: 'here',
      outcome: 'failed',
      tick,
      attempt: 1,
      fencingToken: tick * 1_000,
      at: tick + 1_000,
    },
  ];
  await pass(8 * MINUTE);
  expect(ofStatus('failing')).toEqual([]);
  expect(ofStatus('ok')).toHaveLength(1);
});

test('the store is not asked again of a job that has no dates left', async () => {
  const none = { newest: () => undefined, next: () => Infinity };
  watch.add(job({ dates: none }));
  await pass(0);
  expect(ofStatus('unknown')).toEqual([['report', undefined]]);
  inspected = [];
  await pass(PERIOD);
  expect(inspected).toEqual([]);
});

test('jobs are unknown from the moment at which the store refuses a beat until it takes one again', async () => {
  locks = [{ name: 'report-lock', time: clock.now(), state: 'free', jobs: [] }];
  watch.add(job());
  await clock.advance(10);
  expect(ofStatus('unknown')).toEqual([]);
  for (const [problem, unknown] of [
    ['The table lacks a column.', 1],
    [undefined, 0],
  ] as const) {
    watch.answered(problem);
    await clock.advance(10);
    expect(ofStatus('unknown')).toHaveLength(unknown);
  }
});

/* Instances that do not agree. */

const otherZone = (): InstanceRecord[] => [
  instanceOf('there', true, { jobs: [{ ...job().shown(), timeZone: 'Asia/Kolkata' }] }),
];
const disagrees = (): boolean | undefined => watch.judgements.get('report')?.disagree;
/** The last tick was started: the job is well otherwise. */
const startedBefore = (newest = tick - PERIOD): LockInfo[] => [
  {
    name: 'report-lock',
    time: clock.now(),
    state: 'free',
    jobs: [{ job: 'report', tick: newest, outcome: 'completed' }],
  },
];

test('after a deploy that changes a schedule the instances agree five minutes after the old one has left', async () => {
  [locks, instances] = [startedBefore(), otherZone()];
  watch.add(job());
  await clock.advance(3 * MINUTE);
  expect(disagrees()).toBe(true);
  expect(ofStatus('disagree')).toHaveLength(1);
  instances = instances.map((one) => ({ ...one, left: true }));
  await clock.advance(5 * MINUTE + 1_000);
  expect(disagrees()).toBe(false);
  const asked = fleetAsked;
  await clock.advance(MINUTE);
  expect(fleetAsked).toBe(asked);
});

test('that instances disagree is known, and looked at again, while the job runs', async () => {
  [locks, instances] = [startedBefore(), otherZone()];
  watch.add(job());
  await clock.advance(1);
  const run = { lock: 'report-lock', job: 'report', fencingToken: clock.now() * 1_000, instance: 'here' };
  runs = [{ ...run, startedAt: clock.now(), outcome: 'running' }];
  watch.began('report', undefined);
  expect(ofStatus('running')).toHaveLength(1);
  expect(disagrees()).toBe(true);
  instances = instances.map((one) => ({ ...one, left: true }));
  await clock.advance(MINUTE + 1_000);
  expect(ofStatus('running')).toHaveLength(1);
  expect(disagrees()).toBe(false);
});

test('an instance that starts while the job runs elsewhere knows that they disagree, and when they do no more', async () => {
  const run = { job: 'report', fencingToken: clock.now() * 1_000, holder: 'there', expiresIn: PERIOD };
  [locks, instances] = [startedBefore().map((lock) => ({ ...lock, ...run, state: 'held' })), otherZone()];
  watch.add(job());
  await clock.advance(1);
  expect(ofStatus('running')).toHaveLength(1);
  expect(disagrees()).toBe(true);
  instances = instances.map((one) => ({ ...one, left: true }));
  await clock.advance(MINUTE + 1_000);
  expect(disagrees()).toBe(false);
});

test('nobody says whether instances agree before the store has told who is there', async () => {
  away = true;
  watch.add(job());
  watch.began('report', clock.now());
  await clock.advance(1_000);
  expect(disagrees()).toBeUndefined();
});

const DAY = 144 * PERIOD;

/** A nightly job of instances that do not agree, in the middle of the day. */
async function nightly(): Promise<void> {
  withTicks = true;
  const last = Math.floor(clock.now() / DAY) * DAY;
  await clock.advance(DAY / 2);
  locks = [{ ...startedBefore()[0]!, jobs: [{ job: 'report', tick: last, outcome: 'completed' }] }];
  instances = otherZone();
  watch.add(job({ every: DAY }));
  await clock.advance(MINUTE);
  expect(disagrees()).toBe(true);
  expect(fleetAsked).toBe(1);
}

test('an instance that asks with its ticks knows five minutes after a deploy that the instances agree', async () => {
  await nightly();
  instances = instances.map((one) => ({ ...one, left: true }));
  await clock.advance(5 * MINUTE);
  expect(disagrees()).toBe(false);
  expect(ofStatus('disagree')).toEqual([]);
});

test('an instance that asks with its ticks looks once more, too, if its tick comes before that', async () => {
  await nightly();
  await clock.advance(DAY - 3 * MINUTE - (clock.now() % DAY));
  watch.remove('report');
  locks = [{ ...locks[0]!, jobs: [{ job: 'report', tick: clock.now() + 3 * MINUTE, outcome: 'completed' }] }];
  watch.add(job({ every: DAY }));
  // The tick, and the minute after which it is late.
  await clock.advance(4 * MINUTE + 1_000);
  expect(disagrees()).toBe(true);
  instances = instances.map((one) => ({ ...one, left: true }));
  await clock.advance(5 * MINUTE);
  expect(disagrees()).toBe(false);
});

test('an instance that asks with its ticks looks once more if instances disagree, and then no more until the tick', async () => {
  await nightly();
  await clock.advance(5 * MINUTE);
  expect(fleetAsked).toBe(2);
  await clock.advance(60 * MINUTE);
  expect(disagrees()).toBe(true);
  expect(fleetAsked).toBe(2);
});

test('an instance whose clock is ahead does not wait for that of the store before it watches a job that catches up', async () => {
  offset = undefined;
  watch.add(job({ comesLate: true }));
  await clock.advance(1_000);
  offset = -6 * PERIOD;
  watch.arm();
  await clock.advance(4_000);
  expect(inspected).toEqual([]);
  await clock.advance(2_000);
  expect(inspected).toContain('report-lock');
});

/* Jobs that are never overdue. */

test('a run that hangs of a job that is never overdue is told of, for one look at the store', async () => {
  watch.add(job({ grace: false }));
  watch.add(job({ job: 'by-hand', grace: false, dates: { newest: () => undefined, next: () => Infinity } }));
  await pass(3 * PERIOD);
  expect(inspected).toHaveLength(1);
  const lease = { lock: 'report-lock', job: 'report', instance: 'here', fencingToken: tick * 1_000 };
  runs = [{ ...lease, startedAt: tick, outcome: 'running', hung: true }];
  watch.soon('report');
  await pass(3 * PERIOD + 2 * MINUTE);
  expect(events).toMatchObject([{ type: 'hung', job: 'report' }]);
  expect(ofStatus('hung')).toHaveLength(1);
  runs = [];
  watch.refused('report', tick + 3 * PERIOD, { reason: 'store-unavailable' });
  watch.available();
  await pass(9 * PERIOD);
  expect([inspected.length, asked]).toEqual([1, []]);
});

/* Runs elsewhere that are killed. */

const HOUR = 6 * PERIOD;
const leased = (expiresIn: number, more: Partial<LockInfo> = {}): LockInfo => ({
  name: 'report-lock',
  time: clock.now(),
  state: 'held',
  holder: 'there',
  job: 'report',
  fencingToken: tick * 1_000,
  expiresIn,
  jobs: [{ job: 'report', tick, attempt: 1 }],
  ...more,
});
const killed = (): LockInfo[] => [leased(0, { state: 'free', interrupted: true })];

/** A daily job, whose tick has found a run elsewhere. */
async function foundRun(fields: Fields = {}): Promise<void> {
  tick = Math.ceil(clock.now() / DAY) * DAY;
  locks = startedBefore(tick - DAY);
  watch.add(job({ every: DAY, ...fields }));
  await pass(0);
  inspected = [];
  watch.refused('report', tick, { reason: 'held', tick });
}

test('a run elsewhere that is killed is known when the grace of its tick is over', async () => {
  await foundRun();
  locks = killed();
  await pass(MINUTE - 1);
  expect([inspected, ofStatus('ok').length]).toEqual([[], 1]);
  await pass(MINUTE + 1);
  expect(ofStatus('interrupted')).toHaveLength(1);
});

test('a run elsewhere that is killed, of a job that is never overdue, is known within five minutes', async () => {
  await foundRun({ grace: false });
  locks = killed();
  await pass(5 * MINUTE - 1);
  expect(inspected).toEqual([]);
  await pass(5 * MINUTE + 1);
  expect(ofStatus('interrupted')).toHaveLength(1);
});

test('a run elsewhere costs one look when the grace of its tick is over, and one each five minutes while it goes on', async () => {
  await foundRun();
  fleetAsked = 0;
  locks = [leased(MINUTE)];
  await pass(HOUR + 3 * MINUTE);
  expect(inspected).toHaveLength(13);
  expect(fleetAsked).toBe(0);
  expect(ofStatus('running')).toHaveLength(1);
  locks = killed();
  await pass(HOUR + 9 * MINUTE);
  expect(ofStatus('interrupted')).toHaveLength(1);
});

test('a run that a deploy aborts is known within five minutes to an instance that has started beside it', async () => {
  tick = Math.floor(clock.now() / PERIOD) * PERIOD;
  locks = [leased(MINUTE)];
  watch.add(job({ every: DAY }));
  await clock.advance(10 * MINUTE);
  expect(ofStatus('running')).toHaveLength(1);
  locks = [{ ...startedBefore(tick)[0]!, jobs: [{ job: 'report', tick, attempt: 1, outcome: 'aborted' }] }];
  await clock.advance(5 * MINUTE + 1_000);
  expect(ofStatus('interrupted')).toHaveLength(1);
});

test('hourly ticks that others start cost an instance no call of the store, and daily ones a look each', async () => {
  tick = Math.ceil(clock.now() / DAY) * DAY;
  locks = startedBefore(tick - DAY);
  watch.add(job({ every: HOUR }));
  await pass(0);
  [inspected, fleetAsked] = [[], 0];
  for (let n = 0; n < 24; n++) {
    await pass(n * HOUR + 100);
    const at = tick + n * HOUR;
    locks = startedBefore(at);
    watch.refused('report', at, { reason: 'held', tick: at });
  }
  expect([inspected.length, fleetAsked]).toEqual([0, 0]);
  watch.remove('report');
  watch.add(job({ job: 'daily', every: DAY }));
  await clock.advance(0);
  [inspected, fleetAsked] = [[], 0];
  for (let n = 1; n < 4; n++) {
    await pass(n * DAY + 100);
    const at = tick + n * DAY;
    locks = [{ ...startedBefore()[0]!, jobs: [{ job: 'daily', tick: at, outcome: 'completed' }] }];
    watch.refused('daily', at, { reason: 'held', tick: at });
  }
  await pass(3 * DAY + HOUR);
  expect([inspected.length, fleetAsked]).toEqual([3, 0]);
});

test('a run elsewhere that has ended when its grace is over costs one look until the next tick', async () => {
  await foundRun();
  locks = startedBefore(tick);
  await pass(50 * MINUTE);
  expect(inspected).toHaveLength(1);
  expect(ofStatus('ok')).toHaveLength(1);
});

test('a run elsewhere that goes past its next tick, and is killed then, has cost that tick', async () => {
  await foundRun();
  locks = [leased(MINUTE)];
  await pass(DAY);
  watch.refused('report', tick + DAY, { reason: 'held', tick });
  await pass(DAY + MINUTE);
  expect(ofStatus('overrun')).toHaveLength(1);
  locks = killed();
  await pass(DAY + 2 * HOUR);
  expect(ofStatus('overdue')).toEqual([['report', tick + DAY]]);
  expect(asked).toMatchObject([{ tick: tick + DAY, reason: 'held' }]);
  expect(events).toMatchObject([{ type: 'overdue', tick: tick + DAY }]);
});

test('an instance that was killed and starts under its old id knows within five minutes that its run was killed', async () => {
  tick = Math.floor(clock.now() / PERIOD) * PERIOD;
  locks = [leased(30_000, { holder: 'here' })];
  watch.add(job({ every: DAY }));
  await clock.advance(1_000);
  // Its lease goes on.
  expect(ofStatus('running')).toHaveLength(1);
  locks = [leased(0, { holder: 'here', state: 'free', interrupted: true })];
  await clock.advance(5 * MINUTE);
  expect(ofStatus('interrupted')).toHaveLength(1);
});

test('an instance that asks with its ticks asks nothing about a run elsewhere', async () => {
  withTicks = true;
  await foundRun();
  await pass(HOUR);
  expect(inspected).toEqual([]);
});

test('nothing is asked of a run elsewhere if a proof comes before the end of the grace', async () => {
  await foundRun();
  watch.refused('report', tick, { reason: 'already-ran', tick });
  await pass(50 * MINUTE);
  expect(inspected).toEqual([]);
});

test('nothing is asked of a run elsewhere if the next tick comes within an hour', async () => {
  locks = startedBefore();
  watch.add(job());
  for (let n = 0; n < 3; n++) {
    await pass(n * PERIOD);
    if (n === 0) inspected = [];
    const own = tick + n * PERIOD;
    watch.refused('report', own, { reason: 'held', tick: own });
  }
  await pass(2 * PERIOD + 9 * MINUTE);
  expect(inspected).toEqual([]);
});

test('an instance that asks with its ticks asks once an hour about a killed run of a job without ticks', async () => {
  withTicks = true;
  tick = clock.now() - MINUTE;
  locks = killed();
  watch.add(job({ grace: false, dates: { newest: () => undefined, next: () => Infinity } }));
  await clock.advance(MINUTE);
  expect(ofStatus('interrupted')).toHaveLength(1);
  inspected = [];
  await clock.advance(HOUR - 2 * MINUTE);
  expect(inspected).toEqual([]);
  locks = startedBefore(clock.now());
  await clock.advance(3 * MINUTE);
  expect(inspected).toHaveLength(1);
  expect(ofStatus('interrupted')).toEqual([]);
});
