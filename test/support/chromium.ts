import { join } from 'node:path';
import { findOnPath, projectRoot } from './machine.js';
import { type UnpackedProgram, unpackedProgram } from './server-programs.js';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/**
 * A browser for the tests of the page: from the PATH, else from the distribution's package `chromium`, unpacked without root into
 * `.cache/chromium`.
 *
 * @throws if there is neither; the message says what was tried
 */
export async function findChromium(): Promise<UnpackedProgram> {
  const given = process.env['CHROMIUM'];
  if (given) return { command: given, env: process.env };
  for (const name of NAMES) {
    const command = await findOnPath(name);
    if (command !== undefined) return { command, env: process.env };
  }
  return unpackedProgram(
    {
      name: 'Chromium',
      package: 'chromium',
      program: (root) => Promise.resolve(join(root, 'usr/lib/chromium/chromium')),
    },
    join(projectRoot, '.cache', 'chromium'),
  );
}
