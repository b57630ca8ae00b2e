import { type ChildProcess, spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { clearTimeout, setTimeout } from 'node:timers';
import { guard } from '../support/child.js';
import type { JavaProgram } from './build.js';
import type { NestOptions } from './nest/main.js';
import { nanoseconds } from './witness.js';

/** How long a JVM may take to start on a busy machine, and to answer, ms. */
const LIMIT = 50_000;
/** Little memory, and one compiler: it is to start soon. Its zone must make no difference. */
const JAVA = ['-Xmx192m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Duser.timezone=Asia/Kolkata'];
/** How much of what it says an error shows, characters. */
const SHOWN = 2_000;
/** The number of its first line. */
const READY = 0;

interface Waiting {
  resolve(answer: string): void;
  reject(error: Error): void;
}

/** A JVM with ShedLock. Its places are those of Places.java: `postgres`, `postgres-host`, … */
export class Spring {
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended: Promise<void>;
  #isOver = false;
  #stderr = '';
  #last = READY;

  private constructor(
    readonly who: string,
    private readonly child: ChildProcess,
  ) {
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#stderr += text));
    if (child.stdout !== null) createInterface(child.stdout).on('line', (line) => this.#hear(line));
    // Commands to a process that has just ended: their answer fails.
    child.stdin?.on('error', () => undefined);
    this.#ended = new Promise((resolve) => {
      const end = (): void => {
        this.#isOver = true;
        for (const { reject } of this.#waiting.values()) reject(this.#failure('has ended'));
        resolve();
      };
      child.once('error', end);
      child.once('close', end);
    });
  }

  static async start({ command, args }: JavaProgram, options: NestOptions): Promise<Spring> {
    const settings = {
      ...options,
      postgres: jdbc('postgresql', options.postgres),
      mariadb: jdbc('mariadb', options.mariadb),
    };
    const given = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
    const before = nanoseconds();
    const child = spawn(command, [...JAVA, ...args, ...given], { stdio: ['pipe', 'pipe', 'pipe'] });
    guard(child, dirname(options.witness));
    const spring = new Spring(options.who, child);
    const clock = Number(await spring.#answer(READY));
    if (!(before <= clock && clock <= nanoseconds()))
      throw new Error('The monotonic clocks of Java and Node differ here: their claims cannot be compared.');
    return spring;
  }

  /** Whether it got the lock, for so many ms at most and at least. */
  async lock(place: string, name: string, atMost = 60_000, atLeast = 0): Promise<boolean> {
    return (await this.#ask('lock', place, name, atMost, atLeast)) === 'yes';
  }

  /** The same by KeepAliveLockProvider as an application has it. */
  async keep30(place: string, name: string, atMost: number): Promise<boolean> {
    return (await this.#ask('keep30', place, name, atMost, 0)) === 'yes';
  }

  /** What ShedLock takes for the name of this machine. */
  host(): Promise<string> {
    return this.#ask('host');
  }

  /** The same by KeepAliveLockProvider, which takes shorter locks here than elsewhere. */
  async keep(place: string, name: string, atMost: number): Promise<boolean> {
    return (await this.#ask('keep', place, name, atMost, 0)) === 'yes';
  }

  async unlock(place: string, name: string): Promise<void> {
    await this.#ask('unlock', place, name);
  }

  /** Begins to take the locks of Crowd.java again and again. */
  async crowd(): Promise<void> {
    await this.#ask('crowd');
  }

  /** Ends that; answers its last error, or nothing. */
  endCrowd(): Promise<string> {
    return this.#ask('end');
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.#ended;
  }

  /** @throws an answer that begins with `error` */
  async #ask(...words: (string | number)[]): Promise<string> {
    const id = ++this.#last;
    const answer = this.#answer(id);
    this.child.stdin?.write(`${[id, ...words].join(' ')}\n`);
    const said = await answer;
    if (said.startsWith('error')) throw new Error(`${this.who}, ${words.join(' ')}: ${said}`);
    return said;
  }

  async #answer(id: number): Promise<string> {
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<string>((resolve, reject) => {
        this.#waiting.set(id, { resolve, reject });
        timer = setTimeout(() => reject(this.#failure(`has not answered within ${LIMIT} ms`)), LIMIT);
        if (this.#isOver) reject(this.#failure('has ended'));
      });
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
    }
  }

  #hear(line: string): void {
    const [id = '', ...words] = line.split(' ');
    this.#waiting.get(Number(id))?.resolve(words.join(' '));
  }

  #failure(what: string): Error {
    return new Error(
      `${this.who} (java, pid ${this.child.pid}) ${what}; it said:\n${this.#stderr.slice(-SHOWN)}`,
    );
  }
}

function jdbc(kind: string, url: string): string {
  const { host, pathname, username, password } = new URL(url);
  return `jdbc:${kind}://${host}${pathname}?user=${username}&password=${password}`;
}
