import type { SchedulerLockModuleOptions } from 'nestjs-scheduler-lock';
import type { StoreConnection } from './store.js';

const OPTIONS: Readonly<Record<string, (connection: StoreConnection) => SchedulerLockModuleOptions>> = {
  redis: ({ host, port }) => ({ connection: `redis://${host}:${port}` }),
};

/** What the module of an instance is given for a store. */
export function storeOptions(connection: StoreConnection): SchedulerLockModuleOptions {
  const options = OPTIONS[connection.store];
  if (options === undefined) throw new Error(`No module options for the store ${connection.store}`);
  return options(connection);
}
