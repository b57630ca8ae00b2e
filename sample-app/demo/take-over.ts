import { setTimeout as sleep } from 'node:timers/promises';
import { Cast } from './cast.js';
import type { Run } from './history.js';
import type { LockServer } from './lock-server.js';
import { conclude, type Play, Record, say } from './play.js';
import { machineTime, type Report } from './reports.js';
import { askShell, questionsOf, summarizeAnswers } from './shell.js';
import { type Summary, summarize } from './summary.js';
import { duration, Timeline } from './timeline.js';

const INSTANCES = ['A', 'B'];
/** The holder is killed after so many heartbeats of its run: in the middle. */
const HEARTBEATS = 4;

/** Two instances, one of which is killed in the middle of its job. */
export class TakeOver implements Play {
  readonly cast = new Cast((instance, report) => this.#hear(instance, report));
  readonly #record = new Record();
  readonly #heartbeats = new Map<string, number>();

  async play(store: string): Promise<void> {
    const { cast } = this;
    const server = await cast.lockServer(store);
    say(`Two instances of the sample app share ${server.what} and have three jobs:`);
    say('  report  every 2 s, runs 8 s on a lease of 3 s, which its heartbeat renews');
    say('  prices  every 5 s, over in a few milliseconds');
    say('  mail    every 10 s, fails');
    await cast.instances(INSTANCES, 'sample-app/demo/instance.js', server.env);

    const timeline = new Timeline(INSTANCES, machineTime(), say);
    this.#record.timeline = timeline;
    say();
    timeline.header(INSTANCES.map((name) => `${name} (pid ${cast.child(name).pid})`));
    for (const name of INSTANCES) cast.child(name).send({ type: 'go' });

    const first = await cast.seen('a run of report', () => this.#runs.find(({ job }) => job === 'report'));
    const { instance } = first;
    await cast.seen(`heartbeats of ${instance}`, () => (this.#heartbeats.get(instance) ?? 0) >= HEARTBEATS);
    // Halfway to the next heartbeat, and to the next tick: easier to read.
    await sleep(500);
    const { killed, killedAt } = await this.#kill(instance);
    const next = await cast
      .seen(`another instance to take report over from ${instance}`, () =>
        this.#runs.find(
          (run) => run.job === 'report' && run.instance !== instance && run.startedAt > killedAt,
        ),
      )
      .catch(() => undefined);
    if (next !== undefined) {
      const after = duration(next.startedAt - killedAt);
      timeline.banner(next.startedAt, `${next.instance} has taken over, ${after} after the kill`, 'green');
      await cast.seen('its end', () => this.#runs.some((run) => isSame(run, next) && run.endedAt < Infinity));
    }
    // While the one that took over is up: of those that have left there is less to see.
    const shell = next && (await this.#askShell(server, killed, next));
    await cast.end();
    timeline.flush();
    const { lines, faults } = summarize(this.#runs, INSTANCES, killed, killedAt);
    conclude(
      { lines: [...lines, ...(shell?.lines ?? [])], faults: [...faults, ...(shell?.faults ?? [])] },
      'Each job ran on one instance at a time, and went on when one died.',
    );
  }

  async #askShell({ shell }: LockServer, killed: Run, next: Run): Promise<Summary> {
    const questions = questionsOf(killed, next);
    const answers = await Promise.all(questions.map((question) => askShell(shell, question)));
    const { lines, faults } = summarizeAnswers(questions, answers);
    const heading = `What the store remembers of it, with SCHEDULER_LOCK_URL and ${shell.options.join(' ')}:`;
    return { lines: ['', heading, ...lines], faults };
  }

  #hear(name: string, report: Report): void {
    this.#record.hear(name, report);
    if (report.type !== 'lock') return;
    if (report.event === 'renewed') this.#heartbeats.set(name, (this.#heartbeats.get(name) ?? 0) + 1);
    if (!this.cast.over) this.#record.timeline?.lock(name, report);
  }

  async #kill(name: string): Promise<{ killed: Run; killedAt: number }> {
    const running = this.#runs.find(
      (run) => run.instance === name && run.job === 'report' && run.endedAt === Infinity,
    );
    const killedAt = await this.#record.kill(this.cast, name, 'in the middle of its report');
    const killed = this.#runs.find((run) => running !== undefined && isSame(run, running));
    if (killed?.outcome !== 'killed') throw new Error(`${name} was not running report when it was killed`);
    return { killed, killedAt };
  }

  get #runs(): Run[] {
    return this.#record.runs;
  }
}

function isSame(one: Run, other: Run): boolean {
  return one.instance === other.instance && one.fencingToken === other.fencingToken && one.job === other.job;
}
