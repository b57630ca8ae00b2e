import { describe, expect, test } from '@jest/globals';
import type { SchedulerLockEvent } from '../../../lib/events/events.js';
import { StoreUnavailableError } from '../../../lib/errors.js';
import { SchedulerLockEvents } from '../../../lib/events/scheduler-lock.events.js';
import { Insight } from '../../../lib/insight/insight.js';
import { Reader } from '../../../lib/insight/read.js';
import type { JobStatus, JobView, Why } from '../../../lib/insight/types.js';
import { Watch } from '../../../lib/insight/watch.js';
import { type Measurement, Measurements } from '../../../lib/metrics/measurements.js';
import { type LockHealth, SchedulerLockHealth } from '../../../lib/nest/scheduler-lock-health.js';
import type { KnownJob } from '../../../lib/stores/history-store.js';
import type { LockStore } from '../../../lib/stores/lock-store.js';
import { pauseHolder } from '../../../lib/stores/pause.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { at, INTERVAL, JOB, ticks } from './support/facts.js';
import { entry, FakeStore, instance, lockInfo, NOW } from './support/store.js';

/** The holder of a pause. */
const PAUSED = pauseHolder({ actor: 'anna', reason: 'the provider is down', until: at('05:00') });

/*
 * Each pattern of facts through all five readers: `status`, `why`, the event `overdue`, health and the gauges. The first two ask the
 * store; the others are those of an instance `probe`, which has just started and knows what the store tells it.
 */

const T = at('03:00');
const YESTERDAY = at('03:00', 21);
const OFF = { ...JOB, enabled: false };
const BERLIN = { ...JOB, timeZone: 'Europe/Berlin' };

interface Pattern {
  readonly status: JobStatus;
  readonly tick?: number;
  /** The job, as the probe knows it. */
  readonly own?: KnownJob;
  readonly clockOffset?: number;
  readonly store: Partial<FakeStore>;
}

const REFUSED = new StoreUnavailableError('It has no column data.', {
  outcome: 'not-applied',
  refused: true,
});
const started = (tick: number, more: object = {}) =>
  lockInfo({ jobs: [{ job: JOB.job, tick, attempt: 1, outcome: 'completed', ...more }] });
const held = (since: number) =>
  lockInfo({
    state: 'held',
    holder: 'api-1',
    job: JOB.job,
    fencingToken: since * 1_000,
    jobs: [{ job: JOB.job, tick: since, attempt: 1 }],
  });
/** A lease of a person, who is no job. */
const ofNoJob = <T extends { readonly job?: string }>({ job: _job, ...rest }: T): Omit<T, 'job'> => rest;
const [api1, lastNight] = [instance('api-1'), entry(YESTERDAY, { tick: YESTERDAY, attempt: 1 })];
const ranYesterday = { locks: [started(YESTERDAY)], entries: [lastNight] };

