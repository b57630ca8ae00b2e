import { type SchedulerLockError, StoreUnavailableError } from '../../base/errors.js';
import type { Caller } from '../../contract/fast-port.js';
import { quietly } from '../../base/quietly.js';
import { DENIED, withAdvice } from './advice.js';
import type { RedisClient } from './connection-options.js';
import type { Patience } from './readiness.js';
import { describeError } from './redact.js';
import type { Script } from './script.js';

/** An error reply of the server. The command was not carried out. */
export class RedisReplyError extends Error {
  override readonly name = 'RedisReplyError';
}

/** Where a script runs. */
export interface Connection {
  /** Calls `send` with the connected client, or `failed` if there is none within the caller's limit. */
  use(patience: Patience, send: (client: RedisClient) => void, failed: (error: Error) => void): void;
  connected(patience: Patience): Promise<RedisClient>;
  /** The server has refused a write, as a replica does. */
  isReadOnly?(): void;
}

/**
 * Runs a script: by its digest, or by its text if the server does not have it. `told` gets the server's answer as it is, or
 * RedisReplyError if the server answered with an error, or StoreUnavailableError for everything else.
 *
 * Never queues in the client: a queued command would be carried out after an outage, when its caller has long given up. A call that
 * finds the client not connected waits for that before it is sent, within its own limit.
 */
export function sendScript(
  connection: Connection,
  { sha, lua }: Script,
  numberOfKeys: number,
  keysAndArguments: readonly string[],
  told: Caller<unknown> & { readonly patience?: Patience },
): void {
  const { patience = told } = told;
  const answered = (reply: unknown): void => told.answered(reply);
  const failed = (error: unknown): void => {
    if (error instanceof Error && error.message.includes('READONLY')) connection.isReadOnly?.();
    told.failed(translate(error));
  };
  const byText = (client: RedisClient): void =>
    void client.eval(lua, numberOfKeys, ...keysAndArguments).then(answered, failed);
  const byDigest = (client: RedisClient): void =>
    void client.evalsha(sha, numberOfKeys, ...keysAndArguments).then(answered, (error: unknown) => {
      if (isReply(error, 'NOSCRIPT')) use(byText);
      else failed(error);
    });
  const use = (send: (client: RedisClient) => void): void => {
    const safely = (client: RedisClient): void => {
      try {
        quietly(() => send(client));
      } catch (error) {
        failed(error);
      }
    };
    connection.use(patience, safely, failed);
  };
  use(byDigest);
}

/** Sends a script, and promises its reply. */
export function runScript(
  connection: Connection,
  script: Script,
  numberOfKeys: number,
  keysAndArguments: readonly string[],
  patience: Patience = {},
): Promise<unknown> {
  return new Promise((answered, failed) =>
    sendScript(connection, script, numberOfKeys, keysAndArguments, { answered, failed, patience }),
  );
}

/** Sends a script, promises its reply, and fails as a store does. @param limit how long the caller waits, ms */
export function askScript(
  connection: Connection,
  script: Script,
  [keys, args]: readonly [keys: readonly string[], args: readonly string[]],
  limit?: number,
): Promise<unknown> {
  return runScript(connection, script, keys.length, [...keys, ...args], { limit }).catch((error: unknown) =>
    Promise.reject(failure(error)),
  );
}

/** The values of these keys, `null` for one that is not there, or is no string. Fails as a script that changes nothing. */
export async function valuesOf(
  connection: Connection,
  keys: readonly string[],
  patience: Patience = {},
): Promise<(string | null)[]> {
  try {
    const client = await connection.connected(patience);
    return await quietly(() => client.mget(...keys));
  } catch (error) {
    const problem = translate(error);
    if (problem instanceof RedisReplyError) throw problem;
    throw new StoreUnavailableError(problem.message, { outcome: 'not-applied' });
  }
}

const isReply = (error: unknown, code: string): boolean =>
  error instanceof Error && error.message.startsWith(code);

/**
 * Turns an error of ioredis into one of ours. ioredis' own errors carry the command with all its arguments
 * (passwords included), so they are never passed on.
 */
export function translate(error: unknown): Error {
  if (error instanceof StoreUnavailableError) return error;
  const description = describeError(error);
  if (error instanceof Error && error.name === 'ReplyError') return new RedisReplyError(description);
  // The client had no connection for the command, and must not queue it. Its message talks about its own options.
  if (/enableOfflineQueue options? is false/.test(description)) {
    return new StoreUnavailableError('Redis is not connected (the connection has just been lost).', {
      outcome: 'not-applied',
    });
  }
  return new StoreUnavailableError(withAdvice(`Redis did not answer: ${description}.`), {
    outcome: 'unknown',
  });
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
