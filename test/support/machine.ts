import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, constants, readFileSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { request, type RequestOptions } from 'node:http';
import { createServer } from 'node:net';
import { dirname, join, delimiter } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The folder of this project's package.json: the same from the sources and from their compiled copy. */
export const projectRoot: string = findRoot(dirname(fileURLToPath(import.meta.url)));

/** The absolute path of a compiled tool: `builtScript('test/faults/children/worker.js')`. */
export function builtScript(path: string): string {
  return join(projectRoot, '.build', path);
}

function findRoot(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder;
  const parent = dirname(folder);
  if (parent === folder) throw new Error('No package.json above the test support');
  return findRoot(parent);
}

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

export const LOOPBACK = '127.0.0.1';

/**
 * Below the ports that systems give to outgoing connections. A client that reconnects to a server that is down must
 * not get the server's port, which can even connect it to itself. Low enough that a Redis Cluster bus, 10,000
 * higher, stays below them too.
 */
const LOWEST = 10_240;
const HIGHEST = 22_000;
const TRIES = 200;

/** A loopback port that is free at this moment. The caller must be ready to fail to bind it, and to ask again. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const port = randomInt(LOWEST, HIGHEST);
    if (await isFree(port)) return port;
  }
  throw new Error(`No free port found between ${LOWEST} and ${HIGHEST} on ${LOOPBACK}`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, LOOPBACK, () => server.close(() => resolve(true)));
  });
}

const DOCKER_SOCKET = '/var/run/docker.sock';
/** Without an engine the Docker libraries can hang. */
const PING_TIMEOUT = 1_000;

/** Whether a Docker engine answers on `DOCKER_HOST` or the usual socket. */
export function dockerAnswers(dockerHost: string | undefined = process.env['DOCKER_HOST']): Promise<boolean> {
  const target = engineAddress(dockerHost);
  if (target === undefined) return Promise.resolve(false);
  return new Promise((resolve) => {
    const ping = request(
      { ...target, path: '/_ping', signal: AbortSignal.timeout(PING_TIMEOUT) },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      },
    );
    ping.on('error', () => resolve(false));
    ping.end();
  });
}

function engineAddress(dockerHost: string | undefined): RequestOptions | undefined {
  if (!dockerHost) return { socketPath: DOCKER_SOCKET };
  if (dockerHost.startsWith('unix://')) return { socketPath: dockerHost.slice('unix://'.length) };
  // ssh:// and TLS engines: testcontainers would know them, this question does not.
  if (!/^(tcp|http):\/\//.test(dockerHost) || process.env['DOCKER_TLS_VERIFY']) return undefined;
  const { hostname, port } = new URL(dockerHost.replace(/^tcp:/, 'http:'));
  return { host: hostname, port: port || 2375 };
}
