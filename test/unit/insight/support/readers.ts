import type { SchedulerLockEvent } from '../../../../lib/contract/events/events.js';
import { Insight } from '../../../../lib/insight/insight.js';
import { given } from '../../../../lib/base/shared.js';
import { Reader } from '../../../../lib/insight/read.js';
import type { JobStatus, JobView, RunInfo, Why } from '../../../../lib/insight/types.js';
import { Watch } from '../../../../lib/insight/watch.js';
import type { Refused } from '../../../../lib/insight/watched-job.js';
import { Board } from '../../../../lib/show/board/board.js';
import { type Measurement, Measurements } from '../../../../lib/show/metrics/measurements.js';
import { type LockHealth, SchedulerLockHealth } from '../../../../lib/nest/scheduler-lock-health.js';
import type { KnownJob } from '../../../../lib/contract/history-store.js';
import type { LockStore } from '../../../../lib/contract/lock-store.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { at, JOB, ticks } from './facts.js';
import { FakeStore, instance, NOW } from './store.js';

/** A tick, and since when an instance is up that has lived through it. */
const [TICK, UP] = [at('03:00'), at('02:59')];

/* The seven readers of one pattern of facts, and whether they say the same. */

/** What a store knows of a job, and an instance that has just started; and what the readers have to say. */
export interface Pattern {
  readonly status: JobStatus;
  readonly tick?: number;
  /** The job, as the probe knows it. */
  readonly own?: KnownJob;
  readonly clockOffset?: number;
  /** The runs that go on where the probe is. */
  readonly runs?: readonly RunInfo[];
  /** Whether the last run where the probe is has failed. */
  readonly failed?: boolean;
  /** Absent: the probe has just started. Else it was up at the tick, which was refused there: since then the store is away, up to now. */
  readonly refused?: Refused;
  readonly store: Partial<FakeStore>;
}

/** What each reader says of a job. */
export interface Answers {
  readonly status: JobView | undefined;
  /** The job among all of them. */
  readonly jobs: JobView | undefined;
  readonly why: Why;
  readonly events: readonly SchedulerLockEvent[];
  readonly health: LockHealth;
  readonly gauges: readonly Measurement[];
  /** Its row in the table of the page, as HTML. */
  readonly page: string;
}

export function probe(
  fake: FakeStore,
  { own = JOB, clockOffset = 0, runs = [], failed = false, refused }: Partial<Pattern>,
  events: SchedulerLockEvent[],
) {
  const clock = new ManualClock((refused === undefined ? NOW : UP) - clockOffset);
  const { history } = fake.store as Required<LockStore>;
  const { inspect } = fake.store;
  /** What the store says is true now; before, nobody can ask it. */
  const unlessAway =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      clock.now() + clockOffset < NOW ? Promise.reject(new Error('away')) : call(...args);
  Object.assign(history, {
    miss: ({ tick }: { tick: number }) => Promise.resolve({ missed: true, tick }),
    told: () => Promise.resolve(true),
    entries: unlessAway(history.entries.bind(history)),
    instances: unlessAway(history.instances.bind(history)),
  });
  const watch = new Watch(new Reader(history, unlessAway(inspect)), history, clock, {
    instance: 'probe',
    kept: { count: 100, age: 1 },
    emit: (event) => void events.push(event),
    idleReason: () => undefined,
    clockOffset: () => clockOffset,
    runs: () => runs,
    wentWrong: () => (failed ? 'failed' : undefined),
  });
  watch.add({
    job: own.job,
    lock: own.lock ?? '',
    comesLate: false,
    grace: own.overdue,
    interval: own.interval,
    shown: () => own,
    dates: ticks('0 3 * * *', 'UTC')!,
    isThere: () => true,
    initialDelay: 0,
  });
  const host = {
    settings: { clock },
    runner: {
      condition: { away: false, answeredAt: NOW, wrong: new Map(failed ? [[own.job, 'failed']] : []) },
    },
    elections: { names: [], led: [] },
  };
  const presence = { watch, beats: { last: {}, clockOffset } };
  const insight = { presence, runs, jobs: { has: () => true } };
  const health = new SchedulerLockHealth(host as never, insight as never);
  return { clock, watch, health };
}

