import type { FiredLine, JobFacts } from '../history.js';
import type { Finding } from './finding.js';
import { type Call, callOf, groupBy, type Model, READING, type Run, troublesIn } from './model.js';
import { freedAt } from './spans.js';

/** How long after a fault its consequences may still come: connections are made again, ms. */
const AFTERMATH = 3_000;
/**
 * The same for whether a call is passed over, ms: an ask, or a leave, that was given up may hang for 5 s until its connection does. Its
 * call is a dead one then, for which the lock is kept for a while, and after which its process is passed over.
 */
const HANGING = 8_000;
/** How long a lock is kept for a call whose turn has come, ms: a process that does not come costs as much. */
const KEPT = 2_000;
/** For an answer of the store, and a hand-over, ms. */
const GRACE = 1_000;
/** How long a hand-over takes at most in the middle, ms: with hints, and where the store is asked four times a second. */
const PROMPT = 100;
const PROMPT_BY_ASKING = 350;
/** Fewer hand-overs tell nothing of their middle. */
const ENOUGH = 20;
/** After a data loss the line may have calls of the past, which have to be passed over, ms. */
const FORGOTTEN = 15_000;

/** A call that stands in line, or stood there. */
interface Turn extends Call {
  readonly facts: JobFacts;
  readonly waits: number;
  readonly rank: number;
  /** When the store had it in line for sure; Infinity if it never had. */
  readonly entered: number;
  /** When its signal was aborted; Infinity if it was not. */
  readonly aborted: number;
  /** When it was refused for good, had its turn, or its process ended. */
  readonly over: number;
  readonly refusal: string | undefined;
}

/** A lock passed from one run to the next. */
interface HandOver {
  readonly from: Run;
  readonly to: Run;
  readonly turn: Turn | undefined;
}

/**
 * Calls that wait have their turn in their order: none before one that came earlier, or that goes first, and no call that does not wait
 * before one that does. A free lock is soon taken if a call waits for it. Each wait ends by its limit, or soon after its signal, and
 * nothing runs afterwards.
 *
 * Whoever cannot come when its turn has come is passed over: a call is not judged while its instance, or the store, is in trouble.
 */
export function checkWaiting(model: Model): Finding {
  const turns = turnsOf(model);
  const handOvers = handOversOf(model, turns);
  const prompt: number[] = [];
  const violations = turns.flatMap((turn) => (turn.waits > 0 ? wrongEnd(model, turn) : []));
  for (const handOver of handOvers) {
    const inLine = turns.filter((turn) => standsThrough(turn, handOver) && wasWell(model, turn, handOver));
    const passed = inLine.find((turn) => goesBefore(turn, handOver));
    if (passed !== undefined)
      violations.push(`${describe(passed)} was passed over: ${describeHandOver(handOver)}`);
    const [took, most] = [tookOf(handOver), longest(model, handOver)];
    const [waiting] = inLine;
    if (waiting !== undefined && took > most)
      violations.push(
        `the lock was free for ${took.toFixed(0)} ms, while ${describe(waiting)} waited: ${describeHandOver(handOver)}`,
      );
    if (isCalm(model, handOver)) prompt.push(took);
  }
  prompt.sort((a, b) => a - b);
  const median = prompt[Math.floor(prompt.length / 2)] ?? 0;
  const { hints, roundTrip = 0 } = model.begin;
  // The release, and the answer to whoever it has called.
  const most = (hints ? PROMPT : PROMPT_BY_ASKING) + 2 * roundTrip;
  if (prompt.length >= ENOUGH && median > most)
    violations.push(`hand-overs took ${median.toFixed(0)} ms in the middle, not ${most} ms at most`);
  return { check: 'calls in line have their turn', violations, counts: countsOf(turns, prompt) };
}

function countsOf(turns: readonly Turn[], prompt: readonly number[]): Finding['counts'] {
  const inLine = turns.filter(({ entered }) => entered < Infinity);
  const ended = (reason: string): number => inLine.filter(({ refusal }) => refusal === reason).length;
  const at = (share: number): string => {
    const took = prompt[Math.min(prompt.length - 1, Math.floor(prompt.length * share))];
    return took === undefined ? '-' : `${took.toFixed(0)} ms`;
  };
  return {
    'calls in line': inLine.length,
    'had their turn': inLine.filter(({ run }) => run !== undefined).length,
    'waited until their limit': ended('held') + ended('cooling-down'),
    aborted: ended('aborted'),
    'hand-overs without a fault near': prompt.length,
    'time of such a hand-over, median': at(0.5),
    'time of such a hand-over, p99': at(0.99),
  };
}

/** All calls of locks for which calls may wait, those that do not wait among them. */
function turnsOf(model: Model): Turn[] {
  const { calls, jobs, waiting, aborted } = model;
  const locks = new Set([...jobs.values()].flatMap(({ wait, lock }) => (wait > 0 ? [lock] : [])));
  return calls.flatMap((call): Turn[] => {
    const facts = jobs.get(call.job);
    if (facts === undefined || !locks.has(facts.lock)) return [];
    const id = callOf(call);
    const { run, skipped } = call;
    return [
      {
        ...call,
        facts,
        waits: call.wait ?? facts.wait,
        rank: call.priority ?? facts.priority,
        entered: waiting.get(id) ?? Infinity,
        aborted: aborted.get(id) ?? Infinity,
        over: run?.m ?? skipped?.m ?? downAt(model, call),
        refusal: skipped?.reason,
      },
    ];
  });
}

