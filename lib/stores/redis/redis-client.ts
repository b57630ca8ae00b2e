import { StoreUnavailableError } from '../../errors.js';
import { describeError } from './redact.js';
import type { Script } from './script.js';

/**
 * What this store needs of a client: `Redis` and `Cluster` of ioredis 5 and 6 fit. Nothing else is called on it,
 * and nothing is registered on it but a listener for its `ready` event.
 */
export interface RedisClient {
  readonly status: string;
  readonly isCluster?: boolean;
  // Method syntax on purpose: ioredis' overloads are narrower than what is needed here.
  evalsha(sha: string, numberOfKeys: number, ...keysAndArguments: (string | number)[]): Promise<unknown>;
  eval(lua: string, numberOfKeys: number, ...keysAndArguments: (string | number)[]): Promise<unknown>;
  connect(): Promise<unknown>;
  on(event: string, listener: (argument?: unknown) => void): unknown;
  off(event: string, listener: (argument?: unknown) => void): unknown;
}

/** A reply of the server that says no. The command was not carried out. */
export class RedisReplyError extends Error {
  override readonly name = 'RedisReplyError';
}

/**
 * Runs a script by its digest, and by its text where the server does not have it.
 *
 * Never queues: a client that is not connected fails the call at once, because a command that waits out an outage
 * is carried out when nobody wants it any more.
 *
 * One promise in all: each one more is a part of each run's cost.
 *
 * @param connection where the client comes from, or a StoreUnavailableError
 * @param answered what the promise resolves to
 * @param failed gets RedisReplyError if the server answered with an error, and StoreUnavailableError for everything else
 */
export function runScript<T>(
  connection: { client(): RedisClient },
  script: Script,
  numberOfKeys: number,
  keysAndArguments: readonly string[],
  answered: (reply: unknown) => T,
  failed: (error: Error) => T,
): Promise<T> {
  try {
    const client = connection.client();
    if (client.status !== 'ready') throw notReady(client);
    return client.evalsha(script.sha, numberOfKeys, ...keysAndArguments).then(answered, (error: unknown) => {
      const giveUp = (reason: unknown): T => failed(translate(reason));
      if (!isReply(error, 'NOSCRIPT')) return giveUp(error);
      return client.eval(script.lua, numberOfKeys, ...keysAndArguments).then(answered, giveUp);
    });
  } catch (error) {
    // Not at once: who calls is told in another turn, as of any failure.
    return Promise.reject(error as Error).catch((reason: unknown) => failed(translate(reason)));
  }
}

const notReady = (client: RedisClient): Error =>
  new StoreUnavailableError(`Redis is not connected (the client is "${client.status}").`, {
    outcome: 'not-applied',
  });

const isReply = (error: unknown, code: string): boolean =>
  error instanceof Error && error.message.startsWith(code);

/** ioredis' own errors carry the command with all its arguments (passwords included): they are never passed on. */
export function translate(error: unknown): Error {
  if (error instanceof StoreUnavailableError) return error;
  const description = describeError(error);
  if (error instanceof Error && error.name === 'ReplyError') return new RedisReplyError(description);
  // What ioredis says of a connection that is just being lost is about its own options.
  const reason = description.startsWith("Stream isn't writeable") ? 'the connection is broken' : description;
  return new StoreUnavailableError(`Redis did not answer: ${reason}.`, { outcome: 'unknown' });
}
