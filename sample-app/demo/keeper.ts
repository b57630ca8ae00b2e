import { randomUUID } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { LOOPBACK } from '../../test/support/machine.js';
import { provideRedis } from '../../test/support/redis-server.js';
import { KEEPER_FILE, type KeeperAddress, type Membership } from './shared-redis.js';

/*
 * Keeps one Redis for all terminals that run `npm run sample`, and ends with the last of them. It belongs to none of
 * them. Each holds a connection to it: connections close with their process, however it ends.
 */

/** How long the terminal that started this may take to connect. */
const FIRST_MEMBER_MS = 10_000;

const id = randomUUID();
const members = new Map<number, Socket>();

// The terminal it was started from may be gone by now.
process.stderr.on('error', () => undefined);
process.on('disconnect', () => undefined);

const redis = await provideRedis().catch((error: Error) => {
  console.error(error.message);
  process.exit(1);
});
const server = createServer((socket) => {
  const number = freeNumber();
  members.set(number, socket);
  const leave = (): void => {
    if (members.get(number) !== socket) return;
    members.delete(number);
    if (members.size === 0) void end();
  };
  socket.on('error', leave).on('close', leave).resume();
  const membership: Membership = { keeper: id, url: redis.url, number };
  socket.write(`${JSON.stringify(membership)}\n`);
});
server.listen(0, LOOPBACK, () => void begin());
setTimeout(() => members.size === 0 && void end(), FIRST_MEMBER_MS).unref();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => void end());

async function begin(): Promise<void> {
  const { port } = server.address() as AddressInfo;
  const address: KeeperAddress = { keeper: id, port };
  // By a rename: a reader finds all of it or nothing.
  await writeFile(`${KEEPER_FILE}.${id}`, JSON.stringify(address));
  await rename(`${KEEPER_FILE}.${id}`, KEEPER_FILE);
  process.send?.('ready', () => process.disconnect());
}

async function end(): Promise<void> {
  // From here on whoever comes is refused, and starts a keeper and a Redis of its own.
  server.close();
  for (const socket of members.values()) socket.destroy();
  await redis.stop();
  process.exit(0);
}

/** The lowest that no terminal has: closing and starting again leaves the names as they were. */
function freeNumber(): number {
  let number = 1;
  while (members.has(number)) number += 1;
  return number;
}
