import { SchedulerLockConfigError } from '../../base/errors.js';
import type { MongoDatabase } from './client.js';
import { isDenied } from './errors.js';

/** The oldest major version that the store accepts. */
const OLDEST = 5;

/** What a server says of itself. */
interface Hello {
  /** The name of its replica set. */
  readonly setName?: unknown;
  /** `isdbgrid`: the server is a `mongos`, before a sharded cluster. */
  readonly msg?: unknown;
  /** When it answered, by the log of its replica set: without it there are no change streams. */
  readonly operationTime?: unknown;
}

/** What a look at the server has found. */
interface Looked {
  /** What a person should change, for the log. */
  readonly warning: string | undefined;
  readonly hasChangeStreams: boolean;
}

interface BuildInfo {
  readonly version?: unknown;
  readonly ferretdbVersion?: unknown;
}

interface Collections {
  readonly cursor?: { readonly firstBatch?: readonly CollectionInfo[] };
}

interface CollectionInfo {
  readonly type?: unknown;
  readonly options?: { readonly collation?: { readonly locale?: unknown }; readonly capped?: unknown };
}

/**
 * Checks a server, and the collection of the locks.
 *
 * @throws SchedulerLockConfigError if no locks can be kept there
 */
export async function lookAtServer(db: MongoDatabase, name: string): Promise<Looked> {
  const ask = (command: object): Promise<unknown> => db.command(command, { readPreference: 'primary' });
  const hello = (await ask({ hello: 1 })) as Hello;
  const info = (await ask({ buildInfo: 1 })) as BuildInfo;
  const problem = serverProblem(info) ?? (await collectionProblem(db, name));
  if (problem !== undefined) throw new SchedulerLockConfigError([`store: ${problem}`]);
  return { warning: standaloneWarning(hello), hasChangeStreams: hello.operationTime !== undefined };
}

function serverProblem({ version, ferretdbVersion }: BuildInfo): string | undefined {
  if (/^v?[01]\./.test(String(ferretdbVersion)))
    return (
      `the server is FerretDB ${String(ferretdbVersion)}, which gives one lock to several instances: its updates are not atomic. ` +
      'Use MongoDB, or FerretDB 2.'
    );
  const major = Number.parseInt(String(version), 10);
  return major < OLDEST
    ? `the server is MongoDB ${String(version)}. The store needs MongoDB ${OLDEST} or newer.`
    : undefined;
}

/** Why a collection can keep nothing of ours, and what to do; `undefined` if it can. */
export async function collectionProblem(db: MongoDatabase, name: string): Promise<string | undefined> {
  const command = { listCollections: 1, filter: { name } };
  const found = await db.command(command, { readPreference: 'primary' }).catch((error: unknown) => {
    // A user who may read and write may lack the right to list collections.
    if (isDenied(error)) return {};
    throw error;
  });
  return problemOf(name, (found as Collections).cursor?.firstBatch?.[0]);
}

function problemOf(name: string, { type = 'collection', options }: CollectionInfo = {}): string | undefined {
  const { collation, capped } = options ?? {};
  const isPlain = type === 'collection' && capped !== true;
  const remedy = 'Give the store another `collection`: it makes one itself.';
  if (!isPlain)
    return `${name} is ${type === 'collection' ? 'a capped collection' : `a ${String(type)}`}, which cannot keep what has to change. ${remedy}`;
  const { locale = 'simple' } = collation ?? {};
  return locale === 'simple'
    ? undefined
    : `the collection ${name} has a collation (${String(locale)}), which may take two names for one. ${remedy}`;
}

/** A crash of a standalone server loses what was not on disk, and no other server takes over. */
function standaloneWarning({ setName, msg }: Hello): string | undefined {
  if (setName !== undefined || msg === 'isdbgrid') return undefined;
  return (
    'The MongoDB of the locks is a standalone server: without it nobody runs, and a crash may lose the leases of its last moments. ' +
    'Make it a replica set, of one member if need be.'
  );
}
