import { setTimeout as sleep } from 'node:timers/promises';
import { Cast } from './cast.js';
import { paint } from './paint.js';
import { type Play, say } from './play.js';

const SCRIPT = 'sample-app/demo/page-instance.js';
const OLD = ['old-1', 'old-2'];
const NEW = ['new-1'];

/** A fleet with all kinds of events in its first minute, and the page that shows it, until Ctrl+C. */
export class OnPage implements Play {
  readonly #pages = new Map<string, string>();
  readonly cast = new Cast((instance, report) => {
    if (report.type === 'page') this.#pages.set(instance, report.url);
  });

  async play(store: string): Promise<void> {
    const { cast } = this;
    const server = await cast.lockServer(store);
    await cast.instances(OLD, SCRIPT, { ...server.env, VERSION: '1.0.0' });
    for (const name of OLD) cast.child(name).send({ type: 'go' });
    await cast.seen('the page', () => this.#pages.has('old-1'));
    say(`Two instances share ${server.what}. The page of their jobs:`);
    say();
    say(paint(`  ${this.#pages.get('old-1')}`, 'green', 'bold'));
    say();
    say('Watch it for a minute: mail fails, export takes longer than the time between its ticks.');
    await sleep(12_000);
    say('A deploy: new-1 has version 1.1.0, and another schedule for digest.');
    await cast.instances(NEW, SCRIPT, { ...server.env, VERSION: '1.1.0' });
    for (const name of NEW) cast.child(name).send({ type: 'go' });
    await sleep(10_000);
    const pid = await cast.kill('old-2');
    say(`kill -9 ${pid}: old-2 dies. Nobody else has cleanup switched on: soon it is overdue.`);
    say('Now pause a job, run one, break a lock. Ctrl+C ends the demo.');
    await new Promise<void>(() => {
      // Its children keep the process alive.
    });
  }
}
