import { startRedis, type LocalRedis } from '../../support/local-redis.js';
import { LOOPBACK } from '../../support/machine.js';
import { until } from '../../support/until.js';

const SLOTS = 16_384;
/** The bus listens here above the node's port unless told otherwise; `freePort()` leaves room for it. */
const BUS_OFFSET = 10_000;

export interface RedisCluster {
  nodes: { host: string; port: number }[];
  /** One process per master: `servers[0].kill()` takes a third of the slots away. */
  servers: LocalRedis[];
  stop(): Promise<void>;
}

/**
 * A real Redis Cluster of loopback processes without replicas, the slots shared out evenly; resolves when every node
 * knows all the others and says that the cluster is ok.
 */
export async function startRedisCluster({ masters = 3 }: { masters?: number } = {}): Promise<RedisCluster> {
  const started = await Promise.allSettled(Array.from({ length: masters }, startNode));
  const servers = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
  };
  try {
    for (const result of started) if (result.status === 'rejected') throw result.reason;
    await join(servers);
  } catch (error) {
    await stop();
    throw error;
  }
  return { nodes: servers.map(({ host, port }) => ({ host, port })), servers, stop };
}

function startNode(): Promise<LocalRedis> {
  return startRedis({
    args: [
      '--cluster-enabled yes',
      `--cluster-announce-ip ${LOOPBACK}`,
      // A dead node is noticed within this time, and a restarted master serves again soon after.
      '--cluster-node-timeout 1000',
    ].flatMap((option) => option.split(' ')),
  });
}

async function join(servers: LocalRedis[]): Promise<void> {
  const [first, ...others] = servers;
  if (!first) throw new Error('A cluster needs at least one master');
  const share = SLOTS / servers.length;
  await Promise.all(
    servers.map(async (server, index) => {
      // Each node gets its own epoch. Otherwise the nodes first have to settle which of them is the newest.
      await server.command('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
      const [from, to] = [Math.round(index * share), Math.round((index + 1) * share)];
      const slots = Array.from({ length: to - from }, (_, slot) => from + slot);
      await server.command('CLUSTER', 'ADDSLOTS', ...slots);
    }),
  );
  for (const { host, port } of others) await first.command('CLUSTER', 'MEET', host, port, port + BUS_OFFSET);
  let seen = '';
  await until(
    async () => {
      const infos = await Promise.all(servers.map((server) => server.command('CLUSTER', 'INFO')));
      seen = infos.join('\n');
      return infos.every((info) => isReady(String(info), servers.length));
    },
    { interval: 20, message: () => `the cluster to agree; its nodes say:\n${seen}` },
  );
}

function isReady(info: string, masters: number): boolean {
  return [
    'cluster_state:ok',
    `cluster_slots_ok:${SLOTS}`,
    `cluster_known_nodes:${masters}`,
    `cluster_size:${masters}`,
  ].every((line) => info.includes(`${line}\r\n`));
}

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

/** Waits until sentinels have made the replica the master. */
export const replicaPromoted = ({ replica }: RedisSentinel): Promise<unknown> =>
  until(async () => /role:master/.test(String(await replica.command('INFO', 'replication'))), {
    message: 'the replica to be promoted',
    timeout: 60_000,
  });
