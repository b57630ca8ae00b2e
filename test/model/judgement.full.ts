import { describe, expect, test } from '@jest/globals';
import { assert, property } from 'fast-check';
import { datesOf } from '../../lib/insight/dates.js';
import type { JobFacts } from '../../lib/insight/facts.js';
import { judge, type Judgement } from '../../lib/insight/judgement.js';
import { viewOf } from '../../lib/insight/view.js';
import type { JobStatus } from '../../lib/insight/types.js';
import { jobFacts } from './support/fact-arbitraries.js';
import { parameters } from './support/parameters.js';

/*
 * What has to be true of the judgement of a job, whatever is known. Each law takes the judge as an argument, so that one that breaks the
 * law can be shown to be found.
 */

type Judge = (facts: JobFacts) => Judgement;
type Law = (judge: Judge, facts: JobFacts) => void;

const RUNS = 5_000;
/** Nobody has to look at a job like this. */
const WELL = new Set<JobStatus>(['ok', 'new', 'running', 'off']);
const isWell = (judgement: Judgement): boolean => WELL.has(judgement.status);

/** Facts that say less than these, or something worse, or are older. */
const WORSE: Readonly<Record<string, (facts: JobFacts) => JobFacts>> = {
  'the store has answered an hour sooner': (facts) =>
    facts.asOf === undefined ? facts : { ...facts, asOf: facts.asOf - 3_600_000 },
  'the store has not answered': ({ asOf: _asOf, ...facts }) => facts,
  'the store refuses to tell of its runs': (facts) => ({ ...facts, refusal: 'It has no column data.' }),
  'the last run that completed has failed': (facts) => lastRunIs(facts, 'failed'),
  'the last run that completed was interrupted': (facts) => lastRunIs(facts, 'interrupted'),
  'a run that goes on hangs': (facts) => ({
    ...facts,
    runs: facts.runs.map((run) => (run.outcome === 'running' ? { ...run, hung: true } : run)),
  }),
  'this instance has seen nothing by itself': ({ seen: _seen, ...facts }) => facts,
  'time goes on, and nobody tells anything': (facts) => {
    const later = { ...facts, time: facts.time + 90_000 };
    return isCovered(later) ? facts : later;
  },
};

/** Whether the newest tick whose time of grace is over needed no start, as a run of the job went on: that is news, and good ones. */
function isCovered(facts: JobFacts): boolean {
  const { known, time, runs } = facts;
  if (known.kind !== 'cron') return false;
  const tick = datesOf(facts).newest(time - (known.overdue || 0));
  return (
    tick !== undefined &&
    runs.some(({ startedAt, endedAt = Infinity }) => startedAt <= tick && endedAt >= tick)
  );
}

function lastRunIs(facts: JobFacts, outcome: 'failed' | 'interrupted'): JobFacts {
  const [last, ...others] = facts.runs;
  return last?.outcome === 'completed' ? { ...facts, runs: [{ ...last, outcome }, ...others] } : facts;
}

const neverOkWithoutFacts: Law = (by, facts) => {
  const { asOf, refusal, known } = facts;
  const dates = datesOf(facts);
  const isDateless =
    known.kind === 'cron' && dates.newest(facts.time) === undefined && dates.next(facts.time) === Infinity;
  const lacks = asOf === undefined || refusal !== undefined || known.lock === undefined || isDateless;
  const { status } = by(facts);
  if (lacks && (status === 'ok' || status === 'new')) throw new Error(`${status}, though facts are missing`);
};

const neverBetterByWorse =
  (change: (facts: JobFacts) => JobFacts): Law =>
  (by, facts) => {
    const [before, after] = [by(facts), by(change(facts))];
    if (!isWell(before) && isWell(after)) throw new Error(`from ${before.status} to ${after.status}`);
  };

/** As the docstrings of the statuses and of the reasons say. */
const attentionAsTold: Law = (by, facts) => {
  const { status, attention, reason, tick = NaN } = by(facts);
  const { overdue } = facts.known;
  const expected: Readonly<Record<JobStatus, boolean>> = {
    hung: true,
    overrun: overdue !== false && tick + overdue <= facts.time,
    running: false,
    off: false,
    paused: false,
    unknown: reason === 'refused',
    overdue: true,
    interrupted: true,
    failing: true,
    hollow: true,
    disagree: true,
    new: false,
    ok: false,
  };
  if (attention !== expected[status]) throw new Error(`${status}: attention is ${attention}`);
};

/** A tick that is told to be overdue is: its time of grace is over, and the store has said so since; nobody has started it. */
const overdueIsOverdue: Law = (by, facts) => {
  const { status, tick = NaN } = by(facts);
  if (status !== 'overdue') return;
  const { known, time, asOf = NaN, runs, seen, lock } = facts;
  if (known.overdue === false) throw new Error('it is never overdue');
  if (!(tick + known.overdue <= Math.min(time, asOf)))
    throw new Error('it was not late when the store was asked');
  const started = [seen?.tick, ...runs.map((run) => run.tick), ...(lock?.jobs ?? []).map((job) => job.tick)];
  if (started.some((each = -Infinity) => each >= tick)) throw new Error('it was started');
  if (runs.some(({ outcome }) => outcome === 'running')) throw new Error('a run goes on');
};

