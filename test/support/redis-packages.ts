import { mkdir, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { unpackedProgram, type UnpackedProgram } from './distribution-packages.js';
import { findOnPath } from './programs.js';
import { projectRoot } from './project.js';

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
