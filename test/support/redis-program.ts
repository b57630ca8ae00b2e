import { mkdir, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { findOnPath, projectRoot } from './machine.js';
import { type UnpackedProgram, unpackedProgram } from './server-programs.js';
import { programUnderTest } from './servers.js';

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
  const named = await programUnderTest('Redis');
  if (named) return { ...named, source: 'packages' };
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

/** Redis from the packages of the distribution, unpacked into the project's `.cache/redis/`. */
export function unpackedRedis(base: string = join(projectRoot, '.cache', 'redis')): Promise<UnpackedProgram> {
  return unpackedProgram({ name: 'Redis', package: 'redis-tools', program }, base);
}

async function program(root: string): Promise<string> {
  const command = join(root, 'bin', 'redis-server');
  const found = await stat(root).catch(() => undefined);
  if (!found || (await stat(command).catch(() => undefined))) return command;
  // One program under several names: the name by which it is called decides its role.
  const unpacked = await stat(join(root, 'usr/bin/redis-check-rdb')).catch(() => undefined);
  const checker = unpacked ? '../usr/bin/redis-check-rdb' : await findOnPath('redis-check-rdb');
  if (checker === undefined) throw new Error('the package redis-tools holds no redis-check-rdb');
  await mkdir(join(root, 'bin'), { recursive: true });
  await symlink(checker, command);
  return command;
}
