import { randomUUID as uuid } from 'node:crypto';
import type {
  AcquireRequest,
  AcquireResult,
  ExtendResult,
  ReleaseOptions,
  ReleaseResult,
} from '../../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../../lib/contract/lease-ref.js';
import { type StartFields, StartModel } from './start-model.js';

const HOUR = 3_600_000;

/** A lease, with all that it was asked for by. */
export type ModelLease = LeaseRef & StartFields;

/** What is asked for. */
export function requestOf(lease: ModelLease): AcquireRequest {
  const { fencingToken: _fencingToken, attempt: _attempt, ...request } = lease;
  return request;
}

/** What an instance knows of its lease: of a tick, which run it is. */
export function refOf(lease: ModelLease): LeaseRef {
  const { rerun: _rerun, only: _only, interval: _interval, ...ref } = lease;
  return ref.tick === undefined ? ref : { attempt: 1, ...ref };
}

/** What a lease was asked for by. */
export function startOf({ job, tick, rerun, only, interval }: ModelLease): StartFields {
  const fields = Object.entries({ job, tick, rerun, only, interval });
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

/** What a store keeps beside a lock: the newest lease, as far as the store remembers. */
interface Record {
  readonly lease: ModelLease;
  ended: boolean;
  /** Restored without its start, as a newer one was known: which run of its tick it is was lost. */
  startless?: boolean;
}

interface ModelLock {
  /** Who has the lock; also a lease that ended, while its lock is kept. */
  owner: ModelLease | undefined;
  /** Its lease has ended, though the lock is kept: known even where the record was evicted. */
  kept: boolean;
  record: Record | undefined;
  readonly starts: StartModel;
  /** The greatest fencing token that was ever granted. */
  fence: number;
}

/**
 * The simplest model of a store. It knows no time: `expire` says when time has passed. And it draws no fencing
 * tokens: it says which one an answer must have, or only that it must be greater than every one before.
 */
export class StoreModel {
  /** Every lease that was ever asked for, granted or not; with the newest fencing token that it was granted. */
  readonly leases: ModelLease[] = [];
  readonly #locks = new Map<string, ModelLock>();
  /** Tokens of those that were released otherwise than as abandoned. */
  readonly #ended = new Set<string>();

  /** @param durable the store loses nothing, so it restores nothing, and need not note the end of what it never knew */
  constructor(private readonly durable = false) {}

  /** The lease that a command is about: one of those that were made, whatever has become of it. */
  lease(pick: number): ModelLease {
    const lease = this.leases[pick % Math.max(1, this.leases.length)];
    if (lease === undefined) throw new Error('No lease was made yet');
    return lease;
  }

  /** A lease as it was granted last. */
  granted(lease: ModelLease): ModelLease {
    return this.leases.find((each) => same(each, lease)) ?? lease;
  }

  newLease(name: string, asked: StartFields = {}): ModelLease {
    const lease = {
      ...asked,
      name,
      token: uuid(),
      fencingToken: 0,
      ttl: HOUR,
      holder: `instance-${this.leases.length}`,
    };
    this.leases.push(lease);
    return lease;
  }

  /** A lease that was granted by a store that was set back since. */
  missed(name: string, asked: StartFields = {}): ModelLease {
    const attempt = asked.tick === undefined ? undefined : 1;
    return this.#regrant(this.newLease(name, asked), this.lock(name).fence + 1, attempt);
  }

  lock(name: string): ModelLock {
    let lock = this.#locks.get(name);
    if (lock === undefined) {
      lock = { owner: undefined, kept: false, record: undefined, starts: new StartModel(), fence: 0 };
      this.#locks.set(name, lock);
    }
    return lock;
  }

  /** Whether an attempt would be granted. */
  isFree(name: string, asked: StartFields = {}): boolean {
    const { owner, starts } = this.lock(name);
    return owner === undefined && starts.refusal(asked) === undefined;
  }

  /** Checks the answer to an attempt, and notes it. */
  // oxlint-disable-next-line complexity -- the rules of the contract one after another, as it states them
  acquired(lease: ModelLease, answer: AcquireResult): string | undefined {
    const lock = this.lock(lease.name);
    const { owner, record } = lock;
    const recorded = same(record?.lease, owner);
    const ours = same(owner, lease) && !lock.kept;
    if (owner !== undefined && (!ours || (recorded && record?.ended))) {
      if (answer.acquired) return `refused: ${owner.holder} has the lock`;
      const reason = recorded && record?.ended ? 'cooling-down' : 'held';
      if (answer.reason !== reason) return `refused as ${reason}`;
      if (answer.holder !== (recorded ? owner.holder : undefined))
        return `refused because of ${owner.holder}`;
      return tells(answer, lock.starts.last(lease));
    }
    if (ours && recorded) {
      const { fencingToken, attempt = 1 } = record?.lease ?? lease;
      const run = record?.startless === true || !answer.acquired || (answer.attempt ?? 1) === attempt;
      const right = answer.acquired && answer.fencingToken === fencingToken && run;
      return right ? undefined : `granted with ${fencingToken} as run ${attempt}, as before`;
    }
    const refusal = lock.starts.refusal(lease);
    if (refusal !== undefined) {
      const right = !answer.acquired && answer.reason === refusal.reason;
      return right ? tells(answer, refusal) : `refused as ${refusal.reason}`;
    }
    if (!answer.acquired) return 'granted: the lock is free, or its own';
    const { fencingToken } = answer;
    const attempt = lock.starts.begin(lease);
    if ((answer.attempt ?? 1) !== (attempt ?? 1)) return `granted as run ${String(attempt)}`;
    // A store that keeps it with the lock still knows what it has granted.
    const again = ours && fencingToken === owner?.fencingToken;
    if (!again && fencingToken <= lock.fence) return `granted with a fencing token above ${lock.fence}`;
    const granted = this.#regrant(lease, fencingToken, attempt);
    const fresh = { lease: granted, ended: false };
    const fence = Math.max(lock.fence, fencingToken);
    Object.assign(lock, { owner: granted, kept: false, record: fresh, fence });
    return undefined;
  }

  // oxlint-disable-next-line complexity -- the rules of the contract one after another, as it states them
  extended(lease: ModelLease, answer: ExtendResult): string | undefined {
    const lock = this.lock(lease.name);
    const { record } = lock;
    const owner = this.#isOutlived(lock, lease) ? undefined : lock.owner;
    if (owner !== undefined && !same(owner, lease)) {
      const holder = same(record?.lease, owner) ? owner.holder : undefined;
      const right = answer.held === false && answer.reason === 'taken' && answer.holder === holder;
      return right ? undefined : `taken by ${String(holder)}`;
    }
    const known = same(record?.lease, lease);
    const ended = (lock.kept && owner !== undefined) || (known && record?.ended === true);
    const forgotten = owner === undefined && !this.durable;
    if (ended || (owner === undefined && !(forgotten && (known || isBehind(record, lease))))) {
      return answer.held === false && answer.reason === 'expired' ? undefined : 'expired';
    }
    if (answer.held !== true || (answer.restored === true) !== (owner === undefined))
      return owner === undefined ? 'held and restored' : 'held';
    if (owner === undefined || record === undefined) {
      const kept = owner?.fencingToken ?? (known ? record?.lease.fencingToken : undefined) ?? 0;
      const fence = Math.max(kept, lease.fencingToken);
      const startless = known ? record?.startless === true : !lock.starts.restore(lease);
      const restored = this.#regrant(lease, fence, lease.attempt);
      const fresh = { lease: restored, ended: false, startless };
      Object.assign(lock, {
        owner: restored,
        kept: false,
        record: fresh,
        fence: Math.max(lock.fence, fence),
      });
    }
    return undefined;
  }

  // oxlint-disable-next-line complexity -- the rules of the contract one after another, as it states them
  released(
    lease: ModelLease,
    { keepFor, outcome = 'completed', retryIn }: ReleaseOptions,
    answer: ReleaseResult,
  ): string | undefined {
    const lock = this.lock(lease.name);
    if (this.#isOutlived(lock, lease)) this.expire(lease.name);
    const { owner, record } = lock;
    const newest = same(record?.lease, lease);
    if (outcome !== 'abandoned') this.#ended.add(lease.token);
    if (newest && record?.ended) return says(answer, 'ended');
    const ours = same(owner, lease) && !lock.kept;
    const wrong = says(answer, ours ? 'released' : owner === undefined ? 'expired' : 'taken');
    if (wrong !== undefined) return wrong;
    if (newest || outcome === 'abandoned')
      lock.starts.end(lease, outcome, retryIn === undefined ? undefined : retryIn > 0 ? 'later' : 'now');
    if (ours && keepFor !== undefined) lock.kept = true;
    else if (ours) lock.owner = undefined;
    // The end of an acquire that nobody saw granted could hide a live lease that was forgotten.
    const known = ours || (owner === undefined && lease.fencingToken !== 0);
    if (newest || (isBehind(record, lease) && known && !this.durable)) lock.record = { lease, ended: true };
    return undefined;
  }

  /** Whether its run was said to have ended. */
  hasEnded({ token }: ModelLease): boolean {
    return this.#ended.has(token);
  }

  /** Time has passed, or the store has lost the lock: it cannot be told apart. */
  expire(name: string): void {
    Object.assign(this.lock(name), { owner: undefined, kept: false });
  }

  /** As much time passes as any wait takes. */
  pass(): void {
    for (const { starts } of this.#locks.values()) starts.pass();
  }

  evict(name: string): void {
    const lock = this.lock(name);
    lock.record = undefined;
    lock.starts.forget();
  }

  get names(): string[] {
    return [...this.#locks.keys()];
  }

  /** Whether the owner is known as an older lease: it was over when this one was granted. */
  #isOutlived({ owner, record }: ModelLock, lease: ModelLease): boolean {
    const older = same(owner, record?.lease) && !same(owner, lease) && isBehind(record, lease);
    return older && !this.durable;
  }

  #regrant(lease: ModelLease, fencingToken: number, attempt: number | undefined): ModelLease {
    const { attempt: _attempt, ...rest } = lease;
    const granted = { ...rest, fencingToken, ...(attempt === undefined ? undefined : { attempt }) };
    this.leases[this.leases.findIndex((each) => same(each, lease))] = granted;
    return granted;
  }
}

function same(a: LeaseRef | undefined, b: LeaseRef | undefined): boolean {
  return a !== undefined && a.token === b?.token;
}

/** Whether what is kept is older than a lease which is not the one that it names. */
function isBehind(record: Record | undefined, { fencingToken }: LeaseRef): boolean {
  return record === undefined || record.lease.fencingToken < fencingToken;
}

/** Whether a refusal tells the job's last tick, and whether its run has ended. */
function tells(
  answer: AcquireResult,
  { tick, finished }: { tick?: number; finished?: boolean },
): string | undefined {
  const right = !answer.acquired && answer.tick === tick && answer.finished === finished;
  return right ? undefined : `refused with the last tick ${String(tick)}, finished: ${String(finished)}`;
}

function says(
  answer: ReleaseResult,
  expected: 'released' | 'ended' | 'expired' | 'taken',
): string | undefined {
  return (answer.released ? 'released' : answer.reason) === expected ? undefined : expected;
}