const patterns: Record<string, Pattern> = {
  'its tick was started': {
    status: 'ok',
    store: { instances: [api1], locks: [started(T)], entries: [entry(T, { tick: T }), lastNight] },
  },
  'a run of the job went on when its tick came': {
    status: 'ok',
    store: {
      instances: [api1],
      locks: [started(YESTERDAY)],
      entries: [entry(at('02:59'), { at: at('03:01'), duration: 120_000 }), lastNight],
    },
  },
  'it is never overdue': {
    status: 'ok',
    own: { ...JOB, overdue: false },
    store: { instances: [instance('api-1', { jobs: [{ ...JOB, overdue: false }] })], ...ranYesterday },
  },
  'nobody started its tick': { status: 'overdue', tick: T, store: { instances: [api1], ...ranYesterday } },
  'nobody started its tick, and the clock of this instance is behind': {
    status: 'overdue',
    tick: T,
    clockOffset: 1_800_000,
    store: { instances: [api1], ...ranYesterday },
  },
  'nobody started its very first tick': { status: 'overdue', tick: T, store: { instances: [api1] } },
  'all were down when its tick came': {
    status: 'overdue',
    tick: T,
    store: { instances: [instance('api-1', { left: true, seenAt: at('02:50') })], ...ranYesterday },
  },
  'the only one on which it is on has died': {
    status: 'overdue',
    tick: T,
    own: OFF,
    store: {
      instances: [instance('web-1', { jobs: [OFF] }), instance('worker-1', { seenAt: at('02:50') })],
      ...ranYesterday,
    },
  },
  'the only one has restarted under its id since its tick': {
    status: 'overdue',
    tick: T,
    store: { instances: [], ...ranYesterday },
  },
  'its tick was missed after a run that was interrupted': {
    status: 'overdue',
    tick: T,
    store: {
      instances: [api1],
      locks: [started(YESTERDAY, { outcome: undefined })],
      entries: [entry(YESTERDAY, { tick: YESTERDAY, attempt: 1, outcome: 'interrupted' })],
    },
  },
  'an interval did not run': {
    status: 'overdue',
    tick: at('03:05'),
    own: INTERVAL,
    store: {
      instances: [instance('api-1', { jobs: [INTERVAL] })],
      locks: [lockInfo({ name: 'poll', jobs: [{ job: INTERVAL.job, due: at('03:05') }] })],
    },
  },
  'its last run was interrupted': {
    status: 'interrupted',
    store: {
      instances: [api1],
      locks: [{ ...held(T), state: 'free', interrupted: true }],
      entries: [lastNight],
    },
  },
  'its last run failed': {
    status: 'failing',
    store: { instances: [api1], locks: [started(T, { outcome: 'failed' })], entries: [lastNight] },
  },
  'it is paused': {
    status: 'paused',
    store: {
      instances: [api1],
      locks: [{ ...ofNoJob(held(at('02:30'))), holder: PAUSED, expiresIn: 7_200_000 }],
      entries: [lastNight],
    },
  },
  'its tick came while it was paused': {
    status: 'ok',
    store: {
      instances: [api1],
      locks: [started(YESTERDAY)],
      entries: [
        ofNoJob(entry(at('02:30'), { instance: PAUSED, outcome: 'aborted', at: at('03:05') })),
        lastNight,
      ],
    },
  },
  'it is running': {
    status: 'running',
    store: { instances: [api1], locks: [held(T)], entries: [lastNight] },
  },
  'it runs since last night': { status: 'overrun', store: { instances: [api1], locks: [held(YESTERDAY)] } },
  'it hangs, and its lease is over': {
    status: 'hung',
    store: {
      instances: [instance('api-1', { hung: [{ job: JOB.job, fencingToken: T * 1_000, tick: T }] })],
      locks: [{ ...held(T), state: 'free', interrupted: true }],
      entries: [lastNight],
    },
  },
  'it is off everywhere': {
    status: 'off',
    own: OFF,
    store: { instances: [instance('api-1', { jobs: [OFF] })], ...ranYesterday },
  },
  'a deploy has switched it off': {
    status: 'off',
    own: OFF,
    store: { instances: [instance('api-1', { left: true, seenAt: at('02:50') })], ...ranYesterday },
  },
  'two that are up do not agree on the zone': {
    status: 'disagree',
    store: {
      instances: [instance('api-1', { jobs: [BERLIN], startedAt: at('03:05') })],
      locks: [started(T)],
      entries: [entry(T, { tick: T })],
    },
  },
  'the clocks of all are behind': {
    status: 'disagree',
    clockOffset: 1_800_000,
    store: { instances: [instance('api-1', { clockOffset: 1_800_000 })], ...ranYesterday },
  },
  'nobody started its tick, and an instance whose clock is behind tells': {
    status: 'overdue',
    tick: T,
    own: OFF,
    clockOffset: 1_800_000,
    store: { instances: [api1], ...ranYesterday },
  },
  'it is new': { status: 'new', store: { instances: [] } },
  'the store refuses to tell of its runs': {
    status: 'unknown',
    store: { instances: [api1], locks: [started(T)], refusal: REFUSED },
  },
};

/** What each reader says of a job. */
interface Answers {
  readonly status: JobView | undefined;
  readonly why: Why;
  readonly events: readonly SchedulerLockEvent[];
  readonly health: LockHealth;
  readonly gauges: readonly Measurement[];
}

