// The environment of a file of tests:
//
// - What its programs log to the standard output is kept back, and shown only if one of its tests fails.
// - What it has left behind ends with it, as when a test has timed out: child processes (see `guard` in test/support/child.ts), and
//   connections, which would keep the worker alive, and be counted by the next file of this worker.
import { Server, Socket } from 'node:net';
import { dirname, relative } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { TestEnvironment } from 'jest-environment-node';

/** How often, and every how many ms, it looks whether connections have been closed. */
const LOOKS = 50;
const PAUSE = 10;

const root = dirname(dirname(fileURLToPath(import.meta.url)));

export default class Environment extends TestEnvironment {
  #said = [];
  #failed = false;
  #write = process.stdout.write;
  #before = new Set(opened());
  #file;

  constructor(config, context) {
    super(config, context);
    this.#file = relative(root, context.testPath);
  }

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
    const left = () => opened().filter((handle) => !this.#before.has(handle));
    // What is closing has a moment for that.
    for (let looks = 0; left().length > 0 && looks < LOOKS; looks++) await setTimeout(PAUSE);
    for (const handle of left()) {
      console.error(`Left open by ${this.#file}, and closed: ${describe(handle)}`);
      if (handle instanceof Server) handle.close();
      else handle.destroy();
    }
    await super.teardown();
  }
}

/** Connections and servers of TCP. What Jest and the streams of the process use is none. */
function opened() {
  return process._getActiveHandles().filter((handle) => {
    if (handle.destroyed) return false;
    if (handle instanceof Socket) return handle.remotePort !== undefined || handle.connecting;
    return handle instanceof Server && typeof handle.address() === 'object' && handle.address() !== null;
  });
}

function describe(handle) {
  if (handle instanceof Server) return `a server on port ${handle.address().port}`;
  return `a connection from port ${handle.localPort} to port ${handle.remotePort}`;
}
