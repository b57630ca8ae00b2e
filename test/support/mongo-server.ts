import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MongoClient, type MongoClientOptions } from 'mongodb';
import {
  type DatabaseProgram,
  type DatabaseServer,
  type DatabaseSession,
  type LocalDatabase,
  provideDatabase,
  SESSION_LIMIT,
  startDatabase,
} from './database-server.js';
import { dockerAnswers, findOnPath, LOOPBACK, projectRoot } from './machine.js';

const run = promisify(execFile);

const IMAGE = 'mongo:7';
const REPLICA_SET = 'rs0';
/** How long Maven may take: the first time it downloads the stand-in, and parts of itself. */
const BUILD_LIMIT = 180_000;
const SOURCES = ['pom.xml', 'src/StandIn.java'];

/** A program that is, or stands for, a MongoDB. */
interface MongoProgram {
  readonly source: 'local' | 'packages';
  command(dir: string, port: number): { readonly command: string; readonly args: string[] };
}

/**
 * A MongoDB for tests that can use any server: the one that `MONGODB_URL` names, a container, a `mongod` on the PATH, or a stand-in in
 * memory, which Maven builds into `.cache/mongo`: it needs a JDK. Tests that kill or freeze it use {@link startMongo}.
 *
 * @throws if none of the ways works; the message lists them
 */
export function provideMongo(): Promise<DatabaseServer> {
  return provideDatabase({
    name: 'MongoDB',
    kind: 'MongoDB',
    variable: 'MONGODB_URL',
    help: { url: 'a replica set', local: 'MongoDB (mongod), or Maven and a JDK for a stand-in, on the PATH' },
    ask,
    open,
    startContainer,
    find: findMongo,
    start: startMongo,
  });
}

/** Whether there is a MongoDB to be had. If not, says aloud what is left out: Java is not for everybody who changes a line here. */
export async function isThereMongo(what: string): Promise<boolean> {
  if (process.env['MONGODB_URL'] || (await dockerAnswers())) return true;
  const problem = await findMongo().then(
    () => undefined,
    (error: Error) => error,
  );
  if (problem === undefined) return true;
  process.stderr.write(`LEFT OUT: ${what}. ${problem.message}\n`);
  return false;
}

/** A private MongoDB, or its stand-in, which forgets everything when it is restarted. */
export async function startMongo(): Promise<LocalDatabase> {
  const { command } = await findMongo();
  const program: DatabaseProgram = {
    name: 'MongoDB',
    politely: 'SIGTERM',
    prepare: async (dir) => void (await mkdir(join(dir, 'data'), { recursive: true })),
    command: (dir, port) => ({ ...command(dir, port), env: process.env }),
    url: (port) => `mongodb://${LOOPBACK}:${port}/test?directConnection=true`,
    ask,
  };
  return startDatabase(program);
}

/** A client as a user makes it, which gives up a little sooner. */
export const testMongo = (url: string, options: MongoClientOptions = {}): MongoClient =>
  new MongoClient(url, {
    serverSelectionTimeoutMS: SESSION_LIMIT,
    socketTimeoutMS: SESSION_LIMIT,
    ...options,
  });

let found: Promise<MongoProgram> | undefined;

function findMongo(): Promise<MongoProgram> {
  found ??= find().catch((error: unknown) => {
    found = undefined;
    throw error;
  });
  return found;
}

async function find(): Promise<MongoProgram> {
  const mongod = await findOnPath('mongod');
  if (mongod !== undefined)
    return {
      source: 'local',
      command: (dir, port) => ({
        command: mongod,
        args: `--replSet ${REPLICA_SET} --bind_ip ${LOOPBACK} --port ${port} --dbpath`
          .split(' ')
          .concat(join(dir, 'data')),
      }),
    };
  const [java, mvn] = await Promise.all([findOnPath('java'), findOnPath('mvn')]);
  if (java === undefined || mvn === undefined)
    throw new Error('There is no mongod on the PATH, and no java and mvn to build the stand-in with.');
  const target = await standIn(mvn);
  const path = [join(target, 'classes'), join(target, 'libraries', '*')].join(':');
  return {
    source: 'packages',
    // One that is only asked a little needs no more.
    command: (_dir, port) => ({
      command: java,
      args: ['-Xmx256m', '-XX:TieredStopAtLevel=1', '-cp', path, 'StandIn', String(port)],
    }),
  };
}

/** Builds the stand-in, once for each state of its sources. Several processes may call this at once. */
async function standIn(mvn: string): Promise<string> {
  const sources = join(projectRoot, 'test/support/mongo');
  const hash = createHash('sha256');
  for (const file of SOURCES) hash.update(await readFile(join(sources, file)));
  const base = join(projectRoot, '.cache', 'mongo');
  const folder = join(base, hash.digest('hex').slice(0, 16));
  const isThere = (): Promise<boolean> =>
    stat(folder).then(
      () => true,
      () => false,
    );
  if (await isThere()) return join(folder, 'target');
  await mkdir(base, { recursive: true });
  const making = await mkdtemp(join(base, 'making-'));
  try {
    await cp(sources, making, { recursive: true });
    const args = [
      '-q',
      '-B',
      'compile',
      'dependency:copy-dependencies',
      '-DoutputDirectory=target/libraries',
    ];
    await run(mvn, args, { cwd: making, timeout: BUILD_LIMIT }).catch(
      (error: Error & { stdout?: string }) => {
        throw new Error(`Maven could not build the stand-in for MongoDB: ${error.stdout || error.message}`, {
          cause: error,
        });
      },
    );
    await rename(making, folder).catch(async (error: unknown) => {
      if (!(await isThere())) throw error;
    });
  } finally {
    await rm(making, { recursive: true, force: true });
  }
  return join(folder, 'target');
}

/** Resolves if the server takes writes. A new one is made the only member of its replica set. */
async function ask(url: string): Promise<void> {
  // The driver waits for an answer for ever: a server that has just begun, or is about to end, may owe one.
  const limits = { serverSelectionTimeoutMS: 2_000, connectTimeoutMS: 2_000, socketTimeoutMS: 2_000 };
  const client = new MongoClient(url, limits);
  try {
    const admin = client.db('admin');
    const hello = await admin.command({ hello: 1 });
    if (hello['info'] === 'Does not have a valid replica set config')
      await admin.command({ replSetInitiate: {} });
    if (hello['isreplicaset'] === true || (hello['isWritablePrimary'] ?? hello['ismaster']) !== true)
      throw new Error('it is no primary yet');
  } finally {
    await client.close();
  }
}

async function open(url: string): Promise<DatabaseSession> {
  const client = testMongo(url, { maxPoolSize: 1 });
  await client.connect();
  return {
    query: () => client.db().command({ ping: 1 }),
    // A client never shares its connections, and FerretDB does not number them.
    id: async () => (await client.db().command({ hello: 1 })) && client,
    end: () => client.close(),
  };
}

async function startContainer(): Promise<DatabaseServer> {
  // Only now: without an engine the import alone costs a second.
  const { GenericContainer, Wait } = await import('testcontainers');
  const container = await new GenericContainer(IMAGE)
    .withExposedPorts(27017)
    .withCommand(['--replSet', REPLICA_SET, '--bind_ip_all'])
    .withWaitStrategy(Wait.forLogMessage(/waiting for connections/i))
    .start();
  await container.exec(['mongosh', '--quiet', '--eval', 'rs.initiate()']);
  const url = `mongodb://${container.getHost()}:${container.getMappedPort(27017)}/test?directConnection=true`;
  return { url, source: 'docker', stop: async () => void (await container.stop()) };
}
