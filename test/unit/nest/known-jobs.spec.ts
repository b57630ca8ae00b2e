import { expect, test } from '@jest/globals';
import type { BoundJob } from '../../../lib/nest/bound-job.js';
import { KnownJobs } from '../../../lib/nest/known-jobs.js';

interface Fake extends BoundJob {
  gone: boolean;
}

let looks = 0;

function job(name: string, lock = name): Fake {
  const fake = {
    job: name,
    name: lock,
    gone: false,
    settings: {},
    schedule: undefined,
    fire: () => undefined,
  };
  const state = (): string => {
    looks++;
    return fake.gone ? 'gone' : 'started';
  };
  return Object.assign(fake, { state }) as unknown as Fake;
}

const knownJobs = (place: (lock: unknown) => unknown = (lock) => lock): KnownJobs => new KnownJobs(place);

test('a job that is made later shares the lock of one that was made before', () => {
  const known = knownJobs();
  const [first, second] = [job('first', 'one'), job('second', 'one')];
  known.add(first);
  expect([...known.under('one')]).toEqual([first]);
  known.add(second);
  expect([...known.under('one')]).toEqual([first, second]);
  second.gone = true;
  expect([...known.under('one')]).toEqual([first]);
});

test('a job that was deleted is known no more, and its name and its lock are free', () => {
  const known = knownJobs(() => 'one key for all');
  const old = job('report');
  known.add(old);
  expect(known.hasNamesake(job('report'))).toBe(true);
  expect(known.hasNamesake(old, old)).toBe(false);
  expect(known.rivalOf('mail')).toBe('report');
  old.gone = true;
  expect([known.has('report'), known.hasNamesake(job('report')), known.rivalOf('mail')]).toEqual([
    false,
    false,
    undefined,
  ]);
  const anew = job('report', 'mail');
  known.add(anew);
  expect(known.all).toEqual([anew]);
  expect([...known.under('report')]).toEqual([]);
});

test('a decorated job stays, whatever becomes of its cron job', () => {
  const known = knownJobs();
  const decorated = job('Jobs.report', 'one');
  known.meet([decorated]);
  decorated.gone = true;
  const made = job('made', 'one');
  known.add(made);
  expect(known.all).toEqual([decorated, made]);
  expect([
    known.has('Jobs.report'),
    known.hasNamesake(job('Jobs.report')),
    [...known.under('one')].length > 1,
  ]).toEqual([true, true, true]);
});

test('deleted jobs do not pile up, and are looked for so seldom that this costs each new job a few looks', () => {
  const known = knownJobs();
  looks = 0;
  const made: Fake[] = [];
  for (let n = 0; n < 10_000; n++) {
    const next = job(`job-${n}`);
    known.add(next);
    const before = made.at(-1);
    if (before !== undefined) before.gone = true;
    made.push(next);
  }
  expect(looks).toBeLessThan(3 * 10_000);
  looks = 0;
  expect(known.made).toEqual([made.at(-1)]);
  expect(looks).toBeLessThan(300);
});
