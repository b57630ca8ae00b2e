import { noLongerThan } from '../../base/clock.js';
import {
  LockStateError,
  SchedulerLockConfigError,
  type SchedulerLockError,
  StoreUnavailableError,
} from '../../base/errors.js';
import type { ExtendOptions, ExtendResult, LeaseRef } from '../../contract/lock-store.js';
import { extendArguments } from './arguments.js';
import type { LeaseCommands } from './lease-commands.js';
import type { RedisConnection } from './redis-connection.js';
import { readExtend } from './replies.js';
import { EXTEND } from './extend-script.js';
import { SHORT_RENEWAL } from './shortcuts.js';

/**
 * The part of a call's limit that one node of a Cluster may take: so the answers of the others are still in time.
 */
const NODE_SHARE = 0.8;

/** How often a renewal also looks at the state, and prolongs it, ms. The state is kept for at least a day after the lease. */
const WHOLE_RENEWAL = 3_600_000;

/** Renews many leases at once: most by a shortcut, each with its state now and then. */
export class Renewals {
  /** When a renewal of the lease last looked at its state, monotonic. */
  readonly #renewedAt = new WeakMap<LeaseRef, number>();

  constructor(
    private readonly connection: RedisConnection,
    private readonly commands: LeaseCommands,
  ) {}

  async extend(leases: readonly LeaseRef[], { limit }: ExtendOptions): Promise<ExtendResult[]> {
    if (!this.connection.isConnected) await this.connection.connected({ limit });
    const answers = new Map<LeaseRef, ExtendResult>();
    const now = this.connection.clock.monotonic();
    const commands = this.commands.many(
      EXTEND,
      leases.map((lease) => {
        const isShort = now - (this.#renewedAt.get(lease) ?? -Infinity) < WHOLE_RENEWAL;
        const answered = (result: ExtendResult): void => {
          answers.set(lease, result);
          if (!isShort && result.held === true) this.#renewedAt.set(lease, now);
        };
        const failed = (error: SchedulerLockError): void => answered({ held: null, error });
        return {
          name: lease.name,
          args: extendArguments(lease),
          read: readExtend,
          told: { answered, failed },
          shortcut: isShort ? SHORT_RENEWAL : undefined,
        };
      }),
    );
    const ended = Promise.all(commands);
    // A node that hangs must not hide the answers of the others.
    await (this.connection.isCluster && limit !== undefined
      ? noLongerThan(limit * NODE_SHARE, ended, this.connection.clock)
      : ended);
    const results = leases.map((lease) => answers.get(lease) ?? { held: null, error: nodeIsSilent(limit) });
    // One failed node must not hide the answers of the others. If no node answered, the whole call has failed.
    const [first] = results;
    if (first?.held === null && results.every(isOutage)) throw first.error;
    return results;
  }
}

const nodeIsSilent = (limit = 0): StoreUnavailableError =>
  new StoreUnavailableError(`A node of the Redis Cluster did not answer within ${Math.round(limit)} ms.`, {
    outcome: 'unknown',
  });

/** Whether a lease was not judged for a reason that is not about its lock alone. */
const isOutage = (result: ExtendResult): boolean =>
  result.held === null &&
  !(result.error instanceof LockStateError || result.error instanceof SchedulerLockConfigError);
