import { setTimeout as sleep } from 'node:timers/promises';
import { Cast } from './cast.js';
import { paint } from './paint.js';
import { type Play, say } from './play.js';
import { type Shown, SHOWN } from './shown.js';
import { StoreGate } from './store-gate.js';

const SCRIPT = 'sample-app/demo/page-instance.js';
/** For how long that may take, ms: runs, ticks and times of grace of some seconds each. */
const MOST = 90_000;
/** The page answers with what it has for two seconds. */
const BETWEEN_LOOKS = 250;
/** Longer than the time between two ticks, and their grace, ms. */
const OUTAGE = 8_000;

/** A fleet with all kinds of events in its first minutes, and the page that shows it. */
export class OnPage implements Play {
  readonly #pages = new Map<string, string>();
  /** Who began the newest run of report. */
  #reporter: string | undefined;
  #gate: StoreGate | undefined;
  readonly cast = new Cast((instance, report) => {
    if (report.type === 'page') this.#pages.set(instance, report.url);
    else if (report.type === 'lock' && report.lock === 'report') this.#reporter = instance;
  });

  /** @param ends whether the demo is over when the page has shown all of it; if not, it goes on until Ctrl+C */
  constructor(private readonly ends: boolean) {}

  async play(store: string): Promise<void> {
    const { cast } = this;
    const server = await cast.lockServer(store);
    this.#gate = await StoreGate.before(server.env);
    const { env } = this.#gate ?? server;
    await this.#start(['old-1', 'old-2', 'old-3'], { ...env, VERSION: '1.0.0' });
    await cast.seen('the page', () => this.#pages.has('old-1'));
    const url = this.#pages.get('old-1') ?? '';
    say(`Three instances share ${server.what}. The page of their jobs:`);
    say();
    say(paint(`  ${url}`, 'green', 'bold'));
    say();
    await this.#pause(url);
    await this.#show(url, ['pause', 'leader', 'fires', 'line', 'queued', 'dead', 'fails']);
    await this.#die();
    await this.#show(url, ['gone']);
    await this.#deploy(env);
    await this.#show(url, ['left', 'version', 'schedule', 'disagree', 'overdue', 'overrun']);
    await this.#outage(url);
    if (this.ends) return;
    say('Now resume backup, run a job, break a lock, put a dead letter back. Ctrl+C ends the demo.');
    await new Promise<void>(() => {
      // Its children keep the process alive.
    });
  }

  /** As the button of the page does it. */
  async #pause(url: string): Promise<void> {
    const answer = await fetch(`${url}/api/v1/jobs/pause`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify({ job: 'FleetJobs.backup', reason: 'the disk is full', for: '1h' }),
    });
    if (!answer.ok) throw new Error(`The page did not pause backup: ${await answer.text()}`);
    say('A person pauses backup for an hour: the disk is full.');
  }

  async #die(): Promise<void> {
    this.#reporter = undefined;
    await this.cast.seen('a run of report on old-2', () => this.#reporter === 'old-2', MOST);
    const pid = await this.cast.kill('old-2');
    say(`kill -9 ${pid}: old-2 dies in a run of report. Nobody else has cleanup switched on.`);
  }

  async #deploy(env: Record<string, string>): Promise<void> {
    say('A deploy: new-1 has version 1.1.0, and another schedule for digest. old-3 is shut down.');
    await this.#start(['new-1'], { ...env, VERSION: '1.1.0' });
    await this.cast.stop('old-3');
  }

  async #outage(url: string): Promise<void> {
    const gate = this.#gate;
    if (gate === undefined) {
      say('LEFT OUT: an outage. The connection to the store is encrypted, so the demo cannot cut it.');
      return;
    }
    say(
      `The store is away for ${OUTAGE / 1_000} s: whoever runs export loses its lease, and is slow to stop.`,
    );
    gate.shut();
    await Promise.all([this.#show(url, ['grey']), sleep(OUTAGE)]);
    gate.open();
    await this.#show(url, ['outage', 'misses']);
  }

  async #start(names: readonly string[], env: Record<string, string>): Promise<void> {
    await this.cast.instances(names, SCRIPT, env);
    for (const name of names) this.cast.child(name).send({ type: 'go' });
  }

  /** Waits until the page shows these, in whatever order they come. */
  async #show(url: string, kinds: readonly (keyof typeof SHOWN)[]): Promise<void> {
    const left = new Map(kinds.map((kind) => [kind, SHOWN[kind]]));
    const what = (): string => `on the page: ${[...left.keys()].join(', ')}`;
    const look = async (): Promise<boolean> => {
      await sleep(BETWEEN_LOOKS);
      const page = await textOf(url);
      for (const [kind, shown] of left) if (this.#isThere(page, shown)) left.delete(kind);
      return left.size === 0;
    };
    await this.cast.seen(what, look, MOST);
  }

  #isThere(page: string, { shows, told }: Shown): boolean {
    const isThere = shows.test(page);
    if (isThere) say(`  The page shows ${told}.`);
    return isThere;
  }
}

/** What the page of all jobs says, as HTML. */
async function textOf(url: string): Promise<string> {
  const answer = await fetch(url);
  return answer.text();
}
