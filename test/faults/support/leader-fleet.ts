import { spawnChild, type ChildMessage, type TestChild } from '../../support/child.js';
import { builtScript } from '../../support/machine.js';
import { until } from '../../support/until.js';
import type { StoreAddress } from '../children/open-store.js';
import { type Account, type Belief, beliefs } from './beliefs.js';
import type { StoreLink, StoreServer } from './leader-stores.js';

/** What crosses the channel to a child process. */
export interface CandidateOptions {
  readonly store: StoreAddress;
  readonly ttl: number;
  readonly instanceId: string;
}

/** CLOCK_MONOTONIC, ms, as the children have it. */
export const now = (): number => Number(process.hrtime.bigint() / 1_000n) / 1_000;

/** One instance. */
export class Candidate implements Account {
  killedAt: number | undefined;

  constructor(
    readonly instance: string,
    readonly child: TestChild,
    readonly link: StoreLink,
  ) {}

  get messages(): readonly ChildMessage[] {
    return this.child.messages;
  }

  heard(type: string, lock?: string): ChildMessage[] {
    return this.messages.filter(
      (message) => message.type === type && (lock === undefined || message['lock'] === lock),
    );
  }

  /** Whether its last word on the election was that it leads. */
  leads(lock: string): boolean {
    return this.child.running && this.heard('elected', lock).length > this.heard('revoked', lock).length;
  }

  /** What it answers if it is asked now whether it leads. */
  async judge(lock: string): Promise<unknown> {
    this.child.send({ type: 'judge' });
    return (await this.child.next('judged'))[lock];
  }

  async kill(): Promise<void> {
    await this.child.kill();
    this.killedAt = now();
  }

  /** Closes the application; the process must end by itself and without a word. */
  async close(): Promise<{ code: number | null; stderr: string }> {
    this.child.send({ type: 'close' });
    const { code } = await this.child.ended();
    return { code, stderr: this.child.stderr };
  }
}

/** Instances in processes of their own, all that ever were. */
export class LeaderFleet {
  readonly all: Candidate[] = [];
  #started = 0;

  constructor(
    private readonly server: StoreServer,
    readonly ttl: number,
  ) {}

  get alive(): Candidate[] {
    return this.all.filter(({ child }) => child.running);
  }

  /** Lets all reach the store, and starts some until there are three. */
  async fill(): Promise<void> {
    await Promise.all(this.alive.map(({ link }) => link.proxy.refuse(false)));
    const missing = Math.max(0, 3 - this.alive.length);
    await Promise.all(Array.from({ length: missing }, () => this.start()));
  }

  async start(): Promise<Candidate> {
    const instanceId = `instance-${this.#started++}`;
    const link = await this.server.link();
    const options: CandidateOptions = { store: link.address, ttl: this.ttl, instanceId };
    const child = await spawnChild(builtScript('test/faults/children/leader.js'), {
      env: { FAULT_OPTIONS: JSON.stringify(options) },
    });
    const candidate = new Candidate(instanceId, child, link);
    this.all.push(candidate);
    await child.next('ready');
    return candidate;
  }

  /** How often somebody has been elected so far. */
  terms(lock: string): number {
    return this.all.reduce((sum, candidate) => sum + candidate.heard('elected', lock).length, 0);
  }

  /** Waits for the next election after so many. */
  async elected(lock: string, after: number): Promise<{ leader: Candidate; at: number; wall: number }> {
    await until(() => this.terms(lock) > after, { message: `election ${after + 1} of ${lock}` });
    const terms = this.all.flatMap((leader) =>
      leader.heard('elected', lock).map(({ at, wall }) => ({ leader, at: Number(at), wall: Number(wall) })),
    );
    const [term] = terms.sort((a, b) => b.at - a.at);
    if (term === undefined) throw new Error('nobody was elected');
    return term;
  }

  /** Waits for the first election after a moment, monotonic. */
  electedAfter(lock: string, moment: number): Promise<{ leader: Candidate; at: number }> {
    return until(
      () => {
        const terms = this.all.flatMap((leader) =>
          leader.heard('elected', lock).map(({ at }) => ({ leader, at: Number(at) })),
        );
        return terms.filter(({ at }) => at > moment).sort((a, b) => a.at - b.at)[0];
      },
      { message: `the next election of ${lock}` },
    );
  }

  /** Those that gave up an election by themselves, in the order in which they did. */
  resigned(lock: string): { leader: Candidate; at: number }[] {
    const ends = this.all.flatMap((leader) =>
      leader.heard('revoked', lock).map(({ at, reason }) => ({ leader, at: Number(at), reason })),
    );
    return ends.filter(({ reason }) => reason === 'resigned').sort((a, b) => a.at - b.at);
  }

  /** The one that leads; waits until there is one, and one only. */
  leader(lock: string): Promise<Candidate> {
    return until(
      () => {
        const leaders = this.alive.filter((candidate) => candidate.leads(lock));
        return leaders.length === 1 && leaders[0];
      },
      { message: `a leader of ${lock}` },
    );
  }

  beliefs(lock: string): Belief[] {
    return beliefs(lock, this.all);
  }

  /** The runs of a job, of all instances. */
  runs(job: string): { instance: string; at: number; tick: number }[] {
    return this.all.flatMap(({ instance, messages }) =>
      messages
        .filter((message) => message.type === 'run' && message['job'] === job)
        .map(({ at, tick }) => ({ instance, at: Number(at), tick: Number(tick) })),
    );
  }
}
