import type { Redis } from 'ioredis';

/**
 * The commands that a server receives while `work` goes on, each with its arguments. Leaves out calls by scripts.
 *
 * @param client a client of the server; sends an ECHO at the end
 */
export async function commandsDuring(client: Redis, work: () => Promise<unknown>): Promise<string[][]> {
  const monitor = await client.monitor();
  const sent: string[][] = [];
  const watched = new Promise<void>((resolve) => {
    monitor.on('monitor', (_time: string, args: string[], source: string) => {
      const command = args[0]?.toLowerCase() ?? '';
      if (command === 'echo') resolve();
      else if (source !== 'lua') sent.push([command, ...args.slice(1)]);
    });
  });
  try {
    await work();
    await client.echo('end');
    await watched;
  } finally {
    monitor.disconnect();
  }
  return sent;
}