function probe(fake: FakeStore, own: KnownJob, clockOffset: number, events: SchedulerLockEvent[]) {
  const clock = new ManualClock(NOW - clockOffset);
  const { history } = fake.store as Required<LockStore>;
  Object.assign(history, {
    miss: ({ tick }: { tick: number }) => Promise.resolve({ missed: true, first: true, tick }),
    told: () => Promise.resolve(true),
  });
  const watch = new Watch(new Reader(history, fake.store.inspect!), history, clock, {
    instance: 'probe',
    kept: { count: 100, age: 1 },
    emit: (event) => void events.push(event),
    idleReason: () => undefined,
    clockOffset: () => clockOffset,
    runs: () => [],
    hasFailed: () => false,
  });
  watch.add({
    job: own.job,
    lock: own.lock ?? '',
    sharesLock: false,
    comesLate: false,
    grace: 60_000,
    interval: own.interval,
    shown: () => ({ ...own, next: undefined, last: undefined }),
    dates: ticks('0 3 * * *', 'UTC')!,
    isOn: () => true,
    initialDelay: 0,
  });
  const host = {
    settings: { clock },
    condition: { away: false, answeredAt: NOW, failing: new Set() },
    elections: { names: [], led: [] },
  };
  const insight = {
    get judgements() {
      return watch.judgements;
    },
    lastBeats: {},
    runs: [],
    clockOffset,
    knows: () => true,
  };
  const health = new SchedulerLockHealth(host as never, insight as never, new SchedulerLockEvents());
  return { clock, watch, health };
}

/** Asks all readers. */
async function ask({ own = JOB, clockOffset = 0, store }: Pattern): Promise<Answers> {
  const fake = Object.assign(new FakeStore(), store);
  const self = instance('probe', { startedAt: NOW - clockOffset, seenAt: NOW, jobs: [own], clockOffset });
  fake.instances = [self, ...fake.instances];
  const insight = new Insight(fake.store, { ticks });
  const events: SchedulerLockEvent[] = [];
  const { clock, watch, health } = probe(fake, own, clockOffset, events);
  await clock.advance(10_000);
  const answers = {
    status: await insight.job(own.job),
    why: await insight.why(own.job),
    events,
    health: (await health.check()).schedulerLock,
    gauges: new Measurements(health).now(),
  };
  watch.stop();
  return answers;
}

/** What the answers of `why` may be about. */
const CAUSES: Readonly<Record<JobStatus, readonly Why['cause'][]>> = {
  hung: ['hung'],
  overrun: ['overrun'],
  running: ['running'],
  off: ['off'],
  paused: ['paused'],
  unknown: ['unknown'],
  overdue: ['unknown', 'no-instance', 'missed', 'store-away', 'lock-taken'],
  interrupted: ['interrupted'],
  // The lock may know of a failure of which nothing is kept.
  failing: ['ran', 'unknown'],
  disagree: ['schedules-differ', 'clocks-behind'],
  new: ['pending'],
  ok: ['ran', 'overrun', 'unknown', 'no-instance', 'paused'],
};
/** One that is unknown as it was not asked about is in a test of its own. */
const ATTENTION = new Set<JobStatus>([
  'hung',
  'overrun',
  'overdue',
  'interrupted',
  'failing',
  'disagree',
  'unknown',
]);

const gauge = ({ gauges }: Answers, name: Measurement['instrument']): number | undefined =>
  gauges.find(({ instrument }) => instrument === name)?.value;

/** What each reader has to say, if the job is like this. */
const READERS: Readonly<
  Record<keyof Answers, (answers: Answers, status: JobStatus, tick: number | undefined) => boolean>
