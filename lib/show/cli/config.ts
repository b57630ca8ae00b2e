import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { LockStore } from '../../contract/lock-store.js';
import type { RedisLockStore, RedisLockStoreOptions } from '../../stores/redis/redis-lock.store.js';
import { show } from '../../base/wording.js';
import { UsageError } from './options.js';

/** A URL, ioredis options, or a client. */
export type RedisSource = ConstructorParameters<typeof RedisLockStore>[0];

/** Where the store is, in the words of the module: `store`, or `connection` with `keyPrefix` or `key`. */
export type StoreOptions =
  | {
      readonly store: LockStore;
      readonly connection?: never;
      readonly keyPrefix?: never;
      readonly key?: never;
    }
  | ({ readonly store?: undefined; readonly connection: RedisSource } & RedisLockStoreOptions);

/**
 * Loads the options of the store from a module: its default export, or the result of that if it is a function.
 *
 * @param file relative to the folder of the shell
 * @throws UsageError if there is no such module, or if it exports no such options
 */
export async function loadConfig(file: string): Promise<StoreOptions> {
  const options = await exportOf(file);
  const { store, connection, keyPrefix, key } = Object(options) as Partial<StoreOptions>;
  if (store !== undefined) {
    if (typeof (store as Partial<LockStore>).acquire === 'function') return { store };
    throw new UsageError(`--config: the option store of ${show(file)} is no LockStore.`);
  }
  if (connection === undefined)
    throw new UsageError(
      `--config: ${show(file)} exports neither connection nor store. ` +
        "Write: export default { connection: 'redis://localhost:6379', keyPrefix: 'jobs' }.",
    );
  return { connection, keyPrefix, key };
}

async function exportOf(file: string): Promise<unknown> {
  let whole: { default?: unknown };
  try {
    whole = (await import(pathToFileURL(resolve(file)).href)) as { default?: unknown };
  } catch (error) {
    const { message } = error as Error;
    throw new UsageError(`--config: ${show(file)} cannot be loaded: ${message.split('\n')[0]}.`);
  }
  const own = whole.default;
  // TypeScript compiles `export default` to CommonJS as a property.
  const found = (Object(own) as { default?: unknown }).default ?? own;
  return typeof found === 'function' ? (found as () => unknown)() : found;
}
