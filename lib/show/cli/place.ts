import { DEFAULT_KEY_PREFIX } from '../../stores/redis/keys.js';
import { SQL_DEFAULTS } from '../../stores/sql/table-name.js';
import { kindOf, type StoreAddress } from './address.js';

/** Where a command has looked, for a person to whom it shows nothing; and by which options it looks in another place. */
export function placeOf(address: StoreAddress): string {
  const { config, key, keyPrefix = DEFAULT_KEY_PREFIX, table = SQL_DEFAULTS.table, schema } = address;
  if (config !== undefined) return 'in the store that --config names.';
  if (kindOf(address) !== 'redis')
    return `in the table ${schema === undefined ? '' : `${schema}.`}${table}. For another one: --table, --schema, or --config.`;
  const others = '--key-prefix, --key, or --config.';
  return key === undefined
    ? `with the key prefix ${keyPrefix}. For another one: ${others}`
    : `with the keys ${key}. For others: ${others}`;
}
