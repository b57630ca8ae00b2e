import { StoreUnavailableError } from '../../errors.js';
import type { Told } from '../fast-port.js';
import type { RedisClient } from './connection-options.js';
import { describeError } from './redact.js';
import type { Script } from './script.js';

/** An error reply of the server. The command was not carried out. */
export class RedisReplyError extends Error {
  override readonly name = 'RedisReplyError';
}

/** The error of Redis for a user who lacks a right. Before 7.2, a refusal within a script has no code. */
export const DENIED = /\bNOPERM\b|executing the script/;

/** Where a script runs. */
interface Connection {
  /** @throws StoreUnavailableError if there is no client */
  client(): RedisClient;
}

/**
 * Runs a script: by its digest, or by its text if the server does not have it. `told` gets the server's answer as it is, or
 * RedisReplyError if the server answered with an error, or StoreUnavailableError for everything else.
 *
 * Never queues: if the client is not connected, the call fails at once. A queued command would be carried out
 * after the outage, when its caller has long given up.
 */
export function sendScript(
  connection: Connection,
  { sha, lua }: Script,
  numberOfKeys: number,
  keysAndArguments: readonly string[],
  told: Told<unknown>,
): void {
  const answered = (reply: unknown): void => told.answered(reply);
  const failed = (error: unknown): void => told.failed(translate(error));
  try {
    readyClient(connection)
      .evalsha(sha, numberOfKeys, ...keysAndArguments)
      .then(answered, (error: unknown) => {
        if (!isReply(error, 'NOSCRIPT')) return failed(error);
        try {
          readyClient(connection)
            .eval(lua, numberOfKeys, ...keysAndArguments)
            .then(answered, failed);
        } catch (reason) {
          failed(reason);
        }
      });
  } catch (error) {
    failed(error);
  }
}

/** @throws StoreUnavailableError if it is not connected */
function readyClient(connection: Connection): RedisClient {
  const client = connection.client();
  if (client.status !== 'ready') throw notReady(client);
  return client;
}

/** The same with a promise. */
export function runScript(
  connection: Connection,
  script: Script,
  numberOfKeys: number,
  keysAndArguments: readonly string[],
): Promise<unknown> {
  return new Promise((answered, failed) =>
    sendScript(connection, script, numberOfKeys, keysAndArguments, { answered, failed }),
  );
}

/** The values of these keys, `null` for one that is not there, or is no string. Fails as a script does that changes nothing. */
export async function valuesOf(connection: Connection, keys: readonly string[]): Promise<(string | null)[]> {
  try {
    return await readyClient(connection).mget(...keys);
  } catch (error) {
    const problem = translate(error);
    if (problem instanceof RedisReplyError) throw problem;
    throw new StoreUnavailableError(problem.message, { outcome: 'not-applied' });
  }
}

const notReady = (client: RedisClient): Error =>
  new StoreUnavailableError(`Redis is not connected (the client is "${client.status}").`, {
    outcome: 'not-applied',
  });

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
  // For a connection that is just being lost, the message of ioredis talks about its own options.
  const reason = description.startsWith("Stream isn't writeable") ? 'the connection is broken' : description;
  return new StoreUnavailableError(`Redis did not answer: ${reason}.`, { outcome: 'unknown' });
}
