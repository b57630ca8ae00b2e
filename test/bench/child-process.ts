import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { guard } from '../support/child.js';
import { builtScript } from '../support/machine.js';
import { CLOSE, type Figures } from './task.js';

/** What a process is to measure. Plain data: it travels on the command line. */
interface ChildTask {
  readonly measurement: string;
  readonly contender: string;
}

/** A fresh process that measures one thing: see child.ts. */
export class Child {
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;
  readonly #exit: Promise<unknown[]>;
  readonly #task: ChildTask;

  /**
   * @param cores those to run on, as `taskset` has them; `undefined`: any
   * @param script the script that measures, of this checkout or another one
   */
  constructor(task: ChildTask, cores: string | undefined, script = builtScript('test/bench/child.js')) {
    const node = [process.execPath, script, JSON.stringify(task)];
    const [command = '', ...args] = cores === undefined ? node : ['taskset', '-c', cores, ...node];
    this.#task = task;
    this.#process = spawn(command, args, {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, NODE_ENV: 'production' },
    });
    guard(this.#process);
    this.#exit = once(this.#process, 'close');
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
  }

  /** The next line of its output. */
  async answer(): Promise<Figures> {
    const { done, value } = await this.#lines.next();
    if (done) throw this.#failed(this.#process.exitCode);
    return JSON.parse(value) as Figures;
  }

  /** The figures of its next turn. */
  ask(command = 'next'): Promise<Figures> {
    this.#process.stdin.write(`${command}\n`);
    return this.answer();
  }

  /** The figures after the last turn. */
  close(): Promise<Figures> {
    return this.ask(CLOSE);
  }

  async exit(): Promise<void> {
    const [code] = (await this.#exit) as [number | null];
    if (code !== 0) throw this.#failed(code);
  }

  #failed(code: number | null): Error {
    const { measurement, contender } = this.#task;
    return new Error(`${measurement} of ${contender} failed (${code})`);
  }
}
