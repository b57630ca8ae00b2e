import { request, type RequestOptions } from 'node:http';

const IMAGE = 'redis:7-alpine';
const SOCKET = '/var/run/docker.sock';
/** Without an engine the Docker libraries can hang. */
const PING_TIMEOUT = 1_000;
const REDIS_PORT = 6379;

export interface RedisContainer {
  host: string;
  port: number;
  stop(): Promise<void>;
}

/** Whether a Docker engine answers on `DOCKER_HOST` or the usual socket. */
export function dockerAnswers(dockerHost: string | undefined = process.env['DOCKER_HOST']): Promise<boolean> {
  const target = engineAddress(dockerHost);
  if (target === undefined) return Promise.resolve(false);
  return new Promise((resolve) => {
    const ping = request(
      { ...target, path: '/_ping', signal: AbortSignal.timeout(PING_TIMEOUT) },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      },
    );
    ping.on('error', () => resolve(false));
    ping.end();
  });
}

/** A throw-away Redis container; Docker's reaper removes it if this process dies. */
export async function startRedisContainer(): Promise<RedisContainer> {
  // Only now: without an engine the import alone costs a second.
  const { GenericContainer } = await import('testcontainers');
  const container = await new GenericContainer(IMAGE).withExposedPorts(REDIS_PORT).start();
  return {
    host: container.getHost(),
    port: container.getMappedPort(REDIS_PORT),
    stop: async () => {
      await container.stop();
    },
  };
}

function engineAddress(dockerHost: string | undefined): RequestOptions | undefined {
  if (!dockerHost) return { socketPath: SOCKET };
  if (dockerHost.startsWith('unix://')) return { socketPath: dockerHost.slice('unix://'.length) };
  // ssh:// and TLS engines: testcontainers would know them, this question does not.
  if (!/^(tcp|http):\/\//.test(dockerHost) || process.env['DOCKER_TLS_VERIFY']) return undefined;
  const { hostname, port } = new URL(dockerHost.replace(/^tcp:/, 'http:'));
  return { host: hostname, port: port || 2375 };
}
