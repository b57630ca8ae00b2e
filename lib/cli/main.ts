#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { systemClock } from '../clock.js';
import { openStore } from './open.js';
import { run } from './run.js';
import { ticksOf } from './ticks.js';

/*
 * The edges of the process: all else is in `run`, which tests call.
 */

const { stdout, stderr, env, argv } = process;

// The reader has ended: `runs | head`.
stdout.on('error', () => process.exit());

const code = await run(argv.slice(2), {
  stdout,
  stderr,
  env,
  clock: systemClock,
  version: versionOfPackage(),
  open: openStore,
  ticks: () => ticksOf(process.cwd()),
  onInterrupt: (listener) => void process.once('SIGINT', listener),
});
// Not at once: what was written may still be on its way into a pipe.
stdout.write('', () => process.exit(code));

function versionOfPackage(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
