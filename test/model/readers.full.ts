import { expect, test } from '@jest/globals';
import { array, assert, asyncProperty, constantFrom, pre, record } from 'fast-check';
import type { JobStatus } from '../../lib/insight/types.js';
import type { InstanceRecord, RunEntry } from '../../lib/contract/history-store.js';
import { at, JOB } from '../unit/insight/support/facts.js';
import { type Answers, ask, dissenting, type Pattern, READERS } from '../unit/insight/support/readers.js';
import { entry, instance, lockInfo, NOW } from '../unit/insight/support/store.js';
import { parameters } from './support/parameters.js';

/*
 * Whatever a store tells: `status`, `why`, the event `overdue`, health and the gauges say the same of a job. test/unit/insight/readers
 * has one pattern for each status; here they are mixed.
 */

const T = at('03:00');
const YESTERDAY = at('03:00', 21);
const OFF = { ...JOB, enabled: false };
const BERLIN = { ...JOB, timeZone: 'Europe/Berlin' };
const NEVER_OVERDUE = { ...JOB, overdue: false as const };

const others = array(
  record<Partial<InstanceRecord>>({
    jobs: constantFrom([JOB], [JOB], [OFF], [BERLIN]),
    left: constantFrom(false, false, true),
    seenAt: constantFrom(NOW - 10_000, NOW - 10_000, at('02:50')),
    startedAt: constantFrom(at('12:00', 20), at('12:00', 21), at('03:05')),
    clockOffset: constantFrom(0, 300_000),
  }),
  { maxLength: 3 },
);

/** Of ticks: how a run by hand ended an instance knows of its own ones only. The shell, which asks for all runs, may know better. */
const ends = array(
  record({
    startedAt: constantFrom(YESTERDAY, T),
    outcome: constantFrom<RunEntry['outcome'][]>(
      'completed',
      'completed',
      'failed',
      'timed-out',
      'aborted',
      'interrupted',
    ),
  }),
  { maxLength: 3 },
);

/** How the newest lease is, if it is none of the ends. */
const lease = constantFrom<('none' | 'runs' | 'runs since yesterday' | 'ended by itself')[]>(
  ...(['none', 'none', 'runs', 'runs since yesterday', 'ended by itself'] as const),
);

const patterns = record({ own: constantFrom(JOB, JOB, JOB, OFF, NEVER_OVERDUE), others, ends, lease }).map(
  ({ own, others: more, ends: runs, lease: open }): Omit<Pattern, 'status'> => {
    const known = runs.toSorted((one, other) => other.startedAt - one.startedAt);
    const entries = known
      .filter(({ startedAt }, i) => known.findIndex((each) => each.startedAt === startedAt) === i)
      .map(({ startedAt, outcome }) => entry(startedAt, { outcome, tick: startedAt, attempt: 1 }));
    const ticks = entries.flatMap(({ tick, outcome }) => (tick === undefined ? [] : [{ tick, outcome }]));
    const [last] = ticks;
    const began = open === 'runs since yesterday' ? YESTERDAY + 1 : at('03:06');
    const taken = { holder: 'api-0', job: JOB.job, fencingToken: began * 1_000 };
    const [ended] = entries;
    const newest = {
      none: ended && {
        ...taken,
        fencingToken: ended.fencingToken,
        ...(ended.outcome === 'interrupted' && { interrupted: true as const }),
      },
      runs: { ...taken, state: 'held' as const },
      'runs since yesterday': { ...taken, state: 'held' as const },
      'ended by itself': { ...taken, interrupted: true as const },
    };
    const isNewest =
      open === 'none' || entries.every(({ fencingToken }) => fencingToken < taken.fencingToken);
    const outcome = last?.outcome === 'interrupted' ? {} : { outcome: last?.outcome ?? 'completed' };
    const jobs = last === undefined ? [] : [{ job: JOB.job, tick: last.tick, attempt: 1, ...outcome }];
    return {
      own,
      store: {
        instances: more.map((each, i) => instance(`api-${i}`, each)),
        locks: [lockInfo({ jobs, ...newest[isNewest ? open : 'none'] })],
        entries,
      },
    };
  },
);

/** The pattern, with what the shell says of the job. */
const asTold = (pattern: Omit<Pattern, 'status'>, { status: view }: Answers): Pattern => ({
  ...pattern,
  status: view?.status ?? 'unknown',
  ...(view?.overdue !== undefined && { tick: view.overdue }),
});

/** Who dissents. The newest tick of a job that is well may have been nobody's: then `why` may tell of many things. */
const dissent = (answers: Answers, pattern: Pattern): string[] =>
  dissenting(answers, pattern).filter((name) => name !== 'why' || answers.status?.attention === true);

const RUNS = 400;
const all = (judge: (pattern: Pattern, answers: Answers) => void, runs = RUNS): Promise<void> =>
  assert(
    asyncProperty(patterns, async (pattern) => {
      const answers = await ask({ ...pattern, status: 'unknown' });
      // Of a run past the next tick that is never overdue nobody is told: no reader has a list for that.
      pre(answers.status?.status !== 'overrun' || answers.status.attention);
      // See the last test.
      pre(answers.status?.overdue === undefined || answers.why.cause !== 'not-a-tick');
      judge(asTold(pattern, answers), answers);
    }),
    parameters(runs),
  );

test('the readers agree, whatever the store tells', async () => {
  const seen = new Set<JobStatus>();
  await all((pattern, answers) => {
    seen.add(pattern.status);
    expect({ status: pattern.status, dissenting: dissent(answers, pattern) }).toEqual({
      status: pattern.status,
      dissenting: [],
    });
  });
  const known = ['ok', 'new', 'off', 'running', 'overrun', 'interrupted', 'failing', 'overdue', 'disagree'];
  expect([...seen]).toEqual(expect.arrayContaining(known));
});

test.each(Object.keys(READERS) as (keyof Answers)[])(
  'one that says the same of every job is found: %s',
  async (reader) => {
    const fixed = await ask({
      status: 'ok',
      store: { instances: [instance('api-1')], locks: [], entries: [] },
    });
    const broken = all((pattern, answers) =>
      expect(dissent({ ...answers, [reader]: fixed[reader] }, pattern)).toEqual([]),
    );
    await expect(broken).rejects.toThrow(/Property failed/);
  },
);
