import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clearTimeout, setTimeout } from 'node:timers';
import { guard } from '../../support/child.js';
import { builtScript, projectRoot } from '../../support/machine.js';

/** How much of what a program has said an error shows, characters. */
const SHOWN = 4_000;

/**
 * Runs Node, and takes what it prints.
 *
 * @param limit how long it may take, ms: then it is killed
 * @throws if it takes longer, with what it has said
 */
export async function node(
  args: string[],
  env: NodeJS.ProcessEnv = {},
  limit = 60_000,
): Promise<{ code: unknown; output: string }> {
  const child = spawn(process.execPath, args, { cwd: projectRoot, env: { ...process.env, ...env } });
  guard(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    child.kill('SIGKILL');
  }, limit);
  const [code] = (await once(child, 'close')) as [unknown];
  clearTimeout(timer);
  if (late)
    throw new Error(
      `node ${args.join(' ').slice(0, 200)} did not end within ${limit} ms. It said:\n${output.slice(-SHOWN) || 'nothing'}`,
    );
  return { code, output };
}

/** Longer than the longest run on a busy machine, ms. */
const CHAOS_LIMIT = 650_000;

/** Runs the chaos run, and hands its output and its history to the judgement. */
export async function chaos(
  args: readonly string[],
  judge: (code: unknown, output: string, folder: string) => void | Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'scheduler-lock-chaos-'));
  try {
    const command = [builtScript('test/chaos/main.js'), ...args, '--history', folder];
    const { code, output } = await node(command, {}, CHAOS_LIMIT);
    await judge(code, output, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
