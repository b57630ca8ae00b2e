import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { LOOPBACK, builtScript, projectRoot } from '../../test/support/machine.js';

/** Where the keeper of the shared Redis says how to reach it. Left behind when it ends: nobody answers there then. */
export const KEEPER_FILE = join(projectRoot, '.cache', 'sample-app', 'keeper.json');

const ANSWER_MS = 2_000;

export interface KeeperAddress {
  keeper: string;
  port: number;
}

/** What the keeper tells those who connect. */
export interface Membership {
  keeper: string;
  /** The shared Redis. */
  url: string;
  /** From 1, different for each. */
  number: number;
}

/**
 * Joins those who share a Redis, or starts it. It is kept until the last process that has joined ends.
 * Not to be called by two processes at the same moment.
 *
 * @param onGone called when the shared Redis ends before this process
 */
export async function joinSharedRedis(onGone: () => void): Promise<Membership> {
  const joined = await tryToJoin(onGone);
  if (joined !== undefined) return joined;
  await startKeeper();
  const started = await tryToJoin(onGone);
  if (started === undefined) throw new Error('The keeper of the shared Redis does not answer');
  return started;
}

async function tryToJoin(onGone: () => void): Promise<Membership | undefined> {
  const address = await readFile(KEEPER_FILE, 'utf8').catch(() => undefined);
  if (address === undefined) return undefined;
  const { keeper, port } = JSON.parse(address) as KeeperAddress;
  const socket = connect(port, LOOPBACK);
  const membership = await firstLine(socket);
  // Somebody else may have got the port meanwhile.
  if (membership?.keeper !== keeper) {
    socket.destroy();
    return undefined;
  }
  // It stays open as long as this process lives, and does not keep it alive.
  socket.once('close', onGone).unref();
  return membership;
}

function firstLine(socket: Socket): Promise<Membership | undefined> {
  return new Promise((resolve) => {
    const giveUp = (): void => resolve(undefined);
    socket.setTimeout(ANSWER_MS, giveUp).on('error', giveUp).on('close', giveUp);
    const lines = createInterface({ input: socket });
    // The interface listens for errors of its input too.
    lines.on('error', giveUp).once('line', (line) => {
      socket.setTimeout(0);
      try {
        resolve(JSON.parse(line) as Membership);
      } catch {
        giveUp();
      }
    });
  });
}

async function startKeeper(): Promise<void> {
  const { REDIS_URL: _none, ...env } = process.env;
  const keeper = spawn(process.execPath, ['--enable-source-maps', builtScript('sample-app/demo/keeper.js')], {
    cwd: projectRoot,
    // A session of its own: Ctrl-C in this terminal is not meant for it.
    detached: true,
    env,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  // What it says while it starts, such as that it unpacks a Redis.
  keeper.stderr?.pipe(process.stderr, { end: false });
  await new Promise<void>((resolve, reject) => {
    keeper.once('message', () => resolve());
    keeper.once('error', reject);
    keeper.once('exit', () => reject(new Error('No Redis could be started for the sample app')));
  });
  keeper.stderr?.destroy();
  keeper.unref();
}
