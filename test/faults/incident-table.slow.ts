import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { isDeepStrictEqual } from 'node:util';
import { GROUNDS, type Ground } from './support/incident-places.js';
import { LEAD, type Member, type Readings, Stage, TooSlow } from './support/incident-stage.js';
import * as stories from './support/incident-stories.js';
import { until } from '../support/until.js';

/*
 * Is this job all right? Incidents that an outside trial has staged, on real processes, and what all readers of the one judgement say: the
 * programs `status` and `why`, the events, health and the metrics. All incidents go on at the same time, a few of each store.
 *
 * These are shown by tests without processes:
 *
 * 13 the end of an outage: unit/insight/watch.spec, "the ticks that an outage has cost are told of when their grace is over …"
 * 14, 15 a tick before a changed schedule, and what is too old: unit/insight/why.spec
 * 16 reasons of an alarm: unit/insight/watch.spec, "an alarm has at least the own reason …"; and each row with `overdue` here
 * 19 no start is known: unit/insight/readers.spec, "nobody started its very first tick"; and the rows 18 and 3 here
 */

/** Of health and metrics only what is not as it is of a job that is well. */
interface Answers {
  readonly status: string;
  /** The exit code of `status`. */
  readonly exit: number;
  /** The cause that `why` names. */
  readonly why: string;
  /** What the whole fleet has told. */
  readonly events: readonly string[];
  readonly health: string;
  readonly metrics: string;
}

interface Row extends Answers {
  readonly incident: string;
  readonly what: string;
  readonly story: stories.Story;
  /** What the sentence of `why` has to say. */
  readonly sentence: RegExp;
  /** For how long it may take until all say so, ms. */
  readonly patience?: number;
  /**
   * The store has granted the tick late. What the shell says, which reaches it, depends on whether that could be taken back over a network
   * as slow as that: `running` until then, `overdue` after it.
   */
  readonly takenBackLate?: true;
}

const LATE = { status: 'overdue', exit: 1, health: 'degraded: overdue', metrics: 'overdue > 0' } as const;
const OUTAGE = {
  ...LATE,
  why: 'store-away',
  events: ['outage-ended', 'overdue: store-unavailable'],
  sentence: /the store was away/,
} as const;

// prettier-ignore
const ROWS: readonly Row[] = [
  { incident: '2', what: 'it ignores its timeout, and hangs on each instance', story: stories.hangsEverywhere, patience: 80_000,
    status: 'hung', exit: 1, why: 'hung', events: ['hung', 'hung', 'interrupted'], health: 'degraded: hung', metrics: 'overtime > 0', sentence: /api-1.*api-2|api-2.*api-1/ },
  { incident: '6', what: 'who is to tell of a miss is killed before that', story: stories.tellerDies, ...LATE,
    why: 'no-instance', events: ['overdue: disabled, disabled'], sentence: /worker/ },
  { incident: '12', what: 'the store answers later than anybody waits', story: stories.slowStore,
    status: 'overdue', exit: 1, why: 'unknown', events: [], health: 'degraded: store away', metrics: 'available 0', sentence: /./, takenBackLate: true },
  { incident: '1', what: 'an outage at the tick, and no call of a lock after it', story: stories.outage, ...OUTAGE },
  { incident: '18', what: 'an outage at the first tick ever', story: stories.firstTickLost, ...OUTAGE },
  { incident: '3', what: 'the only worker dies beside an instance that has it disabled', story: stories.onlyWorkerDies, ...LATE,
    why: 'no-instance', events: ['overdue: disabled'], sentence: /worker/ },
  { incident: '3', what: 'the same, and the clock of that instance is half an hour behind', story: stories.onlyWorkerDiesClockBehind, ...LATE,
    why: 'no-instance', events: ['overdue: disabled'], sentence: /worker/ },
  { incident: '29', what: 'the same with beats that come with ticks', story: stories.onlyWorkerDiesWithTicks, ...LATE,
    why: 'unknown', events: ['overdue: disabled'], sentence: /./ },
  { incident: '4', what: 'an instance starts while it is overdue', story: stories.newcomer, ...LATE,
    why: 'no-instance', events: ['overdue: disabled'], sentence: /worker/ },
  { incident: '5', what: 'all were down when its tick came', story: stories.allDown, ...LATE,
    why: 'no-instance', events: ['overdue: not-up'], sentence: /old.*/ },
  { incident: '9', what: 'its only instance restarts under its id, after its tick', story: stories.restartUnderItsId, ...LATE,
    why: 'no-instance', events: ['overdue: not-up'], sentence: /./ },
  { incident: '11', what: 'a run is killed, and the tick after it is missed', story: stories.interruptedThenMissed, ...LATE,
    why: 'no-instance', events: ['overdue: not-up'], sentence: /before/ },
  { incident: '10', what: 'the clock of its only instance is an hour ahead', story: stories.clockAhead, ...LATE,
    why: 'missed', events: ['overdue: clock-skew'], sentence: /clock/ },
  { incident: '10', what: 'the clock of its only instance is half an hour behind', story: stories.clockBehind,
    status: 'disagree', exit: 1, why: 'clocks-behind', events: [], health: 'degraded: attention', metrics: '', sentence: /clock.*behind/ },
  { incident: '17', what: 'two instances do not agree on its time zone', story: stories.twoZones,
    status: 'disagree', exit: 1, why: 'schedules-differ', events: [], health: 'degraded: attention', metrics: '', sentence: /UTC.*Asia\/Kolkata|Asia\/Kolkata.*UTC/ },
  { incident: 'killed', what: 'a run is killed in the middle', story: stories.interrupted,
    status: 'interrupted', exit: 1, why: 'interrupted', events: [], health: 'degraded: attention', metrics: 'interrupted > 0', sentence: /before/ },
  { incident: 'killed', what: 'and the next tick is started', story: stories.interruptedThenRun,
    status: 'ok', exit: 0, why: 'ran', events: ['interrupted'], health: 'up', metrics: 'interruptions > 0', sentence: /after/ },
  { incident: '7', what: 'each instance runs each tick', story: stories.runsEverywhere,
    status: 'ok', exit: 0, why: 'ran', events: [], health: 'up', metrics: '', sentence: /api/ },
  { incident: '8', what: 'a deploy has switched it off everywhere', story: stories.switchedOff,
    status: 'off', exit: 0, why: 'off', events: [], health: 'up', metrics: '', sentence: /./ },
];

