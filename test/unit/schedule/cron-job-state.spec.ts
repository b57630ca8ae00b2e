import 'reflect-metadata';
import { expect, test } from '@jest/globals';
import { Cron, Interval } from '@nestjs/schedule';
import { isInactive, CronJobState } from '../../../lib/schedule/cron-job-state.js';
import { CronTime } from './support/cron-time.js';

class Jobs {
  @Cron('0 0 3 * * *', { name: 'named' })
  named(): void {}

  @Cron('0 0 3 * * *')
  one(): void {}

  @Cron('0 0 3 * * *')
  twin(): void {}

  @Interval(1_000)
  interval(): void {}
}

/** Stops a cron job, as the application does. */
const stop = (job: object): unknown => Object.assign(job, { isActive: false, cronTime: { realDate: false } });

/** A scheduler that makes the jobs of these methods, one after the other. */
class Scheduler {
  readonly cronJobs: Record<string, { options: unknown; ref?: object }> = {};
  readonly #jobs = new Map<string, object>();
  readonly schedulerRegistry = { getCronJobs: () => this.#jobs };
  readonly made = new CronJobState(() => [this]);

  add(...methods: ('named' | 'one' | 'twin')[]): this {
    for (const method of methods) {
      const key = method === 'named' ? method : `random-${Object.keys(this.cronJobs).length}`;
      const options: unknown = Reflect.getMetadata('SCHEDULE_CRON_OPTIONS', Jobs.prototype[method]);
      this.cronJobs[key] = { options };
    }
    return this;
  }

  /** Makes them; gives them in order. */
  mount(): object[] {
    return Object.entries(this.cronJobs).map(([key, record]) => {
      record.ref = { key };
      this.#jobs.set(key, record.ref);
      return record.ref;
    });
  }

  replace(key: string, job: object | undefined): void {
    if (job === undefined) this.#jobs.delete(key);
    else this.#jobs.set(key, job);
  }
}

const { named, one, twin, interval } = Jobs.prototype;

test('of two jobs without a name that look the same, the one is stopped that the application has stopped', () => {
  const scheduler = new Scheduler().add('one', 'twin');
  const owner = {};
  const jobs = [one, twin].map((method) => scheduler.made.claim(method, owner));
  const [first, second] = scheduler.mount() as [object, object];
  const states = () => jobs.map(({ state }) => state());
  expect(states()).toEqual(['started', 'started']);
  stop(first);
  expect(states()).toEqual(['stopped', 'started']);
  Object.assign(first, { isActive: true });
  stop(second);
  expect(states()).toEqual(['started', 'stopped']);
});

test('of a method that two classes inherit, the job is stopped of the instance that comes in this place', () => {
  const scheduler = new Scheduler().add('one', 'twin', 'one');
  const jobs = [{}, {}].map((owner) => scheduler.made.claim(one, owner));
  const [, , third] = scheduler.mount() as [object, object, object];
  stop(third);
  expect(jobs.map(({ state }) => state())).toEqual(['started', 'stopped']);
});

test('where it cannot be told which job is whose, one that is stopped counts for all of the method', () => {
  // An alias of a provider is scheduled again, and belongs to the same instance.
  const scheduler = new Scheduler().add('one', 'one', 'twin');
  const owner = {};
  const jobs = [one, twin].map((method) => scheduler.made.claim(method, owner));
  // What overrides a guarded method is claimed for both, and is one job.
  scheduler.made.claim(twin, owner);
  const [, second] = scheduler.mount() as [object, object, object];
  expect(jobs.map(({ state }) => state())).toEqual(['started', 'started']);
  stop(second);
  expect(jobs.map(({ state }) => state())).toEqual(['stopped', 'started']);
});

test('a job is gone that was deleted, or whose name has been given to another one', () => {
  const scheduler = new Scheduler().add('named');
  const { state } = scheduler.made.claim(named, {});
  const [job] = scheduler.mount() as [object];
  scheduler.replace('named', undefined);
  expect(state()).toBe('gone');
  scheduler.replace('named', {});
  expect(state()).toBe('gone');
  scheduler.replace('named', job);
  expect(state()).toBe('started');
});

test('a job that is still to be made is not stopped, nor is one that nobody knows of', () => {
  const scheduler = new Scheduler().add('named');
  const nobody = new CronJobState(() => []);
  const jobs = [named, one, interval].map((method) => scheduler.made.claim(method, {}));
  for (const job of [...jobs, nobody.claim(named, {})]) {
    expect(job.state()).toBe('started');
    expect(job.cronTimes()).toEqual([]);
  }
});

test('a job that is asked for while the scheduler looks for methods is looked up again', () => {
  const scheduler = new Scheduler();
  const { state } = scheduler.made.claim(named, {});
  expect(state()).toBe('started');
  const [job] = scheduler.add('named').mount() as [object];
  stop(job);
  expect(state()).toBe('stopped');
});

test('two schedulers each make a job of every method: one that is stopped in either is stopped', () => {
  const [first, second] = [new Scheduler().add('one', 'twin'), new Scheduler().add('one', 'twin')];
  const made = new CronJobState(() => [first, second]);
  const owner = {};
  const jobs = [one, twin].map((method) => made.claim(method, owner));
  const [ofOne, ofTwin] = [first.mount(), second.mount()[1] as object];
  stop(ofTwin);
  expect(jobs.map(({ state }) => state())).toEqual(['started', 'stopped']);
  first.replace(Object.keys(first.cronJobs)[0] ?? '', undefined);
  expect(jobs.map(({ state }) => state())).toEqual(['gone', 'stopped']);
  expect(ofOne).toHaveLength(2);
});

test('the dates of a method are those of the job that was made of it, by now', () => {
  const scheduler = new Scheduler().add('one', 'twin');
  const owner = {};
  const jobs = [one, twin].map((method) => scheduler.made.claim(method, owner));
  expect(jobs.map(({ cronTimes }) => cronTimes())).toEqual([[], []]);
  const made = scheduler.mount() as { cronTime?: object }[];
  const [night, noon] = [new CronTime('0 0 3 * * *'), new CronTime('0 0 12 * * *')];
  for (const job of made) job.cronTime = night;
  expect(jobs.map(({ cronTimes }) => cronTimes())).toEqual([[night], [night]]);
  Object.assign(made[0] ?? {}, { cronTime: noon });
  expect(jobs.map(({ cronTimes }) => cronTimes())).toEqual([[noon], [night]]);
});

test('methods with one and the same decorator are told apart by their places', () => {
  const Nightly = Cron('0 0 3 * * *');
  class Pair {
    @Nightly
    first(): void {}
    @Nightly
    second(): void {}
  }
  const scheduler = new Scheduler();
  const options: unknown = Reflect.getMetadata('SCHEDULE_CRON_OPTIONS', Pair.prototype.first);
  Object.assign(scheduler.cronJobs, { a: { options }, b: { options } });
  const owner = {};
  const { first, second } = Pair.prototype;
  const jobs = [first, second].map((method) => scheduler.made.claim(method, owner));
  const [, last] = scheduler.mount() as [object, object];
  stop(last);
  expect(jobs.map(({ state }) => state())).toEqual(['started', 'stopped']);
});

test('hundreds of jobs of one expression are looked through once, however often one of them is asked for', () => {
  const scheduler = new Scheduler();
  for (let i = 0; i < 300; i++) scheduler.add('one');
  let looks = 0;
  const cronJobs = scheduler.cronJobs;
  for (const [key, record] of Object.entries(cronJobs)) {
    const { options } = record;
    Object.defineProperty(record, 'options', { get: () => ((looks += 1), options) });
    cronJobs[key] = record;
  }
  const jobs = Array.from({ length: 300 }, () => scheduler.made.claim(one, {}));
  for (const job of scheduler.mount().slice(0, 10)) stop(job);
  for (let round = 0; round < 3; round++) {
    expect(jobs.filter(({ state }) => state() === 'stopped')).toHaveLength(10);
  }
  expect(looks).toBe(300);
});

test.each([
  ['that is started', { isActive: true, cronTime: { realDate: false } }, false],
  ['that is stopped', { isActive: false, cronTime: { realDate: false } }, true],
  ['that is started, by its older name', { running: true, cronTime: { realDate: false } }, false],
  ['that is stopped, by its older name', { running: false, cronTime: { realDate: false } }, true],
  ['whose only date has come', { isActive: false, cronTime: { realDate: true } }, false],
  ['that is none of `cron`', {}, false],
])('a job %s', (_, job, inactive) => {
  expect(isInactive(job)).toBe(inactive);
});
