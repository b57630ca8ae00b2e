import { SchedulerLockConfigError } from '../../base/errors.js';
import type { MongoDatabase } from './client.js';
import { isDenied } from './errors.js';

/** The oldest major version that the store accepts. */
const OLDEST = 5;

interface BuildInfo {
  readonly version?: unknown;
  readonly ferretdbVersion?: unknown;
}

interface CollectionInfo {
  readonly type?: unknown;
  readonly options?: { readonly collation?: { readonly locale?: unknown }; readonly capped?: unknown };
}

interface Collections {
  readonly cursor?: { readonly firstBatch?: readonly CollectionInfo[] };
}

/**
 * Checks a server, and the collection of the locks.
 *
 * @throws SchedulerLockConfigError if no locks can be kept there
 */
export async function checkServer(db: MongoDatabase, name: string): Promise<void> {
  const info = (await db.command({ buildInfo: 1 }, { readPreference: 'primary' })) as BuildInfo;
  const problem = serverProblem(info) ?? (await collectionProblem(db, name));
  if (problem !== undefined) throw new SchedulerLockConfigError([`store: ${problem}`]);
}

/** The updates of FerretDB 1 are not atomic: it gives one lock to several instances. */
function serverProblem({ version, ferretdbVersion }: BuildInfo): string | undefined {
  const isFerret = /^v?[01]\./.test(String(ferretdbVersion));
  if (!isFerret && !(Number.parseInt(String(version), 10) < OLDEST)) return undefined;
  const what = isFerret ? `FerretDB ${String(ferretdbVersion)}` : `MongoDB ${String(version)}`;
  return `the server is ${what}, which cannot keep locks. Use MongoDB ${OLDEST} or newer, or FerretDB 2.`;
}

/** Why a collection can keep nothing of ours, and what to do; `undefined` if it can. */
export async function collectionProblem(db: MongoDatabase, name: string): Promise<string | undefined> {
  const command = { listCollections: 1, filter: { name } };
  const found = await db.command(command, { readPreference: 'primary' }).catch((error: unknown) => {
    // A user who may read and write may lack the right to list collections.
    if (isDenied(error)) return {};
    throw error;
  });
  const { type = 'collection', options } = (found as Collections).cursor?.firstBatch?.[0] ?? {};
  const { locale = 'simple' } = options?.collation ?? {};
  const collation = locale === 'simple' ? '' : ` with the collation ${String(locale)}`;
  const what = `a ${options?.capped === true ? 'capped ' : ''}${String(type)}${collation}`;
  if (what === 'a collection') return undefined;
  return `${name} is ${what}, which cannot keep locks. Give the store another \`collection\`: it makes one itself.`;
}
