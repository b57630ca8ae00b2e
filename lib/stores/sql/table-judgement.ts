import type { Fault, MissingParts } from './dialect.js';
import { describeFailure } from './failure.js';
import { LOCKED_BY_LENGTH } from '../../contract/holder-text.js';

/** What the database says of a column. */
export interface Column {
  /** The type, for messages. */
  readonly type: string;
  /** How many digits of a second the column keeps; absent if it holds no time. */
  readonly digits?: number | undefined;
  /** How many characters the column takes; absent if it holds no text of varying length. */
  readonly length?: number | undefined;
}

/** What a look at the table has found. */
export interface TableFacts {
  /** Schema and name, quoted. */
  readonly table: string;
  /** By name; empty if there is no table. */
  readonly columns: ReadonlyMap<string, Column>;
  /** Whether `name` is unique by itself. */
  readonly unique: boolean;
  /** Another reason why the store cannot use the table, and what to do. */
  readonly problem?: string | undefined;
  /** Whether all SQL of the store follows, for a person to run. */
  readonly setsUp?: boolean | undefined;
}

/** The SQL that creates a table, or makes one usable. */
export interface TableDdl {
  /** The statements that create the table. Several instances may run them, also at once. */
  readonly creation: readonly string[];
  /** The statement that adds these columns of ours. */
  addition(columns: readonly OurColumn[]): string;
  /** The clauses of an ALTER TABLE after which `lock_until` and `locked_at` know milliseconds. */
  readonly exactTimes: string;
  /** The clause after which `locked_by` has room for what a lease writes there. */
  readonly longLockedBy: string;
  /** The statement after which `name` has room for long names, and for every character. */
  readonly widening: string;
}

/** The columns that ShedLock documents. A table without them belongs to another program. */
const SHEDLOCK_COLUMNS = ['name', 'lock_until', 'locked_at', 'locked_by'] as const;
/** The columns that we add. */
export const OUR_COLUMNS = ['version', 'state'] as const;
type OurColumn = (typeof OUR_COLUMNS)[number];
/** Digits of a second. A column of whole seconds would end a lease up to half a second before its holder expects the end. */
const DIGITS = 3;

/** Judges a table by its columns: what is missing or wrong, and what to do; `undefined` if the store can use the table. */
export function judgeTable(facts: TableFacts, ddl: TableDdl): Fault | undefined {
  const { table, columns } = facts;
  const lacking = <Name extends string>(names: readonly Name[]): Name[] =>
    names.filter((name) => !columns.has(name));
  if (columns.size === 0) {
    return { missing: `The table ${table} does not exist.`, lacks: 'table', migration: ddl.creation };
  }
  const foreign = lacking(SHEDLOCK_COLUMNS).join(', ');
  if (foreign !== '') {
    return {
      problem: `The table ${table} has no column ${foreign}: it is not one of ShedLock's. Give another name (table).`,
    };
  }
  const ours = lacking(OUR_COLUMNS);
  if (ours.length > 0) {
    const missing = `The table ${table} has no column ${ours.join(', ')}.`;
    return { missing, lacks: 'columns', migration: [ddl.addition(ours)] };
  }
  return unfitFor(facts, ddl);
}

/** Why a table with all columns cannot be used. */
function unfitFor({ table, columns, unique, problem, setsUp }: TableFacts, ddl: TableDdl): Fault | undefined {
  const unfit = (column: string, demand: string, remedy: string): { problem: string } => ({
    problem:
      `The column ${column} of ${table} is a ${columns.get(column)?.type}, and has to ${demand}. Run this:\n` +
      `ALTER TABLE ${table} ${remedy};`,
  });
  if ((columns.get('lock_until')?.digits ?? 0) < DIGITS) {
    return unfit('lock_until', 'know milliseconds', ddl.exactTimes);
  }
  if (!unique) {
    return {
      problem: `The column name of ${table} is not unique. Run this:\nALTER TABLE ${table} ADD PRIMARY KEY (name);`,
    };
  }
  if ((columns.get('locked_by')?.length ?? 0) < LOCKED_BY_LENGTH) {
    const demand = `take ${LOCKED_BY_LENGTH} characters, as ShedLock's does`;
    return unfit('locked_by', demand, ddl.longLockedBy);
  }
  if (problem === undefined) return undefined;
  return setsUp === true ? { problem, setsUp } : { problem };
}

/** The column of the names. */
export interface NameColumn {
  /** How many characters it takes, or bytes. */
  readonly length: number;
  /** @default 'characters' */
  readonly unit?: 'characters' | 'bytes';
  /** Whether it takes every character. */
  readonly unicode: boolean;
  readonly widening: string;
}

/**
 * Why the column cannot keep a name, and what to do; `undefined` if the column can.
 *
 * @param stored the name as the column has it
 */
export function nameProblem(table: string, stored: string, column: NameColumn): string | undefined {
  // oxlint-disable-next-line no-control-regex -- what is not ASCII is looked for
  if (!column.unicode && /[^\u0000-\u007f]/.test(stored)) {
    return `the column name of ${table} does not take every character. Give it another name, or run this: ${column.widening};`;
  }
  const { unit = 'characters' } = column;
  // It is at most as long in characters as in units of UTF-16.
  if (unit === 'characters' && stored.length <= column.length) return undefined;
  const { length } = unit === 'bytes' ? Buffer.from(stored) : Array.from(stored);
  if (length <= column.length) return undefined;
  return `it has ${length} ${unit}, and the column name of ${table} has room for ${column.length}. Give a shorter name, or run this: ${column.widening};`;
}

/** The table cannot be used. The message says what to do. */
export class TableError extends Error {}

/** What to say about a table that was complete before. */
const WAS_THERE = {
  table:
    'It was there before. If it was moved or renamed, move it back, or say where it is (`schema`, `table`) and start again. Otherwise ' +
    'the leases that lived in it are forgotten: an empty one would let others win while their holders still run. When their jobs have ended, start an instance that may create it, call migrate(), or run this:',
  columns:
    'It had that before, and what was in it is forgotten (fencing tokens, which ticks have run); if the table was made anew, so are the ' +
    'leases that lived in it. When the jobs that run have ended, start an instance that may alter it, call migrate(), or run this:',
} as const;

/**
 * The error for the result of a look.
 *
 * @param wasThere whether an earlier look has found the table complete
 * @param setup all SQL that a person has to run
 */
export function tableError(found: Fault, wasThere: boolean, setup: string): TableError {
  if ('problem' in found)
    return new TableError(found.setsUp === true ? `${found.problem}\n${setup}` : found.problem);
  const help = wasThere ? WAS_THERE[found.lacks] : 'Run this, or leave it to the store (migrate: true):';
  return new TableError(`${found.missing} ${help}\n${setup}`);
}

/**
 * The error if the user lacks a right.
 *
 * @param missing what could not be created; `undefined`: the user may not look at the table, or not write it
 * @param error what the database said
 */
export function notAllowed(missing: MissingParts | undefined, error: unknown, setup: string): TableError {
  const what =
    missing === undefined ? 'The user lacks a right' : `${missing.missing} It could not be created`;
  return new TableError(
    `${what}: ${describeFailure(error)}. Put that right, or run this as a user who may:\n${setup}`,
  );
}
