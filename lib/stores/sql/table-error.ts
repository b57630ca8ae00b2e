import type { MissingParts, TableLook } from './dialect.js';
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

/**
 * The table that a look has found.
 *
 * @param wasThere whether an earlier look has found it complete
 * @throws TableError if the look has found that it cannot be used
 */
export function tableOf<Table>(look: TableLook<Table>, wasThere: boolean): Table {
  if ('table' in look) return look.table;
  if ('problem' in look) throw new TableError(look.problem);
  const help = wasThere ? WAS_THERE[look.lacks] : 'Run this, or leave it to the store (migrate: true):';
  throw new TableError(`${look.missing} ${help}\n${sqlOf(look)}`);
}

/** The error if the store may not create what is missing. @param error what the database said */
export function notAllowed(missing: MissingParts, error: unknown): TableError {
  return new TableError(
    `${missing.missing} It could not be created: ${describeFailure(error)}. Put that right, or run this as a user who may:\n${sqlOf(missing)}`,
  );
}

/** The migration, to be run by hand. */
function sqlOf({ migration }: MissingParts): string {
  return migration.map((statement) => `${statement};`).join('\n');
}
