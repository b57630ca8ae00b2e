import { findOnPath } from './programs.js';
import { unpackedRedis } from './redis-packages.js';

/** A server program of this machine and the environment it needs. */
export interface RedisBinary {
  command: string;
  env: NodeJS.ProcessEnv;
  source: 'path' | 'packages';
}

const NAMES = ['redis-server', 'valkey-server'];

let found: Promise<RedisBinary> | undefined;

/**
 * A Redis (or Valkey) program to start private processes with: from the PATH, else from the packages of a
 * Debian-like distribution, unpacked without root into `.cache/redis/`.
 *
 * @throws if there is neither; the message says what was tried
 */
export function findRedisBinary(): Promise<RedisBinary> {
  found ??= find().catch((error: unknown) => {
    found = undefined;
    throw error;
  });
  return found;
}

async function find(): Promise<RedisBinary> {
  for (const name of NAMES) {
    const command = await findOnPath(name);
    if (command !== undefined) return { command, env: process.env, source: 'path' };
  }
  try {
    return { ...(await unpackedRedis()), source: 'packages' };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `No ${NAMES.join(' or ')} on the PATH, and none from the distribution's packages: ${reason.trim()}`,
      { cause: error },
    );
  }
}
