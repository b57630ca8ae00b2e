import type {
  BeginLine,
  BreakingLine,
  BrokenLine,
  ConfirmedLine,
  FiredLine,
  JobFacts,
  QueuedLine,
  Line,
  OverdueLine,
  PausedLine,
  QueueLine,
  RejectedLine,
  ResumingLine,
  SkippedLine,
  StallLine,
  StartLine,
  StoredLine,
  UncaughtLine,
} from '../history.js';

/** One run of a job, as its process recorded it. */
export interface Run extends StartLine {
  readonly facts: JobFacts;
  /** Every confirmed deadline of its lease, in order. */
  readonly confirmed: readonly ConfirmedLine[];
  readonly endedAt: number | undefined;
  /** The last time at which `assertLocked()` confirmed the lock. */
  readonly held: number | undefined;
  readonly lostAt: number | undefined;
  readonly lostReason: string | undefined;
  /** When the store confirmed the release of the lease. */
  readonly releasedAt: number | undefined;
  /** How it ended, as its process knew. */
  readonly outcome: string | undefined;
  /** When its process ended. */
  readonly downAt: number | undefined;
  /** The deadline of its lease when it began. */
  readonly firstDeadline: number;
  /** The last deadline that was confirmed. */
  readonly deadline: number;
  /**
   * Until when it could rely on its lease: its end, its loss, its last deadline, the end of its process, or of the judged
   * time.
   */
  readonly believedUntil: number;
}

/** One call that the scheduler made. */
export interface Call extends FiredLine {
  readonly skipped: SkippedLine | undefined;
  /** All refusals of the call, including those of later tries. */
  readonly refusals: readonly SkippedLine[];
  readonly run: Run | undefined;
}

/** A lease as its process knew it, with or without a run. */
export interface ToldLease {
  readonly confirmed: readonly ConfirmedLine[];
  readonly run: Run | undefined;
}

/** The clock of the store was set forward, or back if `by` is negative, ms. */
export interface Step {
  readonly m: number;
  readonly by: number;
}

/** A span of time in which something was wrong. */
export interface Trouble {
  readonly from: number;
  readonly to: number;
  readonly fault: string;
  /** The instance that it hit; absent for the store, or the whole machine. */
  readonly i: string | undefined;
  readonly injected: boolean;
  readonly loses: boolean;
  /** For a partial data loss: writes before this time are kept. */
  readonly since: number;
}

/** One life of an instance. */
export interface Life {
  readonly i: string;
  readonly n: number;
  readonly up: number;
  /** When it was asked to end, or had ended. */
  readonly until: number;
}

/** A history, put in order. */
export interface Model {
  readonly begin: BeginLine;
  readonly over: number;
  readonly runs: readonly Run[];
  readonly calls: readonly Call[];
  /** The calls of all jobs that share a lock, by its name. */
  readonly callsOf: ReadonlyMap<string | undefined, readonly Call[]>;
  readonly leases: readonly ToldLease[];
  readonly refusals: readonly SkippedLine[];
  readonly failures: readonly (RejectedLine | UncaughtLine)[];
  readonly steps: readonly Step[];
  readonly troubles: readonly Trouble[];
  readonly lives: readonly Life[];
  readonly jobs: ReadonlyMap<string, JobFacts>;
  /** When each call stood in line, and when its signal was aborted: see {@link callOf}. */
  readonly waiting: ReadonlyMap<string, number>;
  readonly aborted: ReadonlyMap<string, number>;
  readonly queued: readonly QueuedLine[];
  readonly queues: readonly QueueLine[];
  readonly overdue: readonly OverdueLine[];
  readonly paused: readonly PausedLine[];
  readonly resuming: readonly ResumingLine[];
  readonly breaking: readonly BreakingLine[];
  readonly broken: readonly BrokenLine[];
  /** What the store has kept; nothing if the run was ended by force. */
  readonly stored: readonly StoredLine[];
}

