import { type SchedulerLockError, StoreUnavailableError } from '../../errors.js';
import type { Told } from '../fast-port.js';
import { DENIED, withAdvice } from './advice.js';
import { RedisReplyError } from './redis-client.js';
import type { RedisConnection } from './redis-connection.js';

/** What a script has to do for one lease, and the callbacks for its outcome. */
export interface LeaseCall<Result = unknown> {
  /** Name of the lock. */
  readonly name: string;
  /** The script's arguments. Those at the end may be left out. */
  readonly args: readonly string[];
  readonly read: (reply: unknown) => Result;
  readonly told: Told<Result>;
  /** May answer the call without its own script. */
  readonly shortcut?: Shortcut | undefined;
}

/** One command for many lock keys, which answers most calls at a fraction of the cost of their own script. */
export interface Shortcut {
  /**
   * @param args the arguments of each call; all have the same ttl
   * @returns an answer for each key
   */
  ask(
    connection: RedisConnection,
    keys: readonly string[],
    args: readonly (readonly string[])[],
  ): Promise<readonly unknown[]>;
  /** Turns the answer for the key of a call into the answer of the call's own script; `undefined`: that script has to run. */
  reply(answer: unknown, args: readonly string[]): unknown;
  /** From how many calls on it is worthwhile. */
  readonly least: number;
}

/** Gives the script's answer to a call. An answer that cannot be read is a failure. */
export function tell<T>({ read, told }: LeaseCall<T>, reply: unknown): void {
  let result: T;
  try {
    result = read(reply);
  } catch (error) {
    return told.failed(error as Error);
  }
  told.answered(result);
}

/** The error that a caller gets for a call that failed as a whole. */
export function failure(error: unknown): SchedulerLockError {
  if (!(error instanceof RedisReplyError)) return error as SchedulerLockError;
  const { message } = error;
  // Not for errors that pass by themselves, as after a failover (READONLY, LOADING, CLUSTERDOWN).
  const refused = DENIED.test(message) || /\b(OOM|MISCONF)\b/.test(message);
  return new StoreUnavailableError(withAdvice(`Redis refused the call: ${message}.`), {
    outcome: 'not-applied',
    refused,
  });
}
