import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import { spawnChild, type TestChild } from '../support/child.js';
import { startProxy, type TcpProxy } from '../faults/proxy/tcp-proxy.js';
import { type HistoryWriter, monotonic } from './history.js';
import type { ChaosStore } from './stores/store.js';
import type { WorkerOptions } from './worker/main.js';

/** How long an instance may take to start on a busy machine, ms. */
const START_LIMIT = 60_000;

export interface MemberOptions {
  readonly index: number;
  /** By how much its clock is ahead, ms. */
  readonly offset: number;
  /** The folder of the compiled chaos run of the build under test. */
  readonly program: string;
  readonly folder: string;
  readonly history: HistoryWriter;
  /** How many short jobs fire at the same second. */
  readonly volley: number;
  /** How many of its calls stand in line at the same time. */
  readonly callers: number;
  readonly roundTrip: number;
}

/** One instance of the fleet over all its lives, with the network before it. */
export class Member {
  readonly name: string;
  /** By how much its clock is ahead, ms. */
  readonly offset: number;
  /** Whether it is in trouble, or on its way back. */
  busy = false;
  #life = 0;
  #child: TestChild | undefined;

  private constructor(
    private readonly options: MemberOptions,
    private readonly store: ChaosStore,
    readonly proxy: TcpProxy,
  ) {
    this.name = `instance-${options.index + 1}`;
    this.offset = options.offset;
  }

  static async create(options: MemberOptions, store: ChaosStore): Promise<Member> {
    const { host, port, protocol } = store;
    const member = new Member(options, store, await startProxy({ host, port, protocol }));
    member.delay();
    return member;
  }

  /** Whatever comes from now on is as late as the way to the store is long, or later by this, ms. */
  delay(more = 0): void {
    this.proxy.delay(this.options.roundTrip / 2 + more);
  }

  /** The file with the record of its present life. */
  get file(): string {
    return join(this.options.folder, `${this.name}.${this.#life}.jsonl`);
  }

  /** Starts its next life; resolves when the scheduler runs. */
  async start(): Promise<void> {
    const { folder, program, offset, volley, callers } = this.options;
    const connection = { store: this.store.name, host: this.proxy.host, port: this.proxy.port };
    const worker: WorkerOptions = {
      folder,
      instance: this.name,
      life: ++this.#life,
      connection,
      volley,
      callers,
    };
    const child = await spawnChild(join(program, 'worker', 'main.js'), {
      env: {
        CHAOS_WORKER: JSON.stringify(worker),
        CHAOS_CLOCK_OFFSET: String(offset),
        NODE_OPTIONS: `--import=${pathToFileURL(join(program, 'worker', 'shift-clock.js')).href}`,
      },
    });
    this.#child = child;
    const life = this.#life;
    void child.exited.then(() =>
      this.options.history.write({ k: 'down', m: monotonic(), i: this.name, n: life }),
    );
    await child.next('up', START_LIMIT);
  }

  async kill(): Promise<void> {
    await this.#child?.kill();
  }

  /** SIGTERM, as a deploy sends it. */
  async stop(): Promise<void> {
    this.options.history.write({ k: 'stopping', m: monotonic(), i: this.name, n: this.#life });
    await this.#child?.stop();
  }

  pause(): void {
    this.#child?.pause();
  }

  resume(): void {
    this.#child?.resume();
  }

  /** Makes its logger, and some listeners, throw on each call, until its next life or until this is undone. */
  breakLogger(throws: boolean): void {
    this.#child?.send({ type: 'logger', throws });
  }

  /** Has it do what a person wants. What becomes of that is in its history. */
  switch(what: 'pause' | 'resume' | 'break', lock: string, lasts = 0): void {
    if (this.#child?.running === true) this.#child.send({ type: 'switch', what, lock, lasts });
  }

  /** Its error output in its present life. */
  get stderr(): string {
    return this.#child?.stderr ?? '';
  }

  /** Whether it has ended without being asked to. */
  get died(): boolean {
    return !this.busy && this.#child !== undefined && !this.#child.running;
  }

  async close(): Promise<void> {
    await this.kill();
    await this.proxy.stop();
  }
}
