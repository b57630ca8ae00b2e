import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { guard } from '../../support/child.js';
import { builtScript, projectRoot } from '../../support/machine.js';

/** Runs Node, and takes what it prints. */
export async function node(
  args: string[],
  env: NodeJS.ProcessEnv = {},
): Promise<{ code: unknown; output: string }> {
  const child = spawn(process.execPath, args, { cwd: projectRoot, env: { ...process.env, ...env } });
  guard(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [unknown];
  return { code, output };
}

/** Runs the chaos run, and hands its output and its history to the judgement. */
export async function chaos(
  args: readonly string[],
  judge: (code: unknown, output: string, folder: string) => void | Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'scheduler-lock-chaos-'));
  try {
    const { code, output } = await node([builtScript('test/chaos/main.js'), ...args, '--history', folder]);
    await judge(code, output, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
