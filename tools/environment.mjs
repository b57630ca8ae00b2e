// The environment of a file of tests:
//
// - What its programs log to the standard output is kept back, and shown only if one of its tests fails.
// - What it has left behind ends with it, as when a test has timed out: see `guard` in test/support/child.ts.
import { TestEnvironment } from 'jest-environment-node';

export default class Environment extends TestEnvironment {
  #said = [];
  #failed = false;
  #write = process.stdout.write;

  async setup() {
    await super.setup();
    process.stdout.write = (chunk, encoding, callback) => {
      this.#said.push(chunk);
      const done = typeof encoding === 'function' ? encoding : callback;
      if (done !== undefined) process.nextTick(done);
      return true;
    };
  }

  handleTestEvent({ name, test }) {
    if (name === 'test_done' && test.errors.length > 0) this.#failed = true;
  }

  async teardown() {
    process.stdout.write = this.#write;
    if (this.#failed) for (const chunk of this.#said) process.stdout.write(chunk);
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
