import { Cast } from './cast.js';
import { paint } from './paint.js';
import { type Play, say } from './play.js';

const SCRIPT = 'sample-app/demo/page-instance.js';
const OLD = ['old-1', 'old-2'];
const NEW = ['new-1'];

/** What the page has to show of a job at some time, and what people are told then. */
const SHOWN = [
  ['mail', 'failing', 'its runs fail'],
  ['export', 'overrun', 'it takes longer than the time between its ticks'],
  ['digest', 'disagree', 'the new version has another schedule for it'],
  ['cleanup', 'overdue', 'nobody has it switched on any more'],
] as const;
/** For how long that may take, ms: runs, ticks and times of grace of some seconds each. */
const MOST = 90_000;

/** A fleet with all kinds of events in its first minute, and the page that shows it. */
export class OnPage implements Play {
  readonly #pages = new Map<string, string>();
  readonly cast = new Cast((instance, report) => {
    if (report.type === 'page') this.#pages.set(instance, report.url);
  });

  /** @param ends whether the demo is over when the page has shown all of it; if not, it goes on until Ctrl+C */
  constructor(private readonly ends: boolean) {}

  async play(store: string): Promise<void> {
    const { cast } = this;
    const server = await cast.lockServer(store);
    await this.#start(OLD, { ...server.env, VERSION: '1.0.0' });
    await cast.seen('the page', () => this.#pages.has('old-1'));
    const url = this.#pages.get('old-1') ?? '';
    say(`Two instances share ${server.what}. The page of their jobs:`);
    say();
    say(paint(`  ${url}`, 'green', 'bold'));
    say();
    await this.#show(url, ['mail', 'export']);
    say('A deploy: new-1 has version 1.1.0, and another schedule for digest.');
    await this.#start(NEW, { ...server.env, VERSION: '1.1.0' });
    await this.#show(url, ['digest']);
    const pid = await cast.kill('old-2');
    say(`kill -9 ${pid}: old-2 dies. Nobody else has cleanup switched on.`);
    await this.#show(url, ['cleanup']);
    if (this.ends) return;
    say('Now pause a job, run one, break a lock. Ctrl+C ends the demo.');
    await new Promise<void>(() => {
      // Its children keep the process alive.
    });
  }

  async #start(names: readonly string[], env: Record<string, string>): Promise<void> {
    await this.cast.instances(names, SCRIPT, env);
    for (const name of names) this.cast.child(name).send({ type: 'go' });
  }

  /** Waits until the page shows how these jobs are. */
  async #show(url: string, jobs: readonly string[]): Promise<void> {
    for (const [job, status, why] of SHOWN.filter(([each]) => jobs.includes(each))) {
      await this.cast.seen(`${job} as ${status}`, async () => (await statusOf(url, job)) === status, MOST);
      say(`The page shows ${job} as ${paint(status, 'yellow')}: ${why}.`);
    }
  }
}

/** How a job is, by the JSON beside the page. */
async function statusOf(url: string, lock: string): Promise<string | undefined> {
  const answer = await fetch(`${url}/api/v1/jobs`);
  const { jobs = [] } = (await answer.json()) as { jobs?: { lock?: string; status: string }[] };
  return jobs.find((job) => job.lock === lock)?.status;
}
