import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { JobFacts } from '../../../lib/insight/facts.js';
import { FleetJobs, type KnownByAll } from '../../../lib/insight/fleet-jobs.js';
import { factsOf, type LockFacts } from '../../../lib/insight/join.js';
import { type Fleet, Reader } from '../../../lib/insight/read.js';
import type { JobView } from '../../../lib/insight/types.js';
import { shortViewOf, viewOf } from '../../../lib/insight/view.js';
import type { InstanceRecord, KnownJob, RunEntry } from '../../../lib/contract/history-store.js';
import { INTERVAL, JOB, ticks } from './support/facts.js';
import { entry, FakeStore, instance, lockInfo, NOW } from './support/store.js';

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

/* A week of deploys. Each has a list of jobs of its own, in which the same jobs may have other schedules, or be switched off. */

const listOfJobs: fc.Arbitrary<KnownJob[]> = fc
  .tuple(
    fc.constantFrom('0 3 * * *', '0 * * * *', '30 2 * * 0', '*/10 * * * *', '0 0 1 1 *'),
    fc.constantFrom('UTC', 'Europe/Berlin'),
    fc.constantFrom(600_000, DAY),
    fc.boolean(),
    fc.constantFrom(MINUTE, HOUR, false as const),
  )
  .map(([schedule, timeZone, interval, enabled, overdue]) => [
    { ...JOB, schedule, timeZone, enabled, overdue },
    { ...INTERVAL, interval, enabled, overdue },
  ]);

const dateOf = (job: KnownJob, which: 'next' | 'newest', at: number): number | null => {
  const dates = job.schedule === undefined ? undefined : ticks(job.schedule, job.timeZone);
  const date = dates?.[which](at) ?? Infinity;
  return Number.isFinite(date) ? date : null;
};

const instances: fc.Arbitrary<InstanceRecord[]> = fc
  .array(listOfJobs, { minLength: 1, maxLength: 3 })
  .chain((lists) => {
    const one = fc.record({
      jobs: fc.constantFrom(...lists),
      startedAt: fc.integer({ min: NOW - 7 * DAY, max: NOW - MINUTE }),
      lived: fc.integer({ min: 0, max: 2 * DAY }),
      state: fc.constantFrom('up', 'up', 'gone', 'left'),
      clockOffset: fc.constantFrom(5 * MINUTE, 5 * MINUTE, 5 * MINUTE, 0),
    });
    // As many as that: of few instances none is left out.
    return fc.array(one, { minLength: 1, maxLength: 12, size: 'max' });
  })
  .map((all) =>
    all.map(({ jobs, startedAt, lived, state, clockOffset }, n) => {
      const seenAt = state === 'up' ? NOW - 10_000 : Math.min(startedAt + lived, NOW - 2 * MINUTE);
      return instance(`api-${n}`, {
        jobs,
        seenAt,
        clockOffset,
        startedAt: startedAt - clockOffset,
        left: state === 'left',
        next: jobs.map((job) => dateOf(job, 'next', seenAt)),
        last: jobs.map((job) => dateOf(job, 'newest', seenAt)),
      });
    }),
  );

/** What the store knows of the lock of a job: its last start, if any, and some runs. */
const locks: fc.Arbitrary<LockFacts> = fc
  .record({
    ago: fc.option(fc.integer({ min: 0, max: 8 * DAY })),
    outcome: fc.constantFrom('completed', 'failed', undefined),
    runs: fc.array(fc.integer({ min: 0, max: 8 * DAY }), { maxLength: 3 }),
  })
  .map(({ ago, outcome, runs }) => ({
    lock: lockInfo({
      jobs: [JOB, INTERVAL].flatMap(({ job }) =>
        ago === null ? [] : [{ job, tick: NOW - ago, due: NOW - ago + HOUR, ...(outcome && { outcome }) }],
      ),
    }),
    entries: runs.map((before): RunEntry => entry(NOW - before)),
  }));

const fleetOf = (records: readonly InstanceRecord[]): Promise<Fleet> => {
  const { store } = Object.assign(new FakeStore(), { instances: records });
  return new Reader(store.history, store.inspect).fleet();
};

const more: Pick<JobFacts, 'time' | 'asOf' | 'ticks'> = { time: NOW, asOf: NOW, ticks };

const factsWith = (knownBy: KnownByAll, lock: LockFacts): JobFacts => factsOf(knownBy, lock, more);

/** All but the sentence, which names instances. */
const plain = ({ why: _why, ...view }: JobView): Omit<JobView, 'why'> => view;

test('how a job is does not depend on the instances that are left out: those that are not up any more, nor among the newest', async () => {
  let fewer = 0;
  await fc.assert(
    fc.asyncProperty(instances, locks, fc.integer({ min: 0, max: 4 }), async (records, lock, recent) => {
      const { told } = await fleetOf(records);
      const jobs = new FleetJobs(told, recent);
      for (const { job } of [JOB, INTERVAL]) {
        const all = jobs.every(job)!;
        const [few, some] = [jobs.few(job)!, jobs.get(job)!];
        if (few.length < some.length && some.length < all.length) fewer++;
        const view = shortViewOf(factsWith(few, lock), jobs.up(job)) ?? viewOf(factsWith(some, lock));
        expect(plain(view)).toEqual(plain(viewOf(factsWith(all, lock))));
      }
    }),
    { numRuns: 300 },
  );
  expect(fewer).toBeGreaterThan(20);
});

test('the dates of those instances are read that any of the asked jobs needs, and of no other', async () => {
  const lists = [[], [JOB], [INTERVAL], [JOB, INTERVAL]];
  await fc.assert(
    fc.asyncProperty(
      instances,
      fc.infiniteStream(fc.constantFrom(...lists)),
      fc.subarray([JOB, INTERVAL, { ...JOB, job: 'unknown' }]),
      fc.integer({ min: 0, max: 4 }),
      async (records, known, asked, recent) => {
        const { told } = await fleetOf(records.map((record) => ({ ...record, jobs: known.next().value })));
        const jobs = new FleetJobs(told, recent);
        const names = asked.map(({ job }) => job);
        const needed = names.flatMap((name) => (jobs.get(name) ?? []).map(({ instance: id }) => id));
        expect(jobs.knowing(names)).toEqual(new Set(needed));
      },
    ),
    { numRuns: 300 },
  );
});
