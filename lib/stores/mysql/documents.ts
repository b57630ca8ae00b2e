import type { Change, DocumentsRead, Renewal, SeenDocument } from '../../contract/port.js';
import { LockStateError } from '../../base/errors.js';
import { documentsIn, type Row, textOf, type Written } from '../sql/dialect.js';
import { describeFailure } from '../sql/failure.js';
import type { Gate } from '../sql/gate.js';
import { read, write } from './client.js';
import {
  changeManyStatement,
  changeStatement,
  makeStatement,
  READ_TIME,
  readAll,
  readRow,
  readSome,
  readVersions,
  renewStatement,
  unlockedStatement,
} from './statements.js';
import type { Sql } from './sql-text.js';
import type { MysqlTableInfo } from './table-look.js';

/** Reads rows. @param shown the table, for messages */
export async function readDocuments(
  gate: Gate,
  table: MysqlTableInfo,
  names: readonly string[] | 'all',
  shown: string,
): Promise<DocumentsRead> {
  let rows: readonly Row[] = [];
  if (names === 'all') rows = await read(gate, readAll(table));
  else if (names.length === 1) rows = await read(gate, readRow(table, names[0] as string));
  else if (names.length > 1) rows = await read(gate, readSome(table, names));
  const problems = new Map<string, LockStateError>();
  if (names !== 'all')
    for (const { name, asked } of rows) {
      const found = String(name);
      if (names.includes(found)) continue;
      // To the collation of a table of ShedLock, the name of another lock is the same; to any, blanks at the end are nothing.
      const several = asked === undefined ? found.trimEnd() : names[Number(asked) - 1];
      const lock = names.length === 1 ? names[0] : several;
      if (lock !== undefined) problems.set(lock, confusable(lock, found, shown, table));
    }
  const { now, documents } = documentsIn(rows.length > 0 ? rows : await read(gate, READ_TIME));
  return {
    now,
    documents: documents.filter(({ name }) => names === 'all' || names.includes(name)),
    problems,
  };
}

/** Changes of rows that are there, or rows that are new, never both at once. */
export async function writeDocuments(
  gate: Gate,
  table: MysqlTableInfo,
  changes: readonly Change[],
): Promise<Written[]> {
  if (changes[0]?.seen === null && !table.mariadb)
    await read(
      gate,
      unlockedStatement(
        table,
        changes.map(({ name }) => name),
      ),
    );
  const { affectedRows } = await write(gate, statementFor(table, changes));
  const count = Number(affectedRows);
  if (count === 0 || count === changes.length) return changes.map(() => count > 0);
  const rows = await readAfterWrite(
    gate,
    readVersions(
      table,
      changes.map(({ name }) => name),
    ),
  );
  const versions = new Map(rows.map(({ name, version }) => [String(name), textOf(version)]));
  return whichOf(changes, count, versions);
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
  const isOpen = (written: Written): boolean => written === undefined;
  if (left > 0 && left < found.filter(isOpen).length) return found;
  return found.map((written) => written ?? left > 0);
}

export async function renewDocuments(
  gate: Gate,
  table: MysqlTableInfo,
  renewals: readonly Renewal[],
  shown: string,
): Promise<boolean[]> {
  const names = renewals.map(({ name }) => name);
  const { affectedRows } = await write(gate, renewStatement(table, renewals));
  if (Number(affectedRows) === renewals.length) return renewals.map(() => true);
  // Some were not renewed. One that is taken after the statement was taken when it was renewed.
  const { now, documents, problems } = await readDocuments(gate, table, names, shown);
  const byName = new Map(documents.map((document) => [document.name, document]));
  return renewals.map(({ name, by }) => {
    const found = byName.get(name);
    return found?.by === by && found.until > now && problems?.has(name) !== true;
  });
}

/** An error of the read says nothing of the write before it, which some rows have by now. */
async function readAfterWrite(gate: Gate, statement: Sql): Promise<readonly Row[]> {
  try {
    return await read(gate, statement);
  } catch (error) {
    throw new Error(`it wrote some rows, and nobody knows which: ${describeFailure(error)}`);
  }
}

function statementFor(table: MysqlTableInfo, changes: readonly Change[]) {
  const [first] = changes;
  if (first?.seen === null) return makeStatement(table, changes);
  const seen = changes as readonly (Change & { seen: SeenDocument })[];
  return seen.length === 1 && seen[0] !== undefined
    ? changeStatement(table, seen[0])
    : changeManyStatement(table, seen);
}

const confusable = (
  name: string,
  found: string,
  shown: string,
  { widening }: MysqlTableInfo,
): LockStateError =>
  new LockStateError(
    name,
    `${shown} has a row named "${found}", whose name is the same to the database. Rename one of the two locks, or run this: ${widening};`,
  );
