import type { JobFacts, OverdueLine } from '../history.js';
import type { Finding } from './finding.js';
import { groupBy, type Life, type Model, READING, type Run, troublesIn } from './model.js';
import { dueAt, dueTicks } from './ticks.js';

/** How long an instance may take to ask the store, and to ask it again after a fault, ms. */
const SETTLED = 7_000;
/** What an instance is started again after. */
const ENDINGS: ReadonlySet<string> = new Set(['kill', 'blackout']);
/** How long an instance that has reported a miss may take to mark it as reported, ms. */
const MARKED = 2_000;
/** A process that is a little late, ms. */
const LATE = 1_000;

/**
 * An alarm is right: no instance had started the tick, or a newer one, when its time of grace was over, by the clock of the instance that
 * raised it, or, where that one is behind, by the store's or the first of the fleet's, whichever is later; and no run of the job went on when it came, by the clock of any instance. There is one for each tick over the fleet; two, if the
 * instance that told first was killed or cut off before it had marked that. And a
 * tick that nobody started is told: there is an entry of it, or an alarm, if an instance that knew the job was well when its time of grace was over, and
 * no newer tick was started before.
 *
 * After a data loss, and while the clock of the store is set, the store may know less: counted apart.
 */
export function checkAlarms(model: Model): Finding {
  const counts: Record<string, number> = {
    alarms: model.overdue.length,
    'ticks that were missed, and told': 0,
  };
  const count = (what: string): void => void (counts[what] = (counts[what] ?? 0) + 1);
  const runsOf = groupBy(model.runs, ({ job }) => job);
  const violations: string[] = [];
  for (const alarm of model.overdue) {
    const facts = model.jobs.get(alarm.job);
    const why =
      facts === undefined ? 'of no job' : falseAlarm(model, alarm, facts, runsOf.get(alarm.job) ?? []);
    if (why === undefined) continue;
    const excuse = excuseOf(model, alarm.tick - wallOf(model), alarm.m);
    if (excuse === undefined) violations.push(`${describe(alarm)}: ${why}`);
    else count(`false alarms, ${excuse}`);
  }
  for (const same of groupBy(model.overdue, ({ job, tick }) => `${job} ${tick}`).values()) {
    const [first, ...more] = same;
    if (first === undefined || more.length === 0) continue;
    const excuse = excuseOf(model, first.tick - wallOf(model), more.at(-1)?.m ?? 0);
    if (excuse === 'after a data loss' && more.length === 1) count('second alarms, after a data loss');
    else if (more.length === 1 && wasCutOff(model, first))
      count('second alarms, as the first instance lost the store, or died, before its mark');
    else violations.push(`${describe(first)}, and ${more.length} times more`);
  }
  violations.push(...untold(model, runsOf, count));
  return { check: 'alarms are right', violations, counts };
}

/** Whether something was wrong on an instance, or with the store, before its mark had to be there. */
const wasCutOff = (model: Model, { i, m }: OverdueLine): boolean =>
  troublesIn(model, m - READING, m + MARKED, i).length > 0;

const wallOf = ({ begin }: Model): number => begin.w - begin.m;

const describe = ({ i, n, m, job, tick }: OverdueLine): string =>
  `${i}.${n} told at ${m.toFixed(0)} that nobody started tick ${new Date(tick).toISOString()} of ${job}`;

/** What the store may have forgotten since, or judged by another time. */
function excuseOf(model: Model, from: number, to: number): string | undefined {
  const isIn = ({ from: begins, to: ends }: { from: number; to: number }): boolean =>
    begins <= to && ends >= from - READING;
  if (model.troubles.some((trouble) => trouble.loses && isIn(trouble))) return 'after a data loss';
  const stepped = model.troubles.some((trouble) => trouble.fault === 'store-clock' && isIn(trouble));
  return stepped ? 'by a clock that was set' : undefined;
}

/** Why an alarm is false; `undefined` if it is right. */
function falseAlarm(
  model: Model,
  { tick, i }: OverdueLine,
  facts: JobFacts,
  runs: readonly Run[],
): string | undefined {
  // An interval is due by the clock of the store; the ticks of a cron job come by that of each instance.
  const isInterval = facts.kind === 'interval';
  const byStore = tick - wallOf(model);
  const due = isInterval
    ? byStore
    : Math.min(dueAt(model, tick, i), Math.max(byStore, edges(model, tick)[0]));
  const over = due + facts.overdue - READING;
  // The run before begins when its answer comes, which takes its time; none begins within the interval of another.
  const wasStarted = (run: Run): boolean =>
    isInterval ? run.m > due - facts.every / 2 : (run.tick ?? -Infinity) >= tick;
  const started = runs.find((run) => run.m < over && wasStarted(run));
  if (started !== undefined) return `${started.i}.${started.n} had started it at ${started.m.toFixed(0)}`;
  const [first, last] = isInterval ? [due, due] : edges(model, tick);
  const covering = runs.find(
    ({ m, releasedAt = -Infinity }) => m < first - READING && releasedAt > last + READING,
  );
  if (covering === undefined || wasRecordLost(model, covering)) return undefined;
  return `a run on ${covering.i}.${covering.n} went on from ${covering.m.toFixed(0)} to ${covering.releasedAt?.toFixed(0)}`;
}

