import { SchedulerLockConfigError } from '../../base/errors.js';
import type { NodeRedisClient } from './node-redis-kind.js';
import { describeError } from './redact.js';

type Ioredis<Client> = new (...target: unknown[]) => Client;
type NodeRedisFactory = (options: object) => NodeRedisClient;

/**
 * The class `Redis` of ioredis, or `createClient()` of node-redis if only that is there. The drivers are optional and typed structurally:
 * neither the packages nor their types need to be there.
 *
 * @throws SchedulerLockConfigError if neither can be loaded; the message is about ioredis
 */
export async function loadDriver<Client>(): Promise<
  { Redis: Ioredis<Client> } | { createClient: NodeRedisFactory }
> {
  let cause: unknown;
  // Within `try`: so bundlers know that a package may be missing. A module that the loader only knows as CommonJS has no named exports.
  try {
    const whole = (await import('ioredis')) as { Redis?: unknown; default?: { Redis?: unknown } };
    const Redis = (whole.Redis ?? whole.default?.Redis) as Ioredis<Client> | undefined;
    if (Redis !== undefined) return { Redis };
  } catch (error) {
    cause = error;
  }
  try {
    const whole = (await import('redis')) as { createClient?: unknown; default?: { createClient?: unknown } };
    const createClient = (whole.createClient ?? whole.default?.createClient) as NodeRedisFactory | undefined;
    if (createClient !== undefined) return { createClient };
  } catch {
    // The error is about ioredis.
  }
  throw new SchedulerLockConfigError([`connection: ${problemOf(cause)}`], { cause });
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
