import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

export const LOOPBACK = '127.0.0.1';

/**
 * Below the ports that systems give to outgoing connections: a client that reconnects to a server that is down
 * must not get the server's port, which can even connect it to itself. And low enough for a Redis Cluster bus,
 * 10,000 higher, to stay below them too.
 */
const LOWEST = 10_240;
const HIGHEST = 22_000;
const TRIES = 200;

/** A loopback port that nobody listens on at this moment. Who binds it must be ready to be refused and ask again. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const port = randomInt(LOWEST, HIGHEST);
    if (await isFree(port)) return port;
  }
  throw new Error(`No free port found between ${LOWEST} and ${HIGHEST} on ${LOOPBACK}`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, LOOPBACK, () => server.close(() => resolve(true)));
  });
}
