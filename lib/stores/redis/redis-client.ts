import { StoreUnavailableError } from '../../errors.js';
import { promiseOf, type Reply } from '../replying-store.js';
import type { RedisClient } from './connection-options.js';
import { describeError } from './redact.js';
import type { Script } from './script.js';

/** An error reply of the server. The command was not carried out. */
export class RedisReplyError extends Error {
  override readonly name = 'RedisReplyError';
}

/** The error of Redis for a user who lacks a right. Before 7.2, a refusal within a script has no code. */
export const DENIED = /\bNOPERM\b|executing the script/;

/** The outcome of a script, once it is known. */
type Outcome<T> = { readonly value: T } | { readonly error: Error };

/**
 * One run of a script: by its digest, or by its text if the server does not have it.
 *
 * Never queues: if the client is not connected, the call fails at once. A queued command would be carried out
 * after the outage, when its caller has long given up.
 *
 * Interprets the server's answer once, however often `tell` is called.
 */
export class ScriptReply<T> implements Reply<T> {
  readonly #sent: Promise<unknown>;
  /** The second command, with the text of the script. */
  #again: Promise<unknown> | undefined;
  #outcome: Outcome<T> | undefined;

  /**
   * @param connection gives the client, or throws a StoreUnavailableError
   * @param read interprets the server's answer
   * @param refuse turns a failure into the error for the caller; gets RedisReplyError if the server answered with
   *   an error, and StoreUnavailableError for everything else
   */
  constructor(
    private readonly connection: { client(): RedisClient },
    private readonly script: Script,
    private readonly numberOfKeys: number,
    private readonly keysAndArguments: readonly string[],
    private readonly read: (answer: unknown) => T,
    private readonly refuse: (error: Error) => Error,
  ) {
    try {
      this.#sent = this.#client().evalsha(script.sha, numberOfKeys, ...keysAndArguments);
    } catch (error) {
      // Rejects in a later turn, like any other failure.
      this.#sent = Promise.reject(error);
    }
  }

  tell(answered: (value: T) => void, failed: (error: Error) => void): void {
    this.#sent.then(
      (answer) => tellOf(this.#answer(answer), answered, failed),
      (error: unknown) => {
        if (!isReply(error, 'NOSCRIPT')) return tellOf(this.#fail(error), answered, failed);
        this.#again ??= this.#sendText();
        this.#again.then(
          (answer) => tellOf(this.#answer(answer), answered, failed),
          (reason: unknown) => tellOf(this.#fail(reason), answered, failed),
        );
      },
    );
  }

  #client(): RedisClient {
    const client = this.connection.client();
    if (client.status !== 'ready') throw notReady(client);
    return client;
  }

  async #sendText(): Promise<unknown> {
    const { script, numberOfKeys, keysAndArguments } = this;
    return this.#client().eval(script.lua, numberOfKeys, ...keysAndArguments);
  }

  #answer(answer: unknown): Outcome<T> {
    if (this.#outcome !== undefined) return this.#outcome;
    try {
      return (this.#outcome = { value: this.read(answer) });
    } catch (error) {
      return (this.#outcome = { error: error as Error });
    }
  }

  #fail(error: unknown): Outcome<T> {
    return (this.#outcome ??= { error: this.refuse(translate(error)) });
  }
}

function tellOf<T>(outcome: Outcome<T>, answered: (value: T) => void, failed: (error: Error) => void): void {
  if ('value' in outcome) answered(outcome.value);
  else failed(outcome.error);
}

/** Runs a script, and resolves to the server's answer as it is. Rejects with the errors of {@link ScriptReply}. */
export function runScript(
  connection: { client(): RedisClient },
  script: Script,
  numberOfKeys: number,
  keysAndArguments: readonly string[],
): Promise<unknown> {
  return promiseOf(new ScriptReply(connection, script, numberOfKeys, keysAndArguments, asIs, asIs));
}

const asIs = <T>(value: T): T => value;

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