const lifeOf = ({ i, n }: { i: string; n: number }): string => `${i}.${n}`;
/** Names a call. */
export const callOf = (line: { i: string; n: number; call: number }): string =>
  `${lifeOf(line)} ${line.call}`;
const leaseOf = (line: { i: string; n: number; lock: string; token: number }): string =>
  `${lifeOf(line)} ${line.lock} ${line.token}`;

type Of<K extends Line['k']> = Extract<Line, { k: K }>;

/** @throws if the history has no beginning */
export function buildModel(lines: readonly Line[]): Model {
  const of = <K extends Line['k']>(kind: K): Of<K>[] =>
    lines.filter((line): line is Of<K> => line.k === kind);
  const [begin] = of('begin');
  if (begin === undefined)
    throw new Error('This history has no beginning: the line of the driver is missing');
  const [last] = of('over');
  const over = last?.m ?? Math.max(...lines.map(({ m }) => m));
  const jobs = new Map(begin.jobs.map((facts) => [facts.job, facts]));
  const down = new Map(of('down').map((line) => [lifeOf(line), line.m]));
  const stopping = new Map(of('stopping').map((line) => [lifeOf(line), line.m]));
  const lives = of('up').map(({ i, n, m }) => {
    const life = lifeOf({ i, n });
    return { i, n, up: m, until: Math.min(stopping.get(life) ?? Infinity, down.get(life) ?? Infinity) };
  });
  const confirmed = groupBy(of('confirmed'), leaseOf);
  const lost = new Map(of('lost').map((line) => [leaseOf(line), line]));
  const released = new Map(
    of('released').flatMap((line) => (line.confirmed ? [[leaseOf(line), line.m] as const] : [])),
  );
  const outcomes = new Map(of('released').map((line) => [leaseOf(line), line.outcome]));
  const ended = new Map(of('end').map((line) => [leaseOf(line), line]));
  const runs = of('start').map((start): Run => {
    const facts = jobs.get(start.job);
    if (facts === undefined)
      throw new Error(`The history has a job that its beginning does not name: ${start.job}`);
    const lease = leaseOf(start);
    const deadlines = confirmed.get(lease) ?? [];
    const end = ended.get(lease);
    const loss = lost.get(lease);
    const downAt = down.get(lifeOf(start));
    const deadline = Math.max(...deadlines.map(({ until }) => until));
    return {
      ...start,
      facts,
      confirmed: deadlines,
      endedAt: end?.m,
      held: end?.held,
      lostAt: loss?.m,
      lostReason: loss?.reason,
      releasedAt: released.get(lease),
      outcome: outcomes.get(lease),
      downAt,
      firstDeadline: deadlines[0]?.until ?? -Infinity,
      deadline,
      believedUntil: Math.min(...[end?.m, loss?.m, downAt, last?.m].map((m = Infinity) => m), deadline),
    };
  });
  const runOf = new Map(runs.map((run) => [leaseOf(run), run]));
  const calls = buildCalls(of('fired'), of('skipped'), runs);
  return {
    begin,
    over,
    runs,
    calls,
    callsOf: groupBy(calls, ({ job }) => jobs.get(job)?.lock),
    leases: [...confirmed].map(([lease, lines]) => ({ confirmed: lines, run: runOf.get(lease) })),
    refusals: of('skipped'),
    failures: [...of('rejected'), ...of('uncaught')],
    steps: stepsOf(of),
    troubles: troublesOf(of, over),
    lives,
    jobs,
    waiting: new Map(of('waiting').map((line) => [callOf(line), line.m])),
    queued: of('queued'),
    queues: of('queue'),
    overdue: of('overdue'),
    paused: of('paused'),
    resuming: of('resuming'),
    breaking: of('breaking'),
    broken: of('broken'),
    stored: of('stored'),
    aborted: new Map(of('aborted').map((line) => [callOf(line), line.m])),
  };
}

