import { setTimeout as sleep } from 'node:timers/promises';
import { Cast } from './cast.js';
import type { Run } from './history.js';
import { conclude, type Play, Record, say } from './play.js';
import { machineTime, type Report } from './reports.js';
import { summarizeLine } from './summary.js';
import { duration, type Layout, Timeline } from './timeline.js';

const CALLERS = ['A', 'B', 'C'];
/** Between two steps: easier to read. */
const PAUSE_MS = 700;
const LAYOUT: Layout = { lane: 27, longJob: 'sync', starts: () => 'has its turn' };

/** Three callers of one lock: A has it, B and C wait in line. B is killed there, and A asks once more. */
export class InLine implements Play {
  readonly cast = new Cast((instance, report) => this.#hear(instance, report));
  readonly #record = new Record();
  /** The instances of the calls, in the order in which they asked. */
  readonly #asked: string[] = [];
  #waiting = 0;

  async play(store: string): Promise<void> {
    const { cast } = this;
    const server = await cast.lockServer(store);
    say(`Three applications share ${server.what} and call with { wait: '1m' } what one at a time may do:`);
    say('  sync  runs until it is told to end');
    await cast.instances(CALLERS, 'sample-app/demo/caller.js', server.env);

    const timeline = new Timeline(CALLERS, machineTime(), say, LAYOUT);
    this.#record.timeline = timeline;
    say();
    timeline.header(CALLERS.map((name) => `${name} (pid ${cast.child(name).pid})`));

    await this.#call('A', 'runs');
    await this.#call('B', 'waits');
    await this.#call('C', 'waits');
    await sleep(PAUSE_MS);
    await this.#record.kill(cast, 'B', 'as the first in line');
    await sleep(PAUSE_MS);
    const released = await this.#end('A');
    await this.#call('A', 'waits');
    const next = await this.#turn('C');
    const after = duration(next.startedAt - released.endedAt);
    timeline.banner(
      next.startedAt,
      `C has its turn, ${after} after A's end: B was called, and is dead`,
      'green',
    );
    await sleep(PAUSE_MS);
    await this.#end('C');
    await this.#turn('A');
    await sleep(PAUSE_MS);
    await this.#end('A');
    await cast.end();
    timeline.flush();
    conclude(
      summarizeLine(this.#record.runs, this.#asked, 'B'),
      'Each call had its turn in the order in which they asked, and the dead one held nobody up for long.',
    );
  }

  /** One calls; resolves when it has the lock, or stands in line. */
  async #call(name: string, then: 'runs' | 'waits'): Promise<void> {
    const waiting = this.#waiting;
    this.#asked.push(name);
    this.cast.child(name).send({ type: 'call' });
    if (then === 'runs') await this.#turn(name);
    else await this.cast.seen(`${name} to wait`, () => this.#waiting > waiting);
  }

  /** The run that one has at last. */
  #turn(name: string): Promise<Run> {
    return this.cast.seen(`the turn of ${name}`, () => this.#running(name));
  }

  /** Ends the run of one. Returns it. */
  async #end(name: string): Promise<Run> {
    const token = this.#running(name)?.fencingToken;
    this.cast.child(name).send({ type: 'end' });
    return this.cast.seen(`the end of ${name}`, () =>
      this.#record.runs.find(({ fencingToken, endedAt }) => fencingToken === token && endedAt < Infinity),
    );
  }

  #running(name: string): Run | undefined {
    return this.#record.runs.find(({ instance, outcome }) => instance === name && outcome === 'running');
  }

  #hear(name: string, report: Report): void {
    this.#record.hear(name, report);
    if (report.type !== 'lock') return;
    if (report.event === 'waiting') this.#waiting += 1;
    this.#record.timeline?.lock(name, report);
  }
}
