import { systemClock } from '../../clock.js';
import { SchedulerLockConfigError } from '../../errors.js';
import type { RedisClient } from './connection-options.js';
import { unreachable } from './readiness.js';
import { describeError } from './redact.js';
import type { Finding } from './wrong-server.js';

/** How long the start waits for a server that neither accepts nor refuses, ms. The client goes on trying after that. */
const START_LIMIT = 5_000;

/** How long the start waits for an answer before the server is looked at, ms. */
const SILENCE = 1_000;

/**
 * Waits until a client that connects is connected.
 *
 * @param look finds out more of the server, and never rejects
 * @throws SchedulerLockConfigError if that can never be: the server rejects the credentials or the database, or it is no Redis
 * @throws StoreUnavailableError if the server cannot be reached; the client goes on trying
 */
export function firstConnection(client: RedisClient, look: () => Promise<Finding>): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (settled: () => void): void => {
      limit.cancel();
      silence.cancel();
      client.off('ready', onReady);
      client.off('error', onError);
      settled();
    };
    const onReady = (): void => settle(resolve);
    const fail = (error: Error): void => settle(() => reject(error));
    let found = '';
    const lookFor = async (failure?: Error): Promise<void> => {
      const { problem, reason } = await look();
      if (reason !== undefined) found = `: ${reason}`;
      if (problem !== undefined) fail(new SchedulerLockConfigError([`connection: ${problem}`]));
      else if (failure !== undefined) fail(failure);
    };
    const onError = (reason: unknown): void => {
      const error = startError(reason);
      if (error instanceof SchedulerLockConfigError) return fail(error);
      // The client tries again meanwhile, and may be ready before the look has ended.
      void lookFor(error);
    };
    const onLimit = (): void => fail(unreachable(`no connection within ${START_LIMIT} ms${found}`));
    const limit = systemClock.setTimer(onLimit, START_LIMIT, { keepAlive: true });
    // A server without TLS takes a TLS handshake for an unfinished line, and does not answer.
    const silence = systemClock.setTimer(() => void lookFor(), SILENCE, { keepAlive: true });
    client.on('ready', onReady);
    client.on('error', onError);
    if (client.status === 'ready') onReady();
  });
}

/** The problem if the server could not carry out a SELECT. Such an error is emitted, but the connection counts as ready. */
export function databaseProblem(error: unknown): string | undefined {
  const message = describeError(error);
  return /\bDB index\b|SELECT is not allowed/.test(message)
    ? `Redis refused the number of the database (${message}).`
    : undefined;
}

function startError(error: unknown): Error {
  const wrongDatabase = databaseProblem(error);
  if (wrongDatabase !== undefined) {
    return new SchedulerLockConfigError([
      `connection: ${wrongDatabase} Give one that it has, or none: \`keyPrefix\` keeps applications apart as well.`,
    ]);
  }
  const message = describeError(error);
  if (message.startsWith('NOAUTH')) {
    return new SchedulerLockConfigError([
      `connection: Redis asks for a password and was given none, as in redis://:password@host:6379 (${message}).`,
    ]);
  }
  if (/^(WRONGPASS|NOPERM|ERR invalid password|ERR AUTH)/.test(message)) {
    return new SchedulerLockConfigError([`connection: Redis rejected the credentials: ${message}.`]);
  }
  return unreachable(message);
}
