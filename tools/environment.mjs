// Ends what a file of tests has left behind, as when one of its tests has timed out: see `guard` in test/support/child.ts.
import { TestEnvironment } from 'jest-environment-node';

export default class Environment extends TestEnvironment {
  async teardown() {
    for (const [pid, command] of this.global[Symbol.for('scheduler-lock:guarded')] ?? []) {
      console.error(`Left behind, and killed: process ${pid}, ${command}`);
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has just ended.
      }
    }
    await super.teardown();
  }
}
