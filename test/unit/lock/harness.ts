import type { LockCall, LockSettings, RunResult } from '../../../lib/lock/lock-call.js';
import type { Lock } from '../../../lib/lock/current-lock.js';
import type { SchedulerLockEvent } from '../../../lib/contract/events/events.js';
import { LockRunner } from '../../../lib/lock/lock-runner.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { ScriptedStore } from './scripted-store.js';
import { type EventKind, type EventOf, isEvent } from '../../support/events.js';

/** ttl 10 s, so drift is 102 ms: a lease that was sent at 0 is lost at 9,898. */
export const SETTINGS: LockSettings = {
  ttl: 10_000,
  heartbeat: 3_000,
  timeout: undefined,
  atLeast: 0,
  storeTimeout: 2_000,
  enabled: true,
  onStoreError: 'skip',
};

/** One run whose job ends when the test says so. */
export interface StartedJob {
  /** What the job sees; throws if it has not begun. */
  readonly lock: Lock;
  readonly began: boolean;
  /** What became of the call; `undefined` as long as it lasts. */
  readonly result: RunResult<string> | undefined;
  /** What the call rejected with. */
  readonly error: unknown;
  end(): void;
  fail(error: Error): void;
}

/** The leases of one process on a manual clock, over a store that can be told to misbehave. */
export class Harness {
  readonly clock: ManualClock;
  readonly store: ScriptedStore;
  readonly events: SchedulerLockEvent[] = [];
  readonly runner: LockRunner;

  /** @param shared another process, whose clock and memory of leases this one shares */
  constructor(shared?: Harness, instance = 'here') {
    this.clock = shared?.clock ?? new ManualClock();
    this.store = new ScriptedStore(this.clock, shared?.store);
    this.runner = new LockRunner(
      this.store,
      instance,
      this.clock,
      (event) => this.events.push(event),
      SETTINGS.storeTimeout,
    );
  }

  call(name = 'report', settings: Partial<LockSettings> = {}, scheduled = false): LockCall {
    return {
      name,
      job: undefined,
      settings: { ...SETTINGS, ...settings },
      kind: scheduled ? 'fired' : 'by-hand',
    };
  }

  /** Begins a run, and lets the store answer it. */
  async start(name = 'report', settings: Partial<LockSettings> = {}): Promise<StartedJob> {
    const job = this.launch(name, settings);
    await this.clock.advance(0);
    return job;
  }

  /** Begins a run without waiting for anything. */
  launch(name = 'report', settings: Partial<LockSettings> = {}): StartedJob {
    let lock: Lock | undefined;
    let end!: () => void;
    let fail!: (error: Error) => void;
    const ended = new Promise<string>((resolve, reject) => {
      end = () => resolve('done');
      fail = reject;
    });
    // A test that never begins its job may fail it all the same.
    ended.catch(() => undefined);
    let result: RunResult<string> | undefined;
    let error: unknown;
    const job: StartedJob = {
      get lock() {
        if (lock === undefined) throw new Error('the job has not begun');
        return lock;
      },
      get began() {
        return lock !== undefined;
      },
      get result() {
        return result;
      },
      get error() {
        return error;
      },
      end,
      fail,
    };
    this.runner
      .run(this.call(name, settings), (given) => {
        lock = given;
        return ended;
      })
      .then(
        (value) => (result = value),
        (reason: unknown) => (error = reason),
      );
    return job;
  }

  /** The events of one kind, in order. */
  of<K extends EventKind>(kind: K): EventOf<K>[] {
    return this.events.filter(isEvent(kind));
  }
}

/** A promise that the test resolves. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}
