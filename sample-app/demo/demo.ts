import { setTimeout as sleep } from 'node:timers/promises';
import { spawnChild, type TestChild } from '../../test/support/child.js';
import { builtScript } from '../../test/support/machine.js';
import { until } from '../../test/support/until.js';
import { type Fact, type Run, runsOf } from './history.js';
import { type LockServer, provideLockServer } from './lock-server.js';
import { paint } from './paint.js';
import { machineTime, type Report } from './reports.js';
import { summarize } from './summary.js';
import { duration, Timeline } from './timeline.js';

const INSTANCES = ['A', 'B'];
/** The holder is killed after so many heartbeats of its run: in the middle. */
const HEARTBEATS = 4;
const LIMIT = 20_000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const say = (line = ''): void => void process.stdout.write(`${line}\n`);

/** Two instances, one of which is killed in the middle of its job. Sets the exit code: 0 if all went well. */
export async function main(): Promise<void> {
  // `npm run demo | head`: whoever reads has seen enough. What was started ends with this process.
  process.stdout.on('error', () => process.exit(1));
  const interrupted = new Promise<never>((_, reject) => {
    for (const signal of SIGNALS) process.once(signal, () => reject(new Interrupted(signal)));
  });
  const demo = new Demo();
  try {
    await Promise.race([demo.play(), interrupted]);
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    say(`\n${error.signal}: stopping what was started.`);
    await demo.cleanUp();
    // The play is still waiting for what will not happen any more.
    process.exit(130);
  } finally {
    await demo.cleanUp();
  }
}

class Interrupted extends Error {
  constructor(readonly signal: string) {
    super(signal);
  }
}

class Demo {
  readonly #facts: Fact[] = [];
  readonly #heartbeats = new Map<string, number>();
  readonly #children = new Map<string, TestChild>();
  readonly #starting = new Set<Promise<unknown>>();
  #server: LockServer | undefined;
  #timeline: Timeline | undefined;
  #over = false;

  async play(): Promise<void> {
    const store = storeArgument(process.argv);
    const server = await this.#start(async () => (this.#server = await provideLockServer(store)));
    say(`Two instances of the sample app share ${server.what} and have three jobs:`);
    say('  report  every 2 s, runs 8 s on a lease of 3 s, which its heartbeat renews');
    say('  prices  every 5 s, over in a few milliseconds');
    say('  mail    every 10 s, fails');
    await Promise.all(INSTANCES.map((name) => this.#start(() => this.#startInstance(name, server.env))));

    const timeline = new Timeline(INSTANCES, machineTime(), say);
    this.#timeline = timeline;
    say();
    timeline.header(INSTANCES.map((name) => `${name} (pid ${this.#child(name).pid})`));
    for (const child of this.#children.values()) child.send({ type: 'go' });

    const first = await this.#seen('a run of report', () => this.#runs().find(({ job }) => job === 'report'));
    const { instance } = first;
    await this.#seen(`heartbeats of ${instance}`, () => (this.#heartbeats.get(instance) ?? 0) >= HEARTBEATS);
    // Halfway to the next heartbeat, and to the next tick: easier to read.
    await sleep(500);
    const { killed, killedAt } = await this.#kill(instance);
    const next = await this.#seen(`another instance to take report over from ${instance}`, () =>
      this.#runs().find(
        (run) => run.job === 'report' && run.instance !== instance && run.startedAt > killedAt,
      ),
    ).catch(() => undefined);
    if (next !== undefined) {
      const after = duration(next.startedAt - killedAt);
      timeline.banner(next.startedAt, `${next.instance} has taken over, ${after} after the kill`, 'green');
      await this.#seen('its end', () =>
        this.#runs().some((run) => isSame(run, next) && run.endedAt < Infinity),
      );
    }
    this.#over = true;
    await Promise.all([...this.#children.values()].map((child) => child.stop()));
    timeline.flush();
    this.#conclude(killed, killedAt);
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

  async #startInstance(name: string, env: Record<string, string>): Promise<void> {
    const child = await spawnChild(builtScript('sample-app/demo/instance.js'), {
      env: { ...env, INSTANCE_ID: name },
    });
    this.#children.set(name, child);
    await child.next('ready');
    void this.#listen(name, child);
  }

  async #listen(name: string, child: TestChild): Promise<void> {
    try {
      for (;;) this.#hear(name, await child.next<Report>(() => true, 2 * LIMIT));
    } catch {
      // It has ended, and all that it said is heard.
    }
  }

  #hear(name: string, report: Report): void {
    if (report.type === 'ready') return;
    if (report.type === 'lock') {
      if (report.event === 'renewed') this.#heartbeats.set(name, (this.#heartbeats.get(name) ?? 0) + 1);
      if (!this.#over) this.#timeline?.lock(name, report);
    } else {
      this.#note({ ...report, instance: name });
    }
  }

  #note(fact: Fact): void {
    this.#facts.push(fact);
    this.#timeline?.fact(fact);
  }

  async #kill(name: string): Promise<{ killed: Run; killedAt: number }> {
    const child = this.#child(name);
    const running = this.#runs().find(
      (run) => run.instance === name && run.job === 'report' && run.endedAt === Infinity,
    );
    const killedAt = machineTime();
    await child.kill();
    this.#timeline?.banner(killedAt, `kill -9 ${child.pid}: ${name} dies in the middle of its report`, 'red');
    this.#note({ type: 'instance-ended', instance: name, at: machineTime() });
    const killed = this.#runs().find((run) => running !== undefined && isSame(run, running));
    if (killed?.outcome !== 'killed') throw new Error(`${name} was not running report when it was killed`);
    return { killed, killedAt };
  }

  #conclude(killed: Run, killedAt: number): void {
    const { lines, faults } = summarize(this.#runs(), INSTANCES, killed, killedAt);
    say();
    for (const line of lines) say(`  ${line}`.trimEnd());
    say();
    for (const fault of faults) say(paint(`FAILED: ${fault}`, 'red', 'bold'));
    if (faults.length === 0)
      say(paint('Each job ran on one instance at a time, and went on when one died.', 'green'));
    else process.exitCode = 1;
  }

  #runs(): Run[] {
    return runsOf(this.#facts);
  }

  #child(name: string): TestChild {
    const child = this.#children.get(name);
    if (child === undefined) throw new Error(`${name} was not started`);
    return child;
  }

  #seen<T>(what: string, look: () => T) {
    return until(look, { timeout: LIMIT, interval: 10, message: () => `${what}${this.#output()}` });
  }

  /** What the instances had to complain about. */
  #output(): string {
    return [...this.#children].map(([name, { stderr }]) => (stderr ? `\n${name}: ${stderr}` : '')).join('');
  }
}

/** `--store postgres`, or `--store=postgres`. */
function storeArgument(args: readonly string[]): string {
  const words = args.flatMap((arg) => arg.split('='));
  const at = words.indexOf('--store');
  return at < 0 ? 'redis' : (words[at + 1] ?? '');
}

function isSame(one: Run, other: Run): boolean {
  return one.instance === other.instance && one.fencingToken === other.fencingToken && one.job === other.job;
}
