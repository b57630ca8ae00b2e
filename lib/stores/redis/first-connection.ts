import type { Clock } from '../../base/clock.js';
import { SchedulerLockConfigError } from '../../base/errors.js';
import type { RedisClient } from './connection-options.js';
import { unreachable } from './readiness.js';
import { describeError } from './redact.js';

/** How long the start waits for a server that neither accepts nor refuses, ms. The client goes on trying after that. */
const START_LIMIT = 5_000;

/**
 * Waits until a client that connects is connected.
 *
 * @throws SchedulerLockConfigError if that can never be: the server rejects the credentials or the database
 * @throws StoreUnavailableError if the server cannot be reached; the client goes on trying
 */
export function firstConnection(clock: Clock, client: RedisClient): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (settled: () => void): void => {
      limit.cancel();
      client.off('ready', onReady);
      client.off('error', onError);
      settled();
    };
    const onReady = (): void => settle(resolve);
    const onError = (reason: unknown): void => settle(() => reject(startError(reason)));
    const onLimit = (): void => onError(`no connection within ${START_LIMIT} ms`);
    const limit = clock.setTimer(onLimit, START_LIMIT, { keepAlive: true });
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
