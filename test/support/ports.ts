import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

export const LOOPBACK = '127.0.0.1';

/**
 * Below the ports that systems give to outgoing connections. A client that reconnects to a server that is down must
 * not get the server's port, which can even connect it to itself. Low enough that a Redis Cluster bus, 10,000
 * higher, stays below them too.
 */
const LOWEST = 10_240;
const HIGHEST = 22_000;
const TRIES = 200;

/** A loopback port that is free at this moment. The caller must be ready to fail to bind it, and to ask again. */
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
