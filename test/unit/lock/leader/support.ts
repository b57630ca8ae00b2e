import { Election, type ElectionHooks } from '../../../../lib/lock/leader/election.js';
import type { LeaderLease } from '../../../../lib/lock/leader/leader-lease.js';
import { Harness, SETTINGS } from '../harness.js';

/** A candidate's own settings: ttl 9 s, so the others ask every 3 s, and a lease that was sent at 0 is lost at 8,908. */
export const TTL = 9_000;
export const PERIOD = TTL / 3;
/** How long a lease is kept for a hook that does not end, ms. */
export const PATIENCE = 4_000;

/** One instance that takes part in the election `feed`, and what became of it. */
export class Candidate {
  readonly election: Election;
  /** What happened, in order: `elected`, `aborted`, `revoked <reason>`. */
  readonly story: string[] = [];
  lease: LeaderLease | undefined;
  hooks: Partial<ElectionHooks> = {};

  constructor(
    readonly harness: Harness,
    drained?: () => Promise<unknown>,
  ) {
    const settings = { ...SETTINGS, ttl: TTL, heartbeat: 2_700, onStoreError: 'skip' } as const;
    const hooks: ElectionHooks = {
      elected: (lease) => {
        this.lease = lease;
        this.story.push('elected');
        lease.signal.addEventListener('abort', () => this.story.push('aborted'));
        return this.hooks.elected?.(lease);
      },
      revoked: (reason) => {
        this.story.push(`revoked ${reason}`);
        return this.hooks.revoked?.(reason);
      },
      ...(drained === undefined ? undefined : { drained }),
    };
    this.election = new Election({
      name: 'feed',
      ttl: TTL,
      patience: PATIENCE,
      clock: harness.clock,
      emit: (event) => void harness.events.push(event),
      hooks,
      take: () => harness.runner.acquire({ name: 'feed', job: undefined, settings, kind: 'election' }),
    });
  }

  get leads(): boolean {
    return this.election.leads;
  }

  /** When it asked for the lease, monotonic. */
  get campaigns(): number[] {
    return this.harness.store.of('acquire').map(({ at }) => at);
  }
}

/** Candidates in processes of their own, with one clock and one store. */
export function candidates(count: number): Candidate[] {
  const first = new Harness(undefined, 'instance-0');
  const harnesses = [
    first,
    ...Array.from({ length: count - 1 }, (_, i) => new Harness(first, `instance-${i + 1}`)),
  ];
  return harnesses.map((harness) => new Candidate(harness));
}