/** A tick of which everything is known, and that nobody has started, is told to be overdue. */
const lateIsOverdue: Law = (by, facts) => {
  const { known, time, asOf, runs, seen, knownBy, refusal } = facts;
  const isKnown = asOf === time && refusal === undefined && known.lock !== undefined && seen === undefined;
  const isUp = knownBy.every(({ state, job, clockOffset }) => state === 'up' && job.enabled && !clockOffset);
  const agree = knownBy.every(({ job }) => job.timeZone === known.timeZone);
  if (known.kind !== 'cron' || !isKnown || !isUp || !agree || runs.length > 0 || facts.lock !== undefined)
    return;
  if (known.overdue === false) return;
  const tick = datesOf(facts).newest(time - known.overdue);
  if (tick === undefined || knownBy.every(({ startedAt }) => startedAt > tick)) return;
  const { status, tick: told } = by(facts);
  if (status !== 'overdue' || told !== tick)
    throw new Error(`${status} ${told}, though nobody has started ${tick}`);
};

/** The view of a job says what its judgement says. */
const viewAsJudged: Law = (by, facts) => {
  const { status, attention, tick } = by(facts);
  const view = viewOf(facts);
  expect({ status: view.status, attention: view.attention }).toEqual({ status, attention });
  expect(view.overdue).toBe(status === 'overdue' ? tick : undefined);
  expect(view.why !== undefined).toBe(attention || status === 'unknown');
};

const LAWS: Readonly<Record<string, Law>> = {
  'a job is never ok or new where facts are missing': neverOkWithoutFacts,
  'a job needs attention where the texts say so, and nowhere else': attentionAsTold,
  'a tick that is told to be overdue is': overdueIsOverdue,
  'a tick of which all is known, and that nobody has started, is told': lateIsOverdue,
  'the view of a job says what its judgement says': viewAsJudged,
  ...Object.fromEntries(
    Object.entries(WORSE).map(([what, change]) => [`never better if ${what}`, neverBetterByWorse(change)]),
  ),
};

const holds = (law: Law, by: Judge): void =>
  assert(
    property(jobFacts, (facts) => law(by, facts)),
    parameters(RUNS),
  );

test.each(Object.keys(LAWS))('%s', (name) => holds(LAWS[name] as Law, judge));

test('every status comes up', () => {
  const seen = new Set<JobStatus>();
  holds((by, facts) => void seen.add(by(facts).status), judge);
  expect([...seen].toSorted()).toEqual(
    [
      ...WELL,
      'disagree',
      'failing',
      'hollow',
      'hung',
      'interrupted',
      'overdue',
      'overrun',
      'unknown',
    ].toSorted(),
  );
});

describe('a law finds out about a judge that breaks it', () => {
  const broken: readonly [what: string, law: string, judge: Judge][] = [
    [
      'it takes what it does not know for well',
      'a job is never ok or new where facts are missing',
      (facts) => judge({ ...facts, asOf: facts.asOf ?? facts.time }),
    ],
    [
      'it takes a refusal for an answer',
      'a job is never ok or new where facts are missing',
      ({ refusal: _refusal, ...facts }) => judge(facts),
    ],
    [
      'it calls nobody for a run that failed',
      'a job needs attention where the texts say so, and nowhere else',
      (facts) => ({ ...judge(facts), ...(judge(facts).status === 'failing' && { attention: false }) }),
    ],
    [
      'it does not wait for the time of grace',
      'a tick that is told to be overdue is',
      ({ asOf = NaN, ...facts }) => judge({ ...facts, asOf: asOf + 60_000, time: facts.time + 60_000 }),
    ],
    [
      'it trusts old facts',
      'a tick that is told to be overdue is',
      (facts) => judge({ ...facts, ...(facts.asOf !== undefined && { asOf: facts.time }) }),
    ],
    [
      'it waits for too long',
      'a tick of which all is known, and that nobody has started, is told',
      (facts) => judge({ ...facts, time: facts.time - 3_600_000 }),
    ],
    [
      'it takes an interruption for an end',
      'never better if the last run that completed was interrupted',
      (facts) => {
        const [last, ...others] = facts.runs;
        return last?.outcome === 'interrupted'
          ? judge({ ...facts, runs: others, knownBy: [] })
          : judge(facts);
      },
    ],
  ];

  test.each(broken)('%s', (_what, law, by) => {
    expect(() => holds(LAWS[law] as Law, by)).toThrow(/Property failed/);
  });
});
