import { execFile } from 'node:child_process';
import { chown } from 'node:fs/promises';
import { promisify } from 'node:util';
import { findOnPath } from './programs.js';

const run = promisify(execFile);

/** The user for a server that refuses to run as root. */
export interface ServerUser {
  /** Gives a folder to that user. */
  own(dir: string): Promise<void>;
  /** A command line that runs `command` as that user; its process is the command itself. */
  as(command: string, args: readonly string[]): { command: string; args: string[] };
}

/** The present user, or, for root, the first of these users that exists. */
export async function serverUser(names: readonly string[]): Promise<ServerUser> {
  if (process.getuid?.() !== 0) {
    return { own: async () => undefined, as: (command, args) => ({ command, args: [...args] }) };
  }
  if (!(await findOnPath('setpriv')))
    throw new Error('as root, setpriv (util-linux) is needed to run a server as another user');
  for (const name of [...names, 'nobody']) {
    const ids = await Promise.all(['-u', '-g'].map((option) => run('id', [option, name]))).catch(
      () => undefined,
    );
    const [uid = NaN, gid = NaN] = ids?.map(({ stdout }) => Number(stdout)) ?? [];
    if (!Number.isInteger(uid)) continue;
    return {
      own: (dir) => chown(dir, uid, gid),
      as: (command, args) => ({
        command: 'setpriv',
        args: [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', command, ...args],
      }),
    };
  }
  throw new Error('there is no user to run a server as, as root may not');
}
