import { SchedulerLockConfigError } from '../../base/errors.js';
import { asClause, notLoaded } from '../../base/wording.js';
import type { NodeRedisClient } from './node-redis-kind.js';

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
  if (cause === undefined) return `${needed} could not be loaded: it has no class "Redis".`;
  const why = notLoaded('ioredis', cause);
  if (why.startsWith('is not installed')) return `${needed} ${why} (or redis, its 5 or 6)`;
  const help =
    'Of a bundle, see that all chunks are deployed, or leave "ioredis" out of it (`externals`, `external`).';
  return `${needed} ${asClause(why)}. ${help}`;
}
