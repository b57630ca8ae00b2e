import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtScript } from '../../support/machine.js';
import { runProgram, type Said } from '../../support/program.js';

/** Runs Node, and takes what it prints. See {@link runProgram}. */
export function node(args: readonly string[], env: NodeJS.ProcessEnv = {}, limit?: number): Promise<Said> {
  return runProgram(process.execPath, args, { env, ...(limit === undefined ? {} : { limit }) });
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