> = {
  status: ({ status: view }, status, tick) =>
    view?.status === status && view.attention === ATTENTION.has(status) && view.overdue === tick,
  why: ({ why }, status, tick) =>
    CAUSES[status].includes(why.cause) && (tick === undefined || why.tick === tick),
  events: ({ events }, _status, tick) => {
    const told = events.flatMap((event) => (event.type === 'overdue' ? [event.tick] : []));
    return JSON.stringify(told) === JSON.stringify(tick === undefined ? [] : [tick]);
  },
  health: ({ health }, status, tick) => {
    const isWell = !ATTENTION.has(status) && status !== 'unknown';
    const list = {
      overdue: 'overdue',
      hung: 'hung',
      overrun: 'hung',
      failing: 'failing',
      unknown: 'unknown',
    };
    const { overdue, hung, failing, attention, unknown } = health;
    const lists = { overdue: overdue.map(({ job }) => job), hung, failing, attention, unknown };
    const where = Object.entries(lists).flatMap(([name, jobs]) => (jobs.length > 0 ? [name] : []));
    const wanted = isWell ? [] : [(list as Record<string, string>)[status] ?? 'attention'];
    const isRight = JSON.stringify(where) === JSON.stringify(wanted);
    const told = overdue[0] && Date.parse(overdue[0].tick);
    return isRight && told === tick && health.status === (isWell ? 'up' : 'degraded');
  },
  gauges: (answers, status, tick) => {
    const [late, overtime] = [gauge(answers, 'overdue'), gauge(answers, 'overtime') ?? NaN];
    const isLate = tick === undefined ? late === 0 : Number(late) > 0;
    const isLong = status === 'hung' || status === 'overrun';
    return (status === 'unknown' ? late === undefined : isLate) && (isLong ? overtime > 0 : overtime === 0);
  },
};

/** The readers that say something else than that the job is like this. */
const dissenting = (answers: Answers, { status, tick }: Pattern): string[] =>
  Object.entries(READERS).flatMap(([name, agrees]) => (agrees(answers, status, tick) ? [] : [name]));

describe('all five readers agree', () => {
  test.each(Object.keys(patterns))('%s', async (name) => {
    const pattern = patterns[name]!;
    const answers = await ask(pattern);
    expect({ dissenting: dissenting(answers, pattern), answers }).toEqual({ dissenting: [], answers });
  });

  test('on every status that an instance can know', () => {
    const seen = new Set(Object.values(patterns).map(({ status }) => status));
    expect(Object.keys(CAUSES).filter((status) => !seen.has(status as JobStatus))).toEqual([]);
  });
});

test.each(Object.keys(READERS) as (keyof Answers)[])('one that is broken is found: %s', async (reader) => {
  const [pattern, other] = [patterns['nobody started its tick']!, patterns['its tick was started']!];
  // It says of a job that is overdue what it says of one that is not.
  const broken = { ...(await ask(pattern)), [reader]: (await ask(other))[reader] };
  expect(dissenting(broken, pattern)).toEqual([reader]);
});

test.each(['it is running', 'its last run failed', 'it runs since last night'])(
  'the gauge says that instances disagree, whatever goes first: %s',
  async (name) => {
    const { store, ...pattern } = patterns[name]!;
    const others = [...store.instances!, instance('api-2', { jobs: [BERLIN] })];
    const answers = await ask({ ...pattern, store: { ...store, instances: others } });
    expect(answers.status?.status).toBe(pattern.status);
    expect(gauge(answers, 'disagree')).toBe(1);
    expect(gauge(await ask(patterns[name]!), 'disagree')).toBe(0);
  },
);

test('what is not known is unknown to all that an instance can ask', async () => {
  const pattern = patterns['its tick was started']!;
  const away = { ...(pattern.store as object), instances: [api1] };
  const fake = Object.assign(new FakeStore(), away);
  fake.store.inspect = () => Promise.reject(new Error('away'));
  const events: SchedulerLockEvent[] = [];
  const { clock, watch, health } = probe(fake, JOB, 0, events);
  await clock.advance(10_000);
  const answers: Answers = {
    ...(await ask(pattern)),
    events,
    health: (await health.check()).schedulerLock,
    gauges: new Measurements(health).now(),
  };
  expect(dissenting(answers, { ...pattern, status: 'unknown' })).toEqual(['status', 'why']);
  watch.stop();
});
