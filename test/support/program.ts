import { spawn } from 'node:child_process';
// Not the globals, which a test may have replaced by fake ones.
import { clearTimeout, setTimeout } from 'node:timers';
import { guard } from './child.js';
import { projectRoot } from './machine.js';

/** How a program ended, and all that it said. */
export interface Said {
  /** `null` if a signal has ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Both as they came. */
  readonly output: string;
}

export interface ProgramOptions {
  /** @default the project */
  readonly cwd?: string;
  /** Added to this process's environment. */
  readonly env?: NodeJS.ProcessEnv;
  /** Milliseconds after which it is killed. @default 60_000 */
  readonly limit?: number;
}

/** How much of what it has said an error shows, characters. */
const SHOWN = 4_000;

/**
 * Runs a program to its end; it does not outlive this process.
 *
 * @throws if it cannot be started, or takes longer than its limit: with what it has said
 */
export async function runProgram(
  command: string,
  args: readonly string[],
  { cwd = projectRoot, env, limit = 60_000 }: ProgramOptions = {},
): Promise<Said> {
  const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe'];
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio });
  guard(child);
  const said = { stdout: '', stderr: '', output: '' };
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      said[stream] += text;
      said.output += text;
    });
  return new Promise<Said>((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      const what = [command, ...args].join(' ').slice(0, 200);
      const heard = said.output.slice(-SHOWN) || 'nothing';
      // Not when it has closed its output: a process that it has started may hold that.
      reject(new Error(`${what} did not end within ${limit} ms, and was killed. It said:\n${heard}`));
    }, limit);
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ code, ...said });
    });
  });
}
