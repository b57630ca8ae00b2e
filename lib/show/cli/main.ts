#!/usr/bin/env node
import { readFileSync, writeSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { systemClock } from '../../base/clock.js';
import { USAGE } from './commands.js';
import { openStore } from './open.js';
import { run } from './run.js';

// The edges of the process: all else is in `run`, which tests call.

const { stdout, stderr, env, argv } = process;

/** The answer could not be delivered whole: the process ends here. */
function lost({ code, message }: NodeJS.ErrnoException): never {
  // The reader has ended: `runs | head`.
  if (code === 'EPIPE') process.exit();
  writeSync(stderr.fd, `The answer could not be written: ${message}.\n`);
  process.exit(USAGE);
}

stdout.on('error', lost);

const code = await run(argv.slice(2), {
  stdout,
  stderr,
  env,
  clock: systemClock,
  version: versionOfPackage(),
  open: openStore,
  actor: () => `${userName()}@${hostname()}`.replaceAll(/\p{Cc}/gu, '').slice(0, 200),
  onInterrupt: (listener) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, listener);
  },
});
// Not at once: what was written may still be on its way into a pipe.
stdout.write('', (error) => (error ? lost(error) : process.exit(code)));

/** In a container the user id of the process may belong to no user. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? '?'}`;
  }
}

function versionOfPackage(): string {
  const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
