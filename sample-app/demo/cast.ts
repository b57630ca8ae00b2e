import { spawnChild, type TestChild } from '../../test/support/child.js';
import { builtScript } from '../../test/support/machine.js';
import { until } from '../../test/support/until.js';
import { type LockServer, provideLockServer } from './lock-server.js';
import type { Report } from './reports.js';

const LIMIT = 20_000;

/** What a demo starts: where the locks are, and the instances that share it and tell what happens in them. */
export class Cast {
  readonly #children = new Map<string, TestChild>();
  readonly #starting = new Set<Promise<unknown>>();
  /** Those that end before the play does, as they should. */
  readonly #ended = new Set<string>();
  /** Rejects when an instance ends before its time. */
  readonly #broken: Promise<never>;
  #break!: (error: unknown) => void;
  #server: LockServer | undefined;
  #over = false;

  /** @param hear called with whatever an instance tells, once it is ready */
  constructor(private readonly hear: (instance: string, report: Report) => void) {
    this.#broken = new Promise((_, reject) => (this.#break = reject));
    // Whoever waits for something hears of it.
    this.#broken.catch(() => undefined);
  }

  /** Whether the play is over: what is heard from then on is part of the end. */
  get over(): boolean {
    return this.#over;
  }

  lockServer(store: string): Promise<LockServer> {
    return this.#start(async () => (this.#server = await provideLockServer(store)));
  }

  /** Starts the instances. @param script the compiled program of one */
  async instances(names: readonly string[], script: string, env: Record<string, string>): Promise<void> {
    await Promise.all(names.map((name) => this.#start(() => this.#startInstance(name, script, env))));
  }

  child(name: string): TestChild {
    const child = this.#children.get(name);
    if (child === undefined) throw new Error(`${name} was not started`);
    return child;
  }

  /** What `look` finds, as soon as it finds something. */
  seen<T>(what: string | (() => string), look: () => T, timeout = LIMIT) {
    const message = (): string => `${typeof what === 'string' ? what : what()}${this.#output()}`;
    return Promise.race([until(look, { timeout, interval: 10, message }), this.#broken]);
  }

  /** Kills one. Returns its process id. */
  async kill(name: string): Promise<number> {
    const child = this.child(name);
    this.#ended.add(name);
    await child.kill();
    return child.pid;
  }

  /** Asks one to end, and waits for that. */
  async stop(name: string): Promise<void> {
    this.#ended.add(name);
    await this.child(name).stop();
  }

  /** Asks all to end, and waits for that. */
  async end(): Promise<void> {
    this.#over = true;
    await Promise.all([...this.#children.values()].map((child) => child.stop()));
  }

  /** Ends what was started, in whatever state it is. */
  async cleanUp(): Promise<void> {
    this.#over = true;
    await Promise.allSettled(this.#starting);
    await Promise.all([...this.#children.values()].map((child) => child.kill()));
    await this.#server?.stop();
  }

  #start<T>(start: () => Promise<T>): Promise<T> {
    if (this.#over) throw new Error('The demo is over');
    const starting = start();
    this.#starting.add(starting);
    return starting;
  }

  async #startInstance(name: string, script: string, env: Record<string, string>): Promise<void> {
    const child = await spawnChild(builtScript(script), { env: { ...env, INSTANCE_ID: name } });
    this.#children.set(name, child);
    await child.next('ready');
    void this.#listen(name, child);
  }

  async #listen(name: string, child: TestChild): Promise<void> {
    try {
      // An instance may have nothing to say for as long as it lives. Whoever waits for something has a limit: see `seen`.
      for (;;) this.hear(name, await child.next<Report>(() => true, Infinity));
    } catch (error) {
      // It has ended, and all that it said is heard.
      if (!this.#over && !this.#ended.has(name)) this.#break(error);
    }
  }

  /** What the instances had to complain about. */
  #output(): string {
    return [...this.#children].map(([name, { stderr }]) => (stderr ? `\n${name}: ${stderr}` : '')).join('');
  }
}
