import { execFile } from 'node:child_process';
import { constants, readFileSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The first program of this name on the PATH. */
export async function findOnPath(name: string): Promise<string | undefined> {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter).filter(Boolean)) {
    const path = join(folder, name);
    const executable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (executable) return path;
  }
  return undefined;
}

/** Whether `command --version` runs: it may be broken, or made for another system. */
export async function canRun(command: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  return run(command, ['--version'], { env, timeout: 10_000 }).then(
    () => true,
    () => false,
  );
}

/** Whether the process runs. One that has ended does not, even if its parent has not reaped it yet. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // A process of another user is alive as well.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return !isZombie(pid);
}

/** Orphans belong to the first process of a container, which often reaps them late or never. */
function isZombie(pid: number): boolean {
  try {
    return /\) Z [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