/** How many incidents of one store go on at a time, but for those that take long. */
const AT_A_TIME = 2;
/** How often a story may begin anew, because the machine was too slow for it. */
const TRIES = 4;
const PATIENCE = 25_000;

jest.setTimeout(150_000);

const TOLD = ['overdue', 'hung', 'interrupted', 'outage-ended'];

/** What the members have told so far. */
const eventsOf = ({ members }: Stage): string[] =>
  TOLD.flatMap((type) =>
    members.flatMap((member) =>
      member.heard(`event:${type}`).map(({ reasons }) => {
        const why = (reasons as { reason: string }[] | undefined)?.map(({ reason }) => reason).sort();
        return why === undefined ? type : `${type}: ${why.join(', ')}`;
      }),
    ),
  ).sort();

function healthOf({
  health: { status, store, overdue, hung, failing, attention, unknown },
}: Readings): string {
  const lists = { overdue, hung, failing, attention, unknown };
  // While the store is away it depends on the moment what else is known.
  if (store === 'away') return `${status}: store away`;
  const found = Object.entries(lists).filter(([, list]) => list.length > 0);
  return found.length === 0 ? status : `${status}: ${found.map(([name]) => name).join(', ')}`;
}

function metricsOf({
  gauges: { overdue, overtime, interruptions = 0, interrupted = 0, available },
}: Readings): string {
  if (available === 0) return 'available 0';
  const told = Object.entries({ overdue, overtime, interruptions, interrupted }).flatMap(([name, value]) =>
    value === undefined ? [`no ${name}`] : value > 0 ? [`${name} > 0`] : [],
  );
  return told.join(', ');
}

/** What is known without the shell. All that are looked at have to agree. */
async function heardOn(stage: Stage, members: Awaited<ReturnType<stories.Story>>): Promise<Partial<Answers>> {
  const readings = await Promise.all(members.map((member) => member.read()));
  const said = readings.map((reading) => ({ health: healthOf(reading), metrics: metricsOf(reading) }));
  const [first] = said;
  const agree = said.every((one) => isDeepStrictEqual(one, first));
  const { health, metrics } = agree && first ? first : joined(said);
  return { events: eventsOf(stage), health, metrics };
}

