import type {
  BeginLine,
  ConfirmedLine,
  FiredLine,
  JobFacts,
  Line,
  SkippedLine,
  StallLine,
  StartLine,
} from '../history.js';

/** One run of a job: what its process wrote down of it. */
export interface Run extends StartLine {
  readonly facts: JobFacts;
  /** Every deadline of its lease that it was told of, in order. */
  readonly confirmed: readonly ConfirmedLine[];
  readonly endedAt: number | undefined;
  /** The last time at which it was told that it holds. */
  readonly held: number | undefined;
  readonly lostAt: number | undefined;
  readonly lostReason: string | undefined;
  /** When the store confirmed that the lease was given back. */
  readonly releasedAt: number | undefined;
  /** When its process ended. */
  readonly downAt: number | undefined;
  /** The deadline of its lease when it began. */
  readonly firstDeadline: number;
  /** The last deadline that was confirmed. */
  readonly deadline: number;
  /** Until when it had reason to believe: its end, its loss, its last deadline, its process's end, or what is judged. */
  readonly believedUntil: number;
}

/** One call that the scheduler made. */
export interface Call extends FiredLine {
  readonly skipped: SkippedLine | undefined;
  readonly run: Run | undefined;
}

/** A span of time in which something was wrong. */
export interface Trouble {
  readonly from: number;
  readonly to: number;
  readonly fault: string;
  /** Whom it hit; absent for the store, or the whole machine. */
  readonly i: string | undefined;
  readonly injected: boolean;
  readonly loses: boolean;
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
  readonly troubles: readonly Trouble[];
  readonly lives: readonly Life[];
  readonly jobs: ReadonlyMap<string, JobFacts>;
}

const lifeOf = ({ i, n }: { i: string; n: number }): string => `${i}.${n}`;
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
      downAt,
      firstDeadline: deadlines[0]?.until ?? -Infinity,
      deadline,
      believedUntil: Math.min(...[end?.m, loss?.m, downAt, last?.m].map((m = Infinity) => m), deadline),
    };
  });
  return {
    begin,
    over,
    runs,
    calls: buildCalls(of('fired'), of('skipped'), runs),
    troubles: troublesOf(of, over),
    lives,
    jobs,
  };
}

function buildCalls(
  fired: readonly FiredLine[],
  skipped: readonly SkippedLine[],
  runs: readonly Run[],
): Call[] {
  const callOf = (line: { i: string; n: number; call: number }): string => `${lifeOf(line)} ${line.call}`;
  const skips = new Map(skipped.map((line) => [callOf(line), line]));
  const started = new Map(runs.map((run) => [callOf(run), run]));
  return fired.map((line) => ({
    ...line,
    skipped: skips.get(callOf(line)),
    run: started.get(callOf(line)),
  }));
}

function troublesOf(of: <K extends Line['k']>(kind: K) => Of<K>[], over: number): Trouble[] {
  const cured = new Map(of('cured').map(({ id, m }) => [id, m]));
  const injected = of('fault').map(({ id, m, i, fault, loses }) => {
    const to = cured.get(id) ?? over;
    return { from: m, to, fault, i, loses, injected: true };
  });
  const stall = ({ from, m, i }: StallLine): Trouble => {
    return { from, to: m, fault: 'busy machine', i, loses: false, injected: false };
  };
  return [...injected, ...of('stall').map(stall)].sort((a, b) => a.from - b.from);
}

/** The items by a key of theirs. */
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

/** What was wrong with the store, or with this instance, at some time of a span. */
export function troublesIn(model: Model, from: number, to: number, i?: string): Trouble[] {
  return model.troubles.filter(
    (trouble) => (trouble.i === undefined || trouble.i === i) && trouble.from <= to && trouble.to >= from,
  );
}
