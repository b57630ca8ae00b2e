import { startRedis, type LocalRedis } from './local-redis.js';
import { until } from './until.js';

const NAME = 'mymaster';
const SENTINELS = 3;
const QUORUM = 2;

export interface RedisSentinel {
  /** The name by which clients ask sentinels for the master. */
  name: string;
  sentinels: { host: string; port: number }[];
  /** The master and the replica as they were at the start; a failover changes the roles. */
  master: LocalRedis;
  replica: LocalRedis;
  sentinelServers: LocalRedis[];
  stop(): Promise<void>;
}

export interface StartSentinelOptions {
  /** Milliseconds of silence after which a sentinel takes the master for dead. @default 800 */
  downAfter?: number;
}

/**
 * A master, its replica and three sentinels; resolves when the replica is in sync and the sentinels know each other:
 * from then on `master.kill()` leads to a failover.
 */
export async function startRedisSentinel({
  downAfter = 800,
}: StartSentinelOptions = {}): Promise<RedisSentinel> {
  const servers: LocalRedis[] = [];
  const start = async (...options: Parameters<typeof startRedis>): Promise<LocalRedis> => {
    const server = await startRedis(...options);
    servers.push(server);
    return server;
  };
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
  };
  try {
    // Diskless replication would wait for more replicas first.
    const master = await start({ args: ['--repl-diskless-sync-delay', '0'] });
    const replica = await start({ args: ['--replicaof', master.host, String(master.port)] });
    const watch = [
      `sentinel monitor ${NAME} ${master.host} ${master.port} ${QUORUM}`,
      `sentinel down-after-milliseconds ${NAME} ${downAfter}`,
      `sentinel failover-timeout ${NAME} 5000`,
      `sentinel parallel-syncs ${NAME} 1`,
    ];
    // All of them are awaited, so that stop() finds every process that was started.
    const started = await Promise.allSettled(
      Array.from({ length: SENTINELS }, () => start({ sentinel: watch })),
    );
    for (const result of started) if (result.status === 'rejected') throw result.reason;
    const sentinelServers = servers.slice(2);
    await inSync(replica);
    await agreed(sentinelServers);
    const sentinels = sentinelServers.map(({ host, port }) => ({ host, port }));
    return { name: NAME, sentinels, master, replica, sentinelServers, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function inSync(replica: LocalRedis): Promise<void> {
  await until(
    async () => String(await replica.command('INFO', 'replication')).includes('master_link_status:up'),
    {
      interval: 20,
      message: 'the replica to be in sync with its master',
    },
  );
}

async function agreed(sentinels: LocalRedis[]): Promise<void> {
  let seen: unknown[] = [];
  await until(
    async () => {
      seen = await Promise.all(sentinels.map((sentinel) => sentinel.command('SENTINEL', 'MASTER', NAME)));
      return seen.every((reply) => {
        const facts = pairs(reply);
        return (
          facts.get('flags') === 'master' &&
          facts.get('num-slaves') === '1' &&
          facts.get('num-other-sentinels') === String(SENTINELS - 1)
        );
      });
    },
    { interval: 50, message: () => `the sentinels to find each other; they say: ${JSON.stringify(seen)}` },
  );
}

/** RESP2 answers with names and values in turn, RESP3 with a map, which the client makes an object. */
function pairs(reply: unknown): Map<string, string> {
  if (!Array.isArray(reply))
    return new Map(Object.entries(reply ?? {}).map(([key, value]) => [key, String(value)]));
  const words = reply.map(String);
  return new Map(words.flatMap((word, index) => (index % 2 === 0 ? [[word, words[index + 1] ?? '']] : [])));
}
