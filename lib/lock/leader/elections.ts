/*
 * lib/lock/leader: who leads, and which calls of jobs only the leader lets through. An election is a lease that is held for as long as the
 * instance lives.
 * May not enter: the scheduler, the rules of a lock.
 */
import { SchedulerLockConfigError } from '../../base/errors.js';
import type { LockCall, LockSettings } from '../lock-call.js';
import { Election, type ElectionHooks, type ElectionParts } from './election.js';
import type { LeaderGrant } from './leader-lease.js';

/** How long an instance stands in line before it enters again, ms: after this time, the place of a dead instance is void. */
const WAIT = 60_000;

export class Elections {
  readonly #elections = new Map<string, Election>();
  /** Where each election was declared, by its name, which is that of its lock. */
  readonly declaredAt = new Map<unknown, string>();

  /** @param openHints has the store send hints to calls in line. Returns whether it does */
  constructor(
    private readonly parts: Pick<ElectionParts, 'patience' | 'clock' | 'emit'>,
    private readonly acquire: (call: LockCall) => Promise<LeaderGrant>,
    private readonly openHints: () => boolean,
  ) {}

  /** @param election `undefined`: none, as its options are bad. @returns why it cannot be added */
  add(
    where: string,
    election: { readonly name: string; readonly lock: LockSettings } | undefined,
    hooks: ElectionHooks,
  ): string[] {
    if (election === undefined) return [];
    const { name, lock } = election;
    const other = this.declaredAt.get(name);
    if (other !== undefined)
      return [`name: "${name}" is the election of ${other} already. Give one of them another name.`];
    this.declaredAt.set(name, where);
    const settings: LockSettings = { ...lock, onStoreError: 'skip' };
    const call: LockCall = { kind: 'election', name, job: undefined, settings };
    const waits = { ...settings, wait: WAIT };
    const take = (signal: AbortSignal): Promise<LeaderGrant> =>
      this.acquire(this.openHints() ? { ...call, settings: waits, signal } : call);
    this.#elections.set(name, new Election({ ...this.parts, name, ttl: lock.ttl, hooks, take }));
    return [];
  }

  /** @throws SchedulerLockConfigError if the application takes part in no election of this name */
  get(name: string | undefined): Election {
    const election = name === undefined ? undefined : this.#elections.get(name);
    if (election !== undefined) return election;
    const known = this.names.map((other) => `"${other}"`).join(', ') || 'none';
    const what = name === undefined ? 'forRoot() was given no `leader`' : `there is no election "${name}"`;
    throw new SchedulerLockConfigError([`${what}. This application takes part in ${known}.`]);
  }

  get names(): string[] {
    return [...this.#elections.keys()];
  }

  /** The names of those that this instance leads. */
  get led(): string[] {
    return [...this.#elections.values()].filter(({ leads }) => leads).map(({ name }) => name);
  }

  /** Begins to campaign in each election but this one. */
  start(but: string | undefined): void {
    for (const election of this.#elections.values()) if (election.name !== but) election.start();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#elections.values()].map((election) => election.stop()));
  }
}
