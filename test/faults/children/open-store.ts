import type { SchedulerLockModuleOptions } from 'nestjs-scheduler-lock';

/** A store as a parent names it to a child: its kind, and where it is. */
export interface StoreAddress {
  readonly kind: 'redis';
  readonly url: string;
}

/** The options of the module for a store in another process. */
export async function openStore({ kind, url }: StoreAddress): Promise<SchedulerLockModuleOptions> {
  switch (kind) {
    case 'redis':
      return { connection: url };
  }
}
