import type { SqlDialect, TableLook } from './dialect.js';
import { describeFailure } from './failure.js';

/** The table cannot be used. The message says what to do. */
export class TableError extends Error {}

/** What to say about a table that was complete before. */
const WAS_THERE = {
  table:
    'It was there before, and the leases that lived in it are forgotten: an empty one would let others win while their ' +
    'holders still run. When their jobs have ended, start an instance that may create it, call migrate(), or run this:',
  columns:
    'It had that before, and what was in it is forgotten (fencing tokens, which ticks have run); if the table was made anew, so are the ' +
    'leases that lived in it. When the jobs that run have ended, start an instance that may alter it, call migrate(), or run this:',
} as const;

/** The dialect whose migration has to be run by hand. */
type Migrated = Pick<SqlDialect<unknown>, 'migration'>;

/**
 * The statements that a look has found.
 *
 * @param wasThere whether an earlier look has found the table complete
 * @throws TableError if the look has found that the table cannot be used
 */
export function statementsOf<Table>(look: TableLook<Table>, dialect: Migrated, wasThere: boolean): Table {
  if ('statements' in look) return look.statements;
  if ('problem' in look) throw new TableError(look.problem);
  const help = wasThere ? WAS_THERE[look.lacks] : 'Run this, or leave it to the store (migrate: true):';
  throw new TableError(`${look.missing} ${help}\n${sqlOf(dialect)}`);
}

/**
 * What to say if the store may not create what is missing.
 *
 * @param missing what is missing, as a sentence
 * @param error what the database said
 */
export function notAllowed(missing: string, error: unknown, dialect: Migrated): TableError {
  return new TableError(
    `${missing} It could not be created: ${describeFailure(error)}. Put that right, or run this as a user who may:\n${sqlOf(dialect)}`,
  );
}

/** The migration, to be run by hand. */
function sqlOf(dialect: Migrated): string {
  return dialect
    .migration()
    .map((statement) => `${statement};`)
    .join('\n');
}
