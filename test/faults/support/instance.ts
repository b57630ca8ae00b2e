import { afterEach, expect } from '@jest/globals';
import type { SchedulerLockModuleOptions } from '../../../lib/index.js';
import { spawnChild, type ChildMessage, type TestChild } from '../../support/child.js';
import { builtScript } from '../../support/machine.js';
import { until } from '../../support/until.js';
import type { StoreAddress } from '../children/open-store.js';
import type { Fate, GuardedJob } from './guarded.js';

/** What crosses the channel to a child process. */
export type InstanceOptions = Pick<
  SchedulerLockModuleOptions,
  | 'ttl'
  | 'heartbeat'
  | 'storeTimeout'
  | 'shutdownTimeout'
  | 'instanceId'
  | 'keyPrefix'
  | 'rerun'
  | 'catchUp'
  | 'insight'
> & { store: StoreAddress };

/** The one job of {@link startTickInstance}. */
export interface TickJob {
  readonly expression: string;
  /** @default 'UTC' */
  readonly timeZone?: string;
  /** Whether it kills its process as soon as it has begun. */
  readonly deadly?: boolean;
  /** Whether it ends by itself. */
  readonly quick?: boolean;
}

const started = new Set<Instance>();

/** One instance of a fleet in a process of its own, with the one job `job`. */
export class Instance {
  constructor(protected readonly child: TestChild) {}

  /** Lets the job be fired; answers whether it runs now. */
  async fire(): Promise<boolean> {
    this.child.send({ type: 'run' });
    const outcome = await this.child.next(({ type }) => type === 'job-started' || type === 'event:skipped');
    return outcome.type === 'job-started';
  }

  /** Fires the job again and again until it runs; answers with its fencing token. */
  async takeOver(): Promise<number> {
    const message = `the job to run on ${this.child.pid}`;
    await until(async () => this.fire(), { interval: 10, message });
    const [token] = this.heard('job-started')
      .map(({ fencingToken }) => Number(fencingToken))
      .slice(-1);
    return token ?? 0;
  }

  /** Fires the job, which blocks the event loop for `ms` and then ends at once. */
  runBlocking(ms: number): void {
    this.child.send({ type: 'run', blockFor: ms });
  }

  /** Blocks the event loop while the job goes on. */
  block(ms: number): void {
    this.child.send({ type: 'block', ms });
  }

  /** Ends the job; answers with the event of its release. */
  async endJob(): Promise<ChildMessage> {
    this.child.send({ type: 'end' });
    return this.next('event:released');
  }

  /** What the job is told if it asks now whether it still has its lock. */
  async judge(): Promise<ChildMessage> {
    this.child.send({ type: 'judge' });
    return this.next('judged');
  }

  /** Says what becomes of a run that has begun, of {@link startGuardedInstance}. */
  decide(fate: Fate): void {
    this.child.send({ type: 'fate', ...fate });
  }

  /** Lets a run go on that has stopped. */
  goOn(): void {
    this.child.send({ type: 'go' });
  }

  /** The oldest message of this type not yet taken. Events come as `event:<type>`. */
  next(type: string): Promise<ChildMessage> {
    return this.child.next(type);
  }

  /** All messages of this type so far. */
  heard(type: string): ChildMessage[] {
    return this.child.messages.filter((message) => message.type === type);
  }

  get pid(): number {
    return this.child.pid;
  }

  async kill(): Promise<void> {
    started.delete(this);
    await this.child.kill();
  }

  get running(): boolean {
    return this.child.running;
  }

  pause(): void {
    this.child.pause();
  }

  resume(): void {
    this.child.resume();
  }

  /** Closes the application and waits for the process to end by itself. Fails if it has not ended cleanly. */
  async close(): Promise<void> {
    started.delete(this);
    this.child.resume();
    this.child.send({ type: 'end' });
    this.child.send({ type: 'close' });
    const exit = await this.child.ended();
    // `cron` says so of a machine that is busy with other tests.
    const stderr = this.child.stderr.replace(/^.*Missed execution deadline.*\n/gm, '');
    expect({ ...exit, stderr }).toEqual({ code: 0, signal: null, stderr: '' });
  }

  /** For a test that has failed already. */
  async discard(): Promise<void> {
    await this.child.kill();
  }
}

/** Starts an instance, and registers that it is closed after the test: see {@link closeInstances}. */
export function startInstance(options: InstanceOptions): Promise<Instance> {
  return start('instance.js', { FAULT_OPTIONS: JSON.stringify(options) });
}

/**
 * The same with the one job `nightly`, which the scheduler fires at the dates of its expression, and when
 * {@link Instance.fire} says so.
 */
export function startTickInstance(options: InstanceOptions, job: TickJob): Promise<Instance> {
  const env = { FAULT_OPTIONS: JSON.stringify(options), FAULT_JOB: JSON.stringify(job) };
  return start('tick-instance.js', env);
}

/** An instance whose job writes invoices. @param clock by how much its clock is ahead, ms */
export function startGuardedInstance(
  options: InstanceOptions,
  job: GuardedJob,
  clock: number,
): Promise<Instance> {
  const env = { FAULT_OPTIONS: JSON.stringify(options), FAULT_JOB: JSON.stringify(job) };
  return start('guarded.js', { ...env, CHAOS_CLOCK_OFFSET: String(clock) });
}

async function start(script: string, env: Record<string, string>): Promise<Instance> {
  const child = await spawnChild(builtScript(`test/faults/children/${script}`), { env });
  const instance = new Instance(child);
  started.add(instance);
  await child.next('ready');
  return instance;
}

/**
 * To be called once in a file: after each test, whatever instances it has not killed must close cleanly. An
 * unhandled rejection or an uncaught exception ends a process, so it fails the test here at the latest.
 */
export function closeInstances(): void {
  afterEach(async () => {
    const instances = [...started];
    const closed = await Promise.allSettled(instances.map((instance) => instance.close()));
    await Promise.all(instances.map((instance) => instance.discard()));
    for (const result of closed) if (result.status === 'rejected') throw result.reason;
  });
}

/** Waits until instances have run some ticks, and refused others' ones; no tick may have run twice. */
export async function expectEachTickOnce(fleet: readonly Instance[]): Promise<void> {
  const ticks = (): unknown[] =>
    fleet.flatMap((instance) => instance.heard('job-started').map(({ tick }) => tick));
  const refused = (): unknown[] =>
    fleet.flatMap((instance) => instance.heard('event:skipped').filter(({ tick }) => ticks().includes(tick)));
  await until(() => ticks().length >= 3 && refused().length >= 2, {
    message: () => `ticks that one runs and the other skips; run: ${ticks().join(', ')}`,
  });
  expect(new Set(ticks()).size).toBe(ticks().length);
}