function buildCalls(
  fired: readonly FiredLine[],
  skipped: readonly SkippedLine[],
  runs: readonly Run[],
): Call[] {
  const skips = groupBy(skipped, callOf);
  const started = new Map(runs.map((run) => [callOf(run), run]));
  return fired.map((line) => ({
    ...line,
    skipped: skips.get(callOf(line))?.at(-1),
    refusals: skips.get(callOf(line)) ?? [],
    run: started.get(callOf(line)),
  }));
}

function troublesOf(of: <K extends Line['k']>(kind: K) => Of<K>[], over: number): Trouble[] {
  const cured = new Map(of('cured').map(({ id, m }) => [id, m]));
  const injected = of('fault').map(({ id, m, i, fault, loses, since = -Infinity }) => {
    const to = cured.get(id) ?? over;
    return { from: m, to, fault, i, loses, since, injected: true };
  });
  const stall = ({ from, m, i }: StallLine): Trouble => {
    return { from, to: m, fault: 'busy machine', i, loses: false, since: -Infinity, injected: false };
  };
  return [...injected, ...of('stall').map(stall)].sort((a, b) => a.from - b.from);
}

function stepsOf(of: <K extends Line['k']>(kind: K) => Of<K>[]): Step[] {
  const cured = new Map(of('cured').map(({ id, m }) => [id, m]));
  return of('fault').flatMap(({ id, m, ahead }) => {
    if (ahead === undefined) return [];
    const back = cured.get(id);
    return [{ m, by: ahead }, ...(back === undefined ? [] : [{ m: back, by: -ahead }])];
  });
}

/** Whether somebody may have ended the lease of a run by then: whoever was killed when it ended the lease has told nobody. */
export const mayBeBroken = (
  model: Model,
  { lock, token }: Pick<Run, 'lock' | 'token'>,
  by: number,
): boolean =>
  model.breaking.some((line) => line.lock === lock && line.token === token && line.m <= by + READING);

/** Whether somebody has ended the lease of a run. */
export const wasBroken = ({ broken }: Model, { lock, token }: Pick<Run, 'lock' | 'token'>): boolean =>
  broken.some((line) => line.lock === lock && line.token === token);

/** Groups items by a key. */
export function groupBy<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

/** Whether the store may have forgotten what was written at this time, or so much later, ms. */
export function mayForget({ troubles }: Model, m: number, later = 0): boolean {
  return troubles.some(({ loses, since, to }) => loses && since - READING - later <= m && to + READING >= m);
}

/** Faults that change nothing, so they explain nothing. The checks handle steps of the clock by name. */
const HARMLESS: ReadonlySet<string> = new Set(['throwing-logger', 'store-clock']);

/** The troubles of the store, or of this instance, that overlap a span. */
export function troublesIn(model: Model, from: number, to: number, i?: string): Trouble[] {
  return model.troubles.filter(
    (trouble) =>
      (trouble.i === undefined || trouble.i === i) &&
      trouble.from <= to &&
      trouble.to >= from &&
      !HARMLESS.has(trouble.fault),
  );
}

/**
 * When the call of a run was made; for a call that the library made again, the earliest possible time. The grant is later.
 */
export function askedAt({ calls }: Model, { i, n, call, m, facts }: Run): number {
  return calls.find((one) => one.i === i && one.n === n && one.call === call)?.m ?? m - facts.storeTimeout;
}

/** Two lines of different processes may be written in the wrong order, ms. */
export const READING = 20;

/** By how much the clock of the store was set back in a span, ms: leases live on for that long. */
export function setBack({ steps }: Model, from: number, to: number): number {
  const back = steps.filter(({ m, by }) => by < 0 && m >= from - READING && m <= to + READING);
  return back.reduce((sum, { by }) => sum - by, 0);
}

/** How much longer a lease lives in the store than its holder may rely on it, as documented: 1 % of the ttl and 2 ms. */
export const drift = (ttl: number): number => 0.01 * ttl + 2;