/** Whether the store may not know of the run, as it keeps the record of one some time after its release. */
function wasRecordLost(model: Model, { releasedAt = 0, downAt = Infinity, i }: Run): boolean {
  const { keptWithin } = model.begin;
  const by = releasedAt + keptWithin + READING;
  return keptWithin > 0 && (downAt <= by || troublesIn(model, releasedAt, by, i).length > 0);
}

/** When a tick comes on the instance with the fastest clock, and with the slowest. */
function edges(model: Model, tick: number): [number, number] {
  const all = Object.keys(model.begin.offsets).map((i) => dueAt(model, tick, i));
  return [Math.min(...all), Math.max(...all)];
}

/** Ticks that nobody started and of which nobody told, though somebody could. What may still run late is not judged. */
function untold(
  model: Model,
  runsOf: ReadonlyMap<string, readonly Run[]>,
  count: (what: string) => void,
): string[] {
  if (model.stored.length === 0) return [];
  // The store may have lost the entry since: an alarm tells, too.
  const entries = model.stored.flatMap(({ misses }) => misses);
  const told = new Set([...entries, ...model.overdue].map(({ job, tick }) => `${job} ${tick}`));
  const wrong: string[] = [];
  for (const facts of model.jobs.values()) {
    // Those that come more often have been started again by then.
    if (facts.every <= facts.overdue || facts.catchUp > 0 || facts.wait > 0) continue;
    for (const tick of dueTicks(model, facts)) {
      const runs = runsOf.get(facts.job) ?? [];
      const witness = model.lives.find((life) => couldTell(model, facts, tick, life, runs));
      if (witness === undefined) continue;
      if (told.has(`${facts.job} ${tick}`)) count('ticks that were missed, and told');
      else
        wrong.push(
          `nobody started tick ${new Date(tick).toISOString()} of ${facts.job}, nor told of it, though ${witness.i}.${witness.n} could`,
        );
    }
  }
  return wrong;
}

/**
 * Whether nobody had started the tick when this instance had to judge it: when its time of grace was over, or, if the instance was
 * started behind that or something was wrong then, when all was well again, and the next tick had not come.
 */
function couldTell(
  model: Model,
  { every, overdue }: JobFacts,
  tick: number,
  life: Life,
  runs: readonly Run[],
): boolean {
  const over = dueAt(model, tick, life.i) + overdue;
  const asks = wellFrom(model, life, Math.max(over, life.up));
  const [first, last] = edges(model, tick);
  if (life.until < asks + SETTLED || model.over < asks + SETTLED) return false;
  if (asks > over && asks + SETTLED >= first + every) return false;
  if (excuseOf(model, first - LATE, asks + SETTLED) !== undefined) return false;
  // The store knows a start of it.
  const known = runs.some((run) => run.m < first && !isForgotten(model, run, asks));
  const started = runs.some(
    (run) =>
      ((run.tick ?? -Infinity) >= tick && run.m <= asks + LATE) ||
      (run.m <= asks + LATE && Math.max(run.releasedAt ?? 0, run.deadline) >= Math.min(first, last)),
  );
  return known && !started;
}

/** From when on, and not before `from`, the instance and the store are well for as long as a question takes, and the second before. */
function wellFrom(model: Model, { i, up }: Life, from: number): number {
  const troubles = troublesIn(model, from - LATE, Infinity, i)
    // What ended when it was started is no trouble of its own.
    .filter(({ fault, from: begins }) => begins > up || !ENDINGS.has(fault))
    .sort((a, b) => a.from - b.from);
  let well = from;
  for (const trouble of troubles) {
    if (trouble.from > well + SETTLED) break;
    well = Math.max(well, trouble.to + LATE);
  }
  return well;
}

const isForgotten = ({ troubles }: Model, { m }: Run, by: number): boolean =>
  troubles.some(({ loses, from, to, since }) => loses && from <= by && to >= m && since <= m + READING);
