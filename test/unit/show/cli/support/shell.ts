import { run as runShell, type Shell } from '../../../../../lib/show/cli/run.js';
import { systemClock } from '../../../../../lib/base/clock.js';
import { ManualClock } from '../../../../../lib/testing/manual-clock.js';
import type { LockStore } from '../../../../../lib/contract/lock-store.js';
import { NOW, storeOf } from './fleet.js';

/** A terminal of a test. */
export class TestShell {
  readonly clock = new ManualClock(NOW);
  /** The time of this machine. That of the store is NOW. */
  now = NOW;
  out = '';
  err = '';
  /** Stores that were opened and not closed. */
  open = 0;
  interrupt: () => void = () => {
    throw new Error('nobody listens for Ctrl+C');
  };
  env: Record<string, string> = { SCHEDULER_LOCK_URL: 'redis://db:6379' };
  /** Its width and height. Absent: it is no terminal. */
  terminal: { columns: number; rows: number } | undefined;

  constructor(public store: LockStore | (() => LockStore) = storeOf({})) {}

  /** @returns the exit code */
  run(...argv: string[]): Promise<number> {
    const size = this.terminal === undefined ? {} : { isTTY: true, ...this.terminal };
    const shell: Shell = {
      stdout: { write: (text) => (this.out += text), ...size },
      stderr: { write: (text) => (this.err += text) },
      env: this.env,
      clock: {
        now: () => this.now,
        monotonic: systemClock.monotonic,
        setTimer: this.clock.setTimer.bind(this.clock),
      },
      version: '1.2.3',
      open: async () => {
        const store = typeof this.store === 'function' ? this.store() : this.store;
        this.open += 1;
        return { store, close: async () => void (this.open -= 1) };
      },
      actor: () => 'anna@laptop',
      onInterrupt: (listener) => (this.interrupt = listener),
    };
    return runShell(argv, shell);
  }

  /** In Berlin. */
  inBerlin(...argv: string[]): Promise<number> {
    return this.run(...argv, '--zone', 'Europe/Berlin');
  }

  get lines(): string[] {
    return this.out.trimEnd().split('\n');
  }
}
