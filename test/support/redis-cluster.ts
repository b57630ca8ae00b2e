import { startRedis, type LocalRedis } from './local-redis.js';
import { LOOPBACK } from './ports.js';
import { until } from './until.js';

const SLOTS = 16_384;
/** The bus listens here above the node's port; ports.ts leaves room for it. */
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
    args: (port) =>
      [
        '--cluster-enabled yes',
        `--cluster-port ${port + BUS_OFFSET}`,
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
      const [from, to] = [Math.round(index * share), Math.round((index + 1) * share) - 1];
      await server.command('CLUSTER', 'ADDSLOTSRANGE', from, to);
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
