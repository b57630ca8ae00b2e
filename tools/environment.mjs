// The environment of a file of tests:
//
// - What its programs log to the standard output is kept back, and shown only if one of its tests fails.
// - What it has left behind ends with it, as when a test has timed out: child processes (see `guard` in test/support/child.ts), and
//   connections, which would keep the worker alive, and be counted by the next file of this worker. Who leaves a connection, or a client
//   that goes on connecting, fails.
import { Server, Socket } from 'node:net';
import { dirname, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { TestEnvironment } from 'jest-environment-node';

/** How often, and every how many ms, it looks whether connections have been closed. */
const LOOKS = 50;
const PAUSE = 10;
/** Where ioredis sets the timer after which it connects again: of a client, and of a Cluster. */
const RECONNECTS = /ioredis\d?[\\/]built[\\/](redis[\\/]event_handler|cluster[\\/]index)\.js/;

const root = dirname(dirname(fileURLToPath(import.meta.url)));

export default class Environment extends TestEnvironment {
  #said = [];
  #failed = false;
  #write = process.stdout.write;
  #before = new Set(opened());
  #file;
  /** Timers that the file has set, and where. */
  #timers = new Map();
  /** Of so many, those that are over are forgotten. */
  #many = 1_000;

  constructor(config, context) {
    super(config, context);
    this.#file = relative(root, context.testPath);
    const { setTimeout } = this.global;
    this.global.setTimeout = Object.assign(
      (...args) => {
        const timer = setTimeout(...args);
        this.#note(timer);
        return timer;
      },
      { [promisify.custom]: setTimeout[promisify.custom] },
    );
  }

  #note(timer) {
    this.#timers.set(timer, new Error('set here'));
    if (this.#timers.size < this.#many) return;
    this.#timers = new Map([...this.#timers].filter(([old]) => isPending(old)));
    this.#many = Math.max(1_000, 2 * this.#timers.size);
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
    this.#endProcesses();
    const found = [...(await this.#endConnections()), ...this.#endClients()];
    await super.teardown();
    if (found.length === 0) return;
    const message = `Left open by ${this.#file}, and closed: ${found.join('; ')}`;
    // Jest fails a file whose environment does not end well, but then shows nothing else of it.
    if (!this.#failed) throw new Error(message);
    console.error(message);
  }

  #endProcesses() {
    for (const [pid, command] of this.global[Symbol.for('scheduler-lock:guarded')] ?? []) {
      console.error(`Left behind, and killed: process ${pid}, ${command}`);
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has just ended.
      }
    }
  }

  /** Closes what has been left open, and returns what that was. */
  async #endConnections() {
    const left = () => opened().filter((handle) => !this.#before.has(handle));
    // What is closing has a moment for that.
    for (let looks = 0; left().length > 0 && looks < LOOKS; looks++) await sleep(PAUSE);
    const found = left().map(describe);
    for (const handle of left()) {
      if (handle instanceof Server) handle.close();
      else handle.destroy();
    }
    return found;
  }

  /** Makes clients that have been left behind connect no more. Returns where they would have. */
  #endClients() {
    const clients = [...this.#timers].filter(
      ([timer, { stack }]) => isPending(timer) && RECONNECTS.test(stack),
    );
    for (const [timer] of clients) clearTimeout(timer);
    return clients.map(([, { stack }]) => `a client that goes on connecting:\n${stack}`);
  }
}

const isPending = (timer) => !timer._destroyed;

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
