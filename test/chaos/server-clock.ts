import { execFile } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findOnPath, projectRoot } from '../support/machine.js';

const execute = promisify(execFile);

/** A compiler takes seconds, on a busy machine. */
const run = (
  command: string,
  args: readonly string[],
  env?: NodeJS.ProcessEnv,
): Promise<{ stdout: string }> => execute(command, args, { timeout: 60_000, ...(env && { env }) });

/** A wall clock that the servers started with `env` read instead of the true one. */
export interface ServerClock {
  readonly env: NodeJS.ProcessEnv;
  /** Sets it ahead of true time by this many milliseconds, or behind. */
  set(ahead: number): void;
  /** Removes its files. */
  close(): void;
}

/**
 * Makes a clock for servers by a library that is compiled and preloaded.
 *
 * @throws if there is no C compiler, or if programs ignore such a library; the message says so
 */
export async function serverClock(): Promise<ServerClock> {
  const compiler = await findOnPath('cc');
  if (compiler === undefined) throw new Error('there is no C compiler (cc) on the PATH');
  const folder = mkdtempSync(join(tmpdir(), 'scheduler-lock-clock-'));
  const close = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    // Servers run as other users.
    await run('chmod', ['755', folder]);
    const library = join(folder, 'server-clock.so');
    const source = join(projectRoot, 'test/chaos/server-clock.c');
    await run(compiler, ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl', '-lpthread']);
    const file = join(folder, 'ahead');
    writeFileSync(file, Buffer.alloc(8));
    const set = (ahead: number): void => {
      const bytes = Buffer.alloc(8);
      bytes.writeBigInt64LE(BigInt(ahead));
      // In place: servers have it mapped.
      const open = openSync(file, 'r+');
      writeSync(open, bytes, 0, bytes.length, 0);
      closeSync(open);
    };
    const clock = { env: { LD_PRELOAD: library, SERVER_CLOCK: file }, set, close };
    await prove(clock);
    return clock;
  } catch (error) {
    close();
    throw error;
  }
}

const HOUR = 3_600_000;

/**
 * Checks that the clock works: a program that does not use the system's C library would silently keep the true time.
 */
async function prove({ env, set }: ServerClock): Promise<void> {
  set(HOUR);
  const { stdout } = await run(process.execPath, ['--print', 'Date.now()'], {
    ...process.env,
    NODE_OPTIONS: '',
    ...env,
  });
  set(0);
  if (Math.abs(Number(stdout) - Date.now() - HOUR) > HOUR / 2)
    throw new Error('a preloaded library does not change the clock of programs here');
}
