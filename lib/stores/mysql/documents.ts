import type { Change, DocumentsRead, ReadDocument, Renewal, SeenDocument } from '../../contract/port.js';
import { LockStateError } from '../../base/errors.js';
import type { Row, Written } from '../sql/dialect.js';
import { describeFailure } from '../sql/failure.js';
import type { Gate } from '../sql/gate.js';
import { read, write } from './client.js';
import { nameOf, storedName } from './columns.js';
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
  const [{ now } = {}] = rows.length > 0 ? rows : await read(gate, READ_TIME);
  const asked = new Set(names === 'all' ? [] : names);
  const own = names === 'all' ? rows : rows.filter((row) => isOf(row, asked));
  const others = own.length < rows.length ? rows.filter((row) => !own.includes(row)) : [];
  const problems = others.flatMap((row) => problemOf(row, [...asked], { shown, table }));
  return {
    now: Number(now) / 1_000,
    documents: own.flatMap((row) => documentOf(row) ?? []),
    problems: new Map(problems),
  };
}

/** Whether a row is that of one of these locks: {@link storedName} never ends with a blank. */
function isOf({ name: stored }: Row, names: ReadonlySet<string>): boolean {
  if (typeof stored !== 'string') return false;
  const name = nameOf(stored);
  return names.has(name) && storedName(name) === stored;
}

/** The problem of the lock for whose row the database takes this one. */
function problemOf(
  { name: stored, asked }: Row,
  names: readonly string[],
  where: { readonly shown: string; readonly table: MysqlTableInfo },
): [name: string, problem: LockStateError][] {
  if (typeof stored !== 'string') return [];
  const isBlank = (name: string): boolean => storedName(name) === withoutBlanks(stored);
  const name = names.find(isBlank) ?? names[Number(asked ?? 1) - 1];
  return name === undefined ? [] : [[name, confusable(name, stored, isBlank(name), where)]];
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
  const versions = new Map(rows.map(({ name, version }) => [nameOf(String(name)), textOf(version)]));
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

/** A row without a name only tells the time. */
function documentOf({ name, version, by, until, since, state }: Row): ReadDocument | undefined {
  if (typeof name !== 'string') return undefined;
  return {
    name: nameOf(name),
    version: textOf(version),
    by: textOf(by),
    until: Number(until) / 1_000,
    since: Number(since) / 1_000,
    state: textOf(state),
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const withoutBlanks = (text: string): string => text.replace(/ +$/, '');

/** @param stored the name in the row @param isBlank whether it only differs by blanks at the end */
function confusable(
  name: string,
  stored: string,
  isBlank: boolean,
  { shown, table }: { readonly shown: string; readonly table: MysqlTableInfo },
): LockStateError {
  const problem = isBlank
    ? `${shown} has a row named "${stored}", and for the database blanks at the end make no other name. Rename or delete that row.`
    : `the collation of the column name of ${shown} takes it for the name of another lock. Run this, or rename one: ${table.widening};`;
  return new LockStateError(name, problem);
}
