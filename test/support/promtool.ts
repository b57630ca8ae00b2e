import { join } from 'node:path';
import { findOnPath, projectRoot } from './machine.js';
import { type UnpackedProgram, unpackedProgram } from './server-programs.js';

/**
 * The program that checks and tests the rules of Prometheus: from the PATH, else from Debian's package `prometheus`, unpacked without
 * root into `.cache/prometheus`.
 *
 * @throws if there is neither; the message says what was tried
 */
export async function findPromtool(): Promise<UnpackedProgram> {
  const command = await findOnPath('promtool');
  if (command !== undefined) return { command, env: process.env };
  return unpackedProgram(
    {
      name: 'promtool',
      package: 'prometheus',
      program: (root) => Promise.resolve(join(root, 'usr/bin/promtool')),
    },
    join(projectRoot, '.cache', 'prometheus'),
  );
}
