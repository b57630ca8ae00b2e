import { SchedulerLockConfigError } from '../../base/errors.js';
import type { NodeRedisClient } from './node-redis-kind.js';
import { describeError } from './redact.js';

type NodeRedisFactory = (options: object) => NodeRedisClient;

type Driver<Client> = new (...target: unknown[]) => Client;

/**
 * The class `Redis` of ioredis. The driver is optional and typed structurally: neither the package nor its types need
 * it.
 *
 * @throws SchedulerLockConfigError if it cannot be loaded; the message says why
 */
export async function loadDriver<Client>(): Promise<Driver<Client>> {
  let cause: unknown;
  try {
    const { Redis, default: whole } = (await import('ioredis')) as unknown as {
      Redis?: Driver<Client>;
      default?: { Redis?: Driver<Client> };
    };
    // A module that the loader only knows as CommonJS has no named exports.
    const driver = Redis ?? whole?.Redis;
    if (driver !== undefined) return driver;
  } catch (error) {
    cause = error;
  }
  throw new SchedulerLockConfigError([`connection: ${problemOf(cause)}`], { cause });
}

/**
 * Loads ioredis, or `createClient()` of node-redis if only that is there.
 *
 * @throws SchedulerLockConfigError if neither can be loaded; the message is about ioredis
 */
export async function loadEither<Client>(): Promise<
  { Redis: Driver<Client> } | { createClient: NodeRedisFactory }
> {
  try {
    return { Redis: await loadDriver<Client>() };
  } catch (error) {
    const createClient = await loadNodeRedis();
    if (createClient !== undefined) return { createClient };
    throw error;
  }
}

async function loadNodeRedis(): Promise<NodeRedisFactory | undefined> {
  // Within `try`: so bundlers know that the package may be missing.
  try {
    const { createClient, default: whole } = (await import('redis')) as unknown as {
      createClient?: NodeRedisFactory;
      default?: { createClient?: NodeRedisFactory };
    };
    return createClient ?? whole?.createClient;
  } catch {
    return undefined;
  }
}

function problemOf(cause: unknown): string {
  const needed = 'the package "ioredis" is needed to connect to Redis and';
  const { code, message } = Object(cause) as { code?: unknown; message?: unknown };
  // The code of Node and Jest, and of bundlers for a module that was missing when they made the bundle.
  if (String(code).endsWith('MODULE_NOT_FOUND') && /['"]ioredis['"]/.test(String(message))) {
    return `${needed} is not installed. Run: npm install ioredis (or redis, its 5 or 6)`;
  }
  const [why = ''] = cause === undefined ? ['it has no class "Redis"'] : describeError(cause).split('\n');
  return (
    `${needed} could not be loaded: ${why}. ` +
    'Of a bundle, see that all chunks are deployed, or leave "ioredis" out of it (`externals`, `external`).'
  );
}
