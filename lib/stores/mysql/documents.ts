import type { Change, DocumentsRead, Renewal } from '../../contract/port.js';
import { LockStateError } from '../../base/errors.js';
import { documentsIn, type Written } from '../sql/dialect.js';
import { describeFailure } from '../sql/failure.js';
import type { Gate } from '../sql/gate.js';
import { read, write } from './client.js';
import {
  changeStatement,
  makeStatement,
  READ_TIME,
  readRows,
  renewStatement,
  type SeenChange,
  unlockedStatement,
} from './statements.js';
import type { MysqlTable } from './columns.js';

export async function readDocuments(
  gate: Gate,
  table: MysqlTable,
  names: readonly string[] | 'all',
): Promise<DocumentsRead> {
  const rows = names.length === 0 ? [] : await read(gate, readRows(table, names));
  const { now, documents } = documentsIn(rows.length > 0 ? rows : await read(gate, READ_TIME));
  // To the collation of a table of ShedLock, the name of another lock is the same; to any, blanks at the end are nothing.
  const strange = documents.find(({ name }) => names !== 'all' && !names.includes(name));
  if (names === 'all' || strange === undefined) return { now, documents };
  const [name] = names;
  if (names.length === 1 && name !== undefined) {
    const problems = new Map([[name, confusable(name, strange.name, table)]]);
    return { now, documents: documents.filter((each) => each !== strange), problems };
  }
  // Reads of fewer rows tell whose name it is.
  const half = Math.ceil(names.length / 2);
  const reads = [names.slice(0, half), names.slice(half)].map((some) => readDocuments(gate, table, some));
  const parts = await Promise.all(reads);
  return {
    now,
    documents: parts.flatMap((part) => part.documents),
    problems: new Map(parts.flatMap(({ problems = [] }) => [...problems])),
  };
}

/** Changes of rows that are there, or rows that are new, never both at once. */
export async function writeDocuments(
  gate: Gate,
  table: MysqlTable,
  changes: readonly Change[],
): Promise<Written[]> {
  const names = changes.map(({ name }) => name);
  const isNew = changes[0]?.seen === null;
  if (isNew && !table.mariadb) await read(gate, unlockedStatement(table, names));
  const statement = isNew
    ? makeStatement(table, changes)
    : changeStatement(table, changes as readonly SeenChange[]);
  const count = await write(gate, statement);
  if (count === 0 || count === changes.length) return changes.map(() => count > 0);
  const { documents } = await readDocuments(gate, table, names).catch((error: unknown) => {
    // An error of the read says nothing of the write before it.
    throw new Error(`it wrote some rows, and nobody knows which: ${describeFailure(error)}`);
  });
  return whichOf(changes, count, new Map(documents.map(({ name, version }) => [name, version])));
}

/**
 * Which changes were written, by the versions that are there after them. Where others have written, too, the count tells if it is of all
 * or of none of these.
 */
function whichOf(
  changes: readonly Change[],
  count: number,
  versions: ReadonlyMap<string, string>,
): Written[] {
  const found = changes.map(({ name, seen, version }) => {
    const there = versions.get(name);
    if (there === version) return true;
    return there === seen?.version ? false : undefined;
  });
  const left = count - found.filter((written) => written === true).length;
  if (left > 0 && left < found.filter((written) => written === undefined).length) return found;
  return found.map((written) => written ?? left > 0);
}

export async function renewDocuments(
  gate: Gate,
  table: MysqlTable,
  renewals: readonly Renewal[],
): Promise<boolean[]> {
  const names = renewals.map(({ name }) => name);
  if ((await write(gate, renewStatement(table, renewals))) === renewals.length)
    return renewals.map(() => true);
  // Some were not renewed. One that is taken after the statement was taken when it was renewed.
  const { now, documents, problems } = await readDocuments(gate, table, names);
  const byName = new Map(documents.map((document) => [document.name, document]));
  return renewals.map(({ name, by }) => {
    const found = byName.get(name);
    return found?.by === by && found.until > now && problems?.has(name) !== true;
  });
}

const confusable = (name: string, found: string, { table, widening }: MysqlTable): LockStateError =>
  new LockStateError(
    name,
    `${table.text} has a row named "${found}", whose name is the same to the database. Rename one of the two locks, or run this: ${widening};`,
  );
