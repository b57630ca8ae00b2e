import type { Sabotages } from './sabotage.js';

/** Sabotages of the library that work with every store. */
export const CORE_SABOTAGES: Sabotages = {
  'deadline-from-nowhere': {
    file: 'lock/lease.js',
    search: '=> sent + ttl - (',
    replace: '=> sent + 3 * ttl - (',
    caughtBy: 'overlaps',
    only: ['refuse', 'black-hole', 'pause'],
    seed: 3,
  },
  'no-heartbeat': {
    file: 'lock/lease.js',
    search: /sent \+ (this\.)?timing\.heartbeat/g,
    replace: 'Infinity',
    caughtBy: 'losses',
    only: ['forget-scripts'],
    seed: 3,
  },
  'lease-that-outlives-its-job': {
    file: 'lock/run.js',
    search: 'const end = this.end(lease, ended);',
    replace:
      'if (lease.ref) return { ran: true, value: ended.value };\n        const end = this.end(lease, ended);',
    caughtBy: 'idle',
    only: ['cut'],
    seed: 3,
  },
  'no-catch-up': {
    file: 'schedule/ticks/missed-ticks.js',
    search: 'if (catchUp !== false &&',
    replace: 'if (catchUp === null &&',
    caughtBy: 'catch-up',
    only: ['cut'],
    // Clocks that differ by less than half a second: the lock is taken at the tick of each instance.
    seed: 1527,
  },
  'failure-that-nobody-tries-again': {
    file: 'lock/releases.js',
    search: /if \(retryIn !== undefined\)\s+options\.retryIn = retryIn;/,
    replace: ';',
    caughtBy: 'retries',
    only: ['cut'],
    seconds: 40,
    seed: 3,
  },
  'release-without-a-record': {
    file: 'lock/recorder.js',
    search: /if \(!lease\.isRemembered\)\s+return undefined/,
    replace: 'if (lease) return undefined',
    caughtBy: 'recorded',
    only: ['cut'],
    seconds: 15,
    seed: 3,
  },
  'interruptions-that-nobody-notes': {
    file: 'lock/reports.js',
    search: 'recorder?.noteInterruption(lock, interrupted);',
    replace: ';',
    caughtBy: 'recorded',
    only: ['kill'],
    seconds: 40,
    seed: 328,
  },
  'pause-that-ends-at-once': {
    file: 'insight/control/pause.js',
    search: '{ id, actor, reason, length }',
    replace: '{ id, actor, reason, length: 1_000 }',
    caughtBy: 'switches',
    only: ['switch-pause'],
    seed: 3,
  },
  'break-that-breaks-nothing': {
    file: 'insight/control/break.js',
    search: /const \{ released \} = await desk\.ask\([^;]*;/,
    replace: 'const released = true;',
    caughtBy: 'switches',
    only: ['switch-break'],
    seed: 3,
  },
  'break-of-whatever-lease-is-there': {
    file: 'insight/control/break.js',
    // It looks on, and ends the lease that follows as well.
    search: 'const { holder, job } = lease;',
    replace: `const { holder, job } = lease;
    void (async () => {
      for (let looks = 0; looks < 200; looks++) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        const next = await desk.look(lock);
        if (next?.token === undefined || next.fencingToken === undefined || next.fencingToken === fencingToken) continue;
        const other = leaseOf(next, { token: next.token, fencingToken: next.fencingToken });
        return desk.ask(desk.store.release(other, { outcome: 'aborted' }));
      }
    })().catch(() => undefined);`,
    caughtBy: 'losses',
    only: ['switch-break'],
    seed: 3,
  },
  'alarm-for-each-tick': {
    file: 'insight/watch.js',
    // At each look, whether somebody has started the tick or not.
    search: "if (status === 'overdue' && tick !== undefined && tick !== state.noted)",
    replace: `const { job, lock } = state.job, { instance } = this.watcher;
        if (tick !== undefined) this.watcher.emit({ type: 'overdue', lock, job, instance, at: Date.now(), tick, reasons: [] });
        if (false)`,
    caughtBy: 'alarms',
    only: ['cut'],
    seed: 3,
  },
};
