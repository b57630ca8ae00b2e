import { openStore } from '../../lib/show/cli/open.js';
import { run } from '../../lib/show/cli/run.js';
import { systemClock } from '../../lib/base/clock.js';

/** What a command of the shell has said. */
export interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command on the store at a URL: all of the shell but its process, whose start would be most of the work. */
export async function shell(url: string, ...argv: string[]): Promise<Said> {
  let [out, err] = ['', ''];
  const code = await run(argv, {
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text) },
    env: { SCHEDULER_LOCK_URL: url },
    clock: systemClock,
    version: '0',
    open: openStore,
    actor: () => 'anna@laptop',
    onInterrupt: () => undefined,
  });
  return { code, out, err };
}
