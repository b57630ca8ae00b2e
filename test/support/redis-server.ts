import { randomBytes } from 'node:crypto';
import { startRedis, type LocalRedis, redisCommand } from './local-redis.js';
import { dockerAnswers } from './machine.js';
import { findRedisBinary } from './redis-program.js';
import { serverUnderTest } from './servers.js';

/** A Redis to test against. Others may use it too: use only keys under a {@link uniquePrefix}. */
export interface RedisServer {
  url: string;
  host: string;
  port: number;
  source: 'REDIS_URL' | 'docker' | 'path' | 'packages';
  /** Ends what was started; a server named by `REDIS_URL` is left alone. */
  stop(): Promise<void>;
  /** The process, if it is one of our own. */
  process?: LocalRedis;
}

/**
 * A Redis for tests that can use any server. In this order: the one that `TEST_SERVER` or `REDIS_URL` names, a container if a
 * Docker engine answers, a `redis-server` or `valkey-server` of the PATH, one unpacked from the distribution's
 * packages. Tests that kill, freeze or configure a server use {@link startRedis}.
 *
 * @throws if none of the ways works; the message lists them
 */
export async function provideRedis(): Promise<RedisServer> {
  const isNamed = serverUnderTest()?.kind === 'Redis';
  const url = process.env['REDIS_URL'];
  if (url && !isNamed) return namedByUrl(url);
  let docker = 'no engine answered';
  if (!isNamed && (await dockerAnswers())) {
    try {
      return await startContainer();
    } catch (error) {
      docker = reasonOf(error);
    }
  }
  const { source } = await findRedisBinary().catch((error: unknown) => {
    throw new Error(howToGetOne(docker, reasonOf(error)), { cause: error });
  });
  const server = await startRedis();
  const { host, port } = server;
  return { url: server.url, host, port, source, stop: () => server.stop(), process: server };
}

/** A key prefix that no other test has, for servers that are shared and never flushed. */
export function uniquePrefix(label = 'test'): string {
  return `${label}-${process.pid}-${randomBytes(6).toString('hex')}:`;
}

async function namedByUrl(url: string): Promise<RedisServer> {
  const { hostname, port } = new URL(url);
  try {
    await redisCommand(url, 'PING');
  } catch (error) {
    // Without the URL, which may hold a password.
    throw new Error(`The Redis named by REDIS_URL (${hostname}) does not answer: ${reasonOf(error)}`, {
      cause: error,
    });
  }
  return { url, host: hostname, port: Number(port || 6379), source: 'REDIS_URL', stop: async () => {} };
}

function howToGetOne(docker: string, local: string): string {
  return [
    'A Redis is needed. Any one of these will do:',
    '  - set REDIS_URL to a server that may be written to (its data stays)',
    `  - start a Docker engine (${docker})`,
    '  - install redis-server or valkey-server, so that it is on the PATH',
    '  - on Debian, Ubuntu and the like: let apt-get reach its sources, and nothing need be installed',
    local,
  ].join('\n');
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const IMAGE = 'redis:7-alpine';
const REDIS_PORT = 6379;

/** A throw-away Redis container; Docker's reaper removes it if this process dies. */
async function startContainer(): Promise<RedisServer> {
  // Only now: without an engine the import alone costs a second.
  const { GenericContainer } = await import('testcontainers');
  const container = await new GenericContainer(IMAGE).withExposedPorts(REDIS_PORT).start();
  const [host, port] = [container.getHost(), container.getMappedPort(REDIS_PORT)];
  const stop = async (): Promise<void> => void (await container.stop());
  return { url: `redis://${host}:${port}`, host, port, source: 'docker', stop };
}
