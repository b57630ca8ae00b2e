import { expect, test } from '@jest/globals';
import type { BoundJob, Found } from '../../../lib/nest/bound-job.js';
import { JobRegistry } from '../../../lib/nest/job-registry.js';
import type { LockHost } from '../../../lib/nest/lock-host.js';

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

const knownJobs = (): JobRegistry =>
  new JobRegistry({
    store: { keeps: { lines: true, queuedCalls: true } },
    elections: { declaredAt: new Map() },
  } as unknown as LockHost);

const isTaken = (known: JobRegistry, one: Fake): boolean =>
  known.clashesOf(one).some((problem) => problem.includes('is a job already'));

/** A method of an instance. */
const found = (bound: Fake): Found =>
  ({
    bound,
    instance: { report: (): void => undefined },
    method: { key: 'report', options: {} },
  }) as unknown as Found;

test('a job that was deleted is known no more, and its name and its lock are free', () => {
  const known = knownJobs();
  const old = job('report');
  known.add(old);
  expect(isTaken(known, job('report'))).toBe(true);
  old.gone = true;
  expect([known.has('report'), isTaken(known, job('report'))]).toEqual([false, false]);
  const anew = job('report', 'mail');
  known.add(anew);
  expect(known.all).toEqual([anew]);
});

test('a decorated job stays, whatever becomes of its cron job', () => {
  const known = knownJobs();
  const decorated = job('Jobs.report', 'one');
  expect(known.meet([found(decorated)])).toEqual([]);
  decorated.gone = true;
  const made = job('made', 'one');
  known.add(made);
  expect(known.all).toEqual([decorated, made]);
  expect([known.has('Jobs.report'), isTaken(known, job('Jobs.report'))]).toEqual([true, true]);
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
