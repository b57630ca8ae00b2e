import { mysqlSetup } from '../../stores/mysql/schema.js';
import { postgresSetup } from '../../stores/postgres/schema.js';
import { aclText } from '../../stores/redis/acl.js';
import { type OptionName, UsageError } from './options.js';

/** The commands that print statements for a person to run in a store, and their options. They connect to nothing. */
export const PRINTS = {
  sql: ['store', 'table', 'schema', 'grant', 'shedlock'],
  acl: ['key-prefix', 'user'],
} as const satisfies Readonly<Record<string, readonly OptionName[]>>;

export type PrintCommand = keyof typeof PRINTS;

/** What a person wants printed. */
export interface Print {
  readonly print: PrintCommand;
  /** The value of an option, if it has one. */
  readonly value: (name: OptionName) => string | undefined;
  readonly shedlock: boolean;
}

const SETUPS = { postgres: postgresSetup, mysql: mysqlSetup };

/**
 * @returns the text
 * @throws UsageError, or SchedulerLockConfigError, for what cannot work
 */
export function printed({ print, value, shedlock }: Print): string {
  if (print === 'acl') return aclText({ keyPrefix: value('key-prefix'), user: word('user', value('user')) });
  const store = value('store');
  if (store !== 'postgres' && store !== 'mysql')
    throw new UsageError('Say for which database: --store postgres, or --store mysql (also for MariaDB).');
  return SETUPS[store]({ table: value('table'), schema: value('schema'), user: value('grant'), shedlock });
}

/** A name without characters that would break the line. */
function word(option: string, text: string | undefined): string | undefined {
  if (text === undefined || /^[^\s"'<>]+$/.test(text)) return text;
  throw new UsageError(`--${option}: a name has no blanks and no quotes.`);
}
