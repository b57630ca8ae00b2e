import { SchedulerLockConfigError } from '../../errors.js';
import { describeError } from './redact.js';

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

function problemOf(cause: unknown): string {
  const needed = 'the package "ioredis" is needed to connect to Redis and';
  const { code, message } = Object(cause) as { code?: unknown; message?: unknown };
  // The code of Node and Jest, and of bundlers for a module that was missing when they made the bundle.
  if (String(code).endsWith('MODULE_NOT_FOUND') && /['"]ioredis['"]/.test(String(message))) {
    return `${needed} is not installed. Run: npm install ioredis`;
  }
  const [why = ''] = cause === undefined ? ['it has no class "Redis"'] : describeError(cause).split('\n');
  return (
    `${needed} could not be loaded: ${why}. ` +
    'Of a bundle, see that all chunks are deployed, or leave "ioredis" out of it (`externals`, `external`).'
  );
}