function downAt({ lives, over }: Model, { i, n }: FiredLine): number {
  return Math.min(over, lives.find((life) => life.i === i && life.n === n)?.until ?? over);
}

/** Each lock from run to run, but for runs that had to wait until a lease was over. */
function handOversOf({ runs, over }: Model, turns: readonly Turn[]): HandOver[] {
  const locks = new Set(turns.map(({ facts }) => facts.lock));
  const turnOf = new Map(turns.map((turn) => [callOf(turn), turn]));
  const ofLocks = runs.filter(({ lock, m }) => locks.has(lock) && m <= over);
  return [...groupBy(ofLocks, ({ lock }) => lock).values()].flatMap((ofLock) =>
    ofLock.slice(1).flatMap((to, index): HandOver[] => {
      const from = ofLock[index] as Run;
      return from.endedAt !== undefined && from.lostAt === undefined && from.endedAt < to.m
        ? [{ from, to, turn: turnOf.get(callOf(to)) }]
        : [];
    }),
  );
}

/** When the first run was over: its lock is given back a moment later. */
const endOf = ({ from }: HandOver): number => from.endedAt as number;

/** How long the lock was free. */
const tookOf = (handOver: HandOver): number => handOver.to.m - endOf(handOver);

/** Whether a call was in line before the lock was free, until it was taken. */
function standsThrough(turn: Turn, handOver: HandOver): boolean {
  const { to } = handOver;
  const until = Math.min(turn.over, turn.aborted, turn.m + turn.waits);
  return turn.facts.lock === to.lock && turn.entered + READING < endOf(handOver) && until > to.m + READING;
}

function wasWell(model: Model, { i, m }: Turn, handOver: HandOver): boolean {
  const stepped = model.steps.some((step) => step.m >= m - HANGING && step.m <= handOver.to.m + READING);
  return !stepped && troublesIn(model, endOf(handOver) - HANGING, handOver.to.m, i).length === 0;
}

/** Whether this call, which was left in line, was to come before the one that had its turn. */
function goesBefore({ entered, rank }: Turn, { turn }: HandOver): boolean {
  if (turn === undefined) return false;
  if (turn.waits === 0 || rank > turn.rank) return true;
  return rank === turn.rank && entered + READING < turn.m;
}

/** How long the lock may be free, ms: each process that does not come when it is called costs a while. */
function longest(model: Model, handOver: HandOver): number {
  const [from, to] = [endOf(handOver), handOver.to.m];
  const near = model.troubles.filter((one) => one.from <= to && one.to >= from - AFTERMATH);
  const ended = model.lives.filter(({ until }) => until <= to && until >= from - AFTERMATH);
  const late = new Set([...near, ...ended].map(({ i }) => i));
  const forgotten = model.troubles.some((one) => one.loses && one.from <= to && one.to >= from - FORGOTTEN);
  const kept = freedAt(model, handOver.from) === undefined ? handOver.from.facts.ttl : 0;
  return forgotten ? Infinity : GRACE + kept + KEPT * late.size;
}

/** Whether the call was in line when its turn came, and nothing was wrong anywhere. */
function isCalm(model: Model, { from, to, turn }: HandOver): boolean {
  const end = from.endedAt as number;
  const since = end - AFTERMATH;
  if (turn === undefined || !(turn.entered + READING < end)) return false;
  const instances = Object.keys(model.begin.offsets);
  const wrong = instances.some((i) => troublesIn(model, since, to.m, i).length > 0);
  return (
    !wrong &&
    model.lives.every(({ up, until }) => (up <= since && until > to.m) || up > to.m || until < since)
  );
}

/** What is wrong with how a call ended. */
function wrongEnd(model: Model, turn: Turn): string[] {
  const { m, waits, aborted, facts, run, refusals, refusal, over } = turn;
  const limit = Math.min(m + waits, aborted) + facts.storeTimeout + GRACE;
  const [told] = refusals;
  if (run !== undefined && told !== undefined && told.m < run.m)
    return [`${describe(turn)} ran although it had been refused (${told.reason})`];
  if (run !== undefined && run.m > aborted) return [`${describe(turn)} ran although its signal had aborted`];
  // An instance that is down, frozen or busy ends nothing in time.
  const excused = troublesIn(model, limit - GRACE - facts.storeTimeout, limit, turn.i).length > 0;
  if (over <= limit || limit >= model.over || excused) return [];
  const ended = run === undefined ? (refusal ?? 'it has not ended') : 'it ran';
  return [`${describe(turn)} went on ${(over - limit).toFixed(0)} ms too long: ${ended}`];
}

function describe({ job, i, n, m, rank, waits }: Turn): string {
  return `${job} on ${i}.${n} (since ${m.toFixed(0)}, priority ${rank}, waits ${waits} ms)`;
}

function describeHandOver(handOver: HandOver): string {
  const { to, turn } = handOver;
  const whom = turn === undefined ? `${to.job} on ${to.i}.${to.n}` : describe(turn);
  return `at ${to.m.toFixed(0)} ${whom} had its turn, ${tookOf(handOver).toFixed(0)} ms after ${handOver.from.i}.${handOver.from.n}`;
}