const joined = (
  said: readonly { health: string; metrics: string }[],
): { health: string; metrics: string } => ({
  health: said.map(({ health }) => health).join(' | '),
  metrics: said.map(({ metrics }) => metrics).join(' | '),
});

async function shellOn(stage: Stage): Promise<Pick<Row, 'status' | 'exit' | 'why'> & { sentence: string }> {
  const [status, why] = [await stage.shell('status'), await stage.shell('why')];
  const [job] = (status.said as { jobs: { status: string }[] }).jobs;
  const { cause, sentence } = why.said as { cause: string; sentence: string };
  return { status: String(job?.status), exit: Number(status.code), why: cause, sentence };
}

type Seen = Answers & { readonly sentence: string; readonly least: readonly (number | null)[] };

async function play(row: Row, stage: Stage): Promise<Seen> {
  const members = await row.story(stage);
  const { events, health, metrics } = row;
  const local = async () => heardOn(stage, members);
  const isSo = async () => isDeepStrictEqual(await local(), { events, health, metrics });
  // What they say in the end is compared below.
  await until(isSo, { timeout: row.patience ?? PATIENCE, interval: 50 }).catch(() => undefined);
  const isTold = async () => {
    const { status, exit, why, sentence } = await shellOn(stage);
    const isSaid = row.sentence.test(sentence);
    return isSaid && isDeepStrictEqual([status, exit, why], [row.status, row.exit, row.why]);
  };
  await until(isTold, { timeout: row.patience ?? PATIENCE, interval: 500 }).catch(() => undefined);
  const shell = await shellOn(stage);
  const readings = await Promise.all(members.map((member) => member.read()));
  const seen = { ...shell, ...(await local()), least: readings.map(({ least }) => least) } as Seen;
  await stage.clear();
  return seen;
}

async function perform(row: Row, ground: Ground): Promise<Seen> {
  for (let left = TRIES; ; left--) {
    const stage = new Stage(await ground.place(), idle, LEAD * (TRIES + 1 - left));
    try {
      return await play(row, stage);
    } catch (error) {
      await stage.drop();
      if (left === 1 || !(error instanceof TooSlow)) throw error;
    }
  }
}

/** What is seen on each store, as it goes on. */
const shows = new Map<string, Map<Row, Promise<Seen>>>();
const grounds: Ground[] = [];
const idle: Member[] = [];

/** The rows one after the other in a few lanes; those that take long beside them. */
function show(ground: Ground): Map<Row, Promise<Seen>> {
  const lanes = Array.from({ length: AT_A_TIME }, () => Promise.resolve<unknown>(undefined));
  return new Map(
    ROWS.map((row, index) => {
      const lane = index % AT_A_TIME;
      const before = row.patience === undefined ? lanes[lane] : undefined;
      const seen = Promise.resolve(before).then(() => perform(row, ground));
      const over = seen.catch(() => undefined);
      if (row.patience === undefined) lanes[lane] = over;
      return [row, seen] as const;
    }),
  );
}

async function shownOn(name: string, row: Row): Promise<Seen> {
  const seen = await shows.get(name)?.get(row);
  if (seen === undefined) throw new Error(`Nothing was shown on ${name}`);
  return seen;
}

beforeAll(async () => {
  await Promise.all(
    GROUNDS.map(async ({ name, start }) => {
      const ground = await start();
      grounds.push(ground);
      shows.set(name, show(ground));
    }),
  );
});
afterAll(async () => {
  await Promise.allSettled([...shows.values()].flatMap((seen) => [...seen.values()]));
  // An exception that nobody handles, or anything that is left open, shows here.
  await Promise.all(idle.map((member) => member.close()));
  await Promise.all(grounds.map((ground) => ground.stop()));
});

describe.each(GROUNDS)('on $name', ({ name }) => {
  test.each(ROWS)('$incident: $what', async (row) => {
    const {
      incident,
      what: _what,
      story: _story,
      patience: _patience,
      sentence,
      takenBackLate,
      ...all
    } = row;
    const { least, ...answers } = await shownOn(name, row);
    const isRunning = takenBackLate === true && answers.status === 'running';
    const expected = isRunning ? { ...all, status: 'running', exit: 0, why: 'running' } : all;
    expect(answers).toEqual({ ...expected, sentence: expect.stringMatching(sentence) });
    // Whoever starts says nothing until it knows: the alert takes the least.
    if (incident === '4') expect(least.at(-1)).toBeGreaterThan(0);
  });
});
