import { mysqlSetup } from '../../stores/mysql/schema.js';
import { postgresSetup } from '../../stores/postgres/schema.js';
import { aclText } from '../../stores/redis/acl.js';
import { type Command, type OptionName, type Options, UsageError } from './options.js';

/** The commands that print statements for a person to run in a store, and their options. They connect to nothing. */
export const PRINTS = {
  sql: ['store', 'table', 'schema', 'grant', 'shedlock'],
  acl: ['key-prefix', 'user'],
} as const satisfies Readonly<Record<string, readonly OptionName[]>>;

export type PrintCommand = keyof typeof PRINTS;

export const isPrint = (command: Command): command is PrintCommand => command in PRINTS;

const SETUPS = { postgres: postgresSetup, mysql: mysqlSetup };

/**
 * @returns the text
 * @throws UsageError, or SchedulerLockConfigError, for what cannot work
 */
export function printed(command: PrintCommand, { text, has }: Options): string {
  if (command === 'acl') return aclText({ keyPrefix: text('key-prefix'), user: word('user', text('user')) });
  const store = text('store');
  if (store !== 'postgres' && store !== 'mysql')
    throw new UsageError('Say for which database: --store postgres, or --store mysql (also for MariaDB).');
  const given = { table: text('table'), schema: text('schema'), user: text('grant') };
  return SETUPS[store]({ ...given, shedlock: has('shedlock') });
}

/** A name without characters that would break the line. */
function word(option: string, text: string | undefined): string | undefined {
  if (text === undefined || /^[^\s"'<>]+$/.test(text)) return text;
  throw new UsageError(`--${option}: a name has no blanks and no quotes.`);
}