/** Asks all readers. */
export async function ask(pattern: Pattern): Promise<Answers> {
  const { own = JOB, clockOffset = 0, runs = [], store } = pattern;
  const fake = Object.assign(new FakeStore(), store);
  const { refused } = pattern;
  const hung = runs.map(({ fencingToken, tick }) => ({ job: own.job, fencingToken, ...given({ tick }) }));
  const self = instance('probe', {
    startedAt: (refused === undefined ? NOW : UP) - clockOffset,
    seenAt: NOW,
    jobs: [own],
    clockOffset,
    ...(hung.length > 0 && { hung }),
  });
  fake.instances = [self, ...fake.instances];
  const insight = new Insight(fake.store, { ticks });
  const events: SchedulerLockEvent[] = [];
  const { clock, watch, health } = probe(fake, pattern, events);
  if (refused !== undefined) {
    await clock.advance(TICK - UP);
    watch.refused(own.job, own.interval === undefined ? TICK : undefined, refused);
    await clock.advance(NOW - TICK);
  }
  // What is remembered of runs is where beats go.
  watch.answered(fake.refusal?.message);
  await clock.advance(10_000);
  const source = { insight: async () => insight, clock, label: () => 'memory', traceUrl: undefined };
  const { body } = await new Board(source).answer(undefined, '');
  const answers = {
    status: await insight.job(own.job),
    jobs: (await insight.jobs()).find(({ job }) => job === own.job),
    why: await insight.why(own.job),
    events,
    health: (await health.check()).schedulerLock,
    gauges: new Measurements(health).now(),
    page:
      String(body)
        .split('<tr role="row">')
        .find((row) => row.includes(`>${own.job}</a>`) && row.includes('class="strip"')) ?? '',
  };
  watch.stop();
  return answers;
}

/** What the answers of `why` may be about. */
export const CAUSES: Readonly<Record<JobStatus, readonly Why['cause'][]>> = {
  hung: ['hung'],
  overrun: ['overrun'],
  running: ['running'],
  off: ['off'],
  paused: ['paused'],
  unknown: ['unknown'],
  overdue: ['unknown', 'no-instance', 'missed', 'store-away', 'lock-taken', 'schedules-differ'],
  interrupted: ['interrupted'],
  // The lock may know of a failure of which nothing is kept.
  failing: ['ran', 'unknown'],
  hollow: ['ran', 'unknown'],
  disagree: ['schedules-differ', 'clocks-behind'],
  // One that is called by hand has no tick that is to come.
  new: ['pending', 'unknown'],
  ok: ['ran', 'overrun', 'unknown', 'no-instance', 'paused', 'unlocked'],
};
/** One that is unknown as it was not asked about is in a test of its own. */
export const ATTENTION = new Set<JobStatus>([
  'hung',
  'overrun',
  'overdue',
  'interrupted',
  'failing',
  'hollow',
  'disagree',
  'unknown',
]);

export const gauge = ({ gauges }: Answers, name: Measurement['instrument']): number | undefined =>
  gauges.find(({ instrument }) => instrument === name)?.value;

/** What each reader has to say, if the job is like this. */
export const READERS: Readonly<
  Record<keyof Answers, (answers: Answers, status: JobStatus, tick: number | undefined) => boolean>
> = {
  status: ({ status: view }, status, tick) =>
    view?.status === status && view.attention === ATTENTION.has(status) && view.overdue === tick,
  jobs: ({ jobs: view }, status, tick) =>
    view?.status === status && view.attention === ATTENTION.has(status) && view.overdue === tick,
  why: ({ why }, status, tick) =>
    CAUSES[status].includes(why.cause) && (tick === undefined || why.tick === tick),
  events: ({ events, status: view }, status, tick) => {
    const told = events.map((event) => [event.type, (event as { readonly tick?: number }).tick]);
    // The instance on which a run hangs tells of it.
    const hung = status === 'hung' && view?.last?.instance === 'probe' ? [['hung', view.last.tick]] : [];
    const wanted = [...(tick === undefined ? [] : [['overdue', tick]]), ...hung];
    return JSON.stringify(told) === JSON.stringify(wanted);
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
    const isSilent = ['unknown', 'overdue', 'paused', 'off'].includes(status);
    if (gauge(answers, 'interrupted') !== (isSilent ? undefined : Number(status === 'interrupted')))
      return false;
    const isLong = status === 'hung' || status === 'overrun';
    return (status === 'unknown' ? late === undefined : isLate) && (isLong ? overtime > 0 : overtime === 0);
  },
  page: ({ page }, status, tick) => {
    const [, tone, word] = /<span class="status (\w+)"><span[^>]*>.<\/span> (\w+)/.exec(page) ?? [];
    const hasTick = tick === undefined || page.includes(`&amp;at=${tick}"`);
    return word === status && (tone === 'bad') === ATTENTION.has(status) && hasTick;
  },
};

/** The readers that say something else than that the job is like this. */
export const dissenting = (answers: Answers, { status, tick }: Pattern): string[] =>
  Object.entries(READERS).flatMap(([name, agrees]) => (agrees(answers, status, tick) ? [] : [name]));
