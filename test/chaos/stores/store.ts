import { mysqlChaosStore, postgresChaosStore } from './database.js';
import type { ServerClock } from '../server-clock.js';
import { redisChaosStore } from './redis.js';

/** The data with which an instance connects through its proxy: see worker-options.ts for the other end. */
export interface StoreConnection {
  readonly store: string;
  readonly host: string;
  readonly port: number;
}

/** A store whose server is started for the run, and suffers faults in it. */
export interface ChaosStore {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** How the proxy before each instance cuts traffic into pieces. */
  readonly protocol: 'resp' | 'raw';
  /** Any call that shows that the server answers. */
  ping(): Promise<unknown>;
  /** Ends the server as a crash would. Confirmed writes are kept. */
  crash(): Promise<void>;
  /** Starts it again; resolves when it answers. */
  restart(options: { data: 'kept' | 'lost' | 'old' }): Promise<void>;
  /** Copies its data, for a restart with `old` data. Absent if no guarantee survives such a restart. */
  snapshot?(): Promise<void>;
  /** The time of its clock, epoch ms. */
  time(): Promise<number>;
  /** Connections stay open, but get no answer. */
  freeze(): void;
  thaw(): void;
  /** Makes the running server forget everything. */
  flush(): Promise<unknown>;
  /** Makes it forget what clients have prepared, such as scripts. */
  forgetScripts(): Promise<unknown>;
  close(): Promise<void>;
}

/** @param env more for the environment of the server */
type StartStore = (env: NodeJS.ProcessEnv) => Promise<ChaosStore>;

const STORES: Readonly<Record<string, StartStore>> = {
  redis: redisChaosStore,
  postgres: postgresChaosStore,
  mysql: mysqlChaosStore,
};

/** @throws for an unknown name; the message lists the known ones */
export function assertStore(name: string): void {
  if (Object.hasOwn(STORES, name)) return;
  throw new Error(
    `--store ${name}: there is no such store. There are: ${Object.keys(STORES).sort().join(', ')}`,
  );
}

/**
 * Starts the server of a store, on the loopback interface.
 *
 * @param clock the clock of the server; by default the true one
 * @throws if the server does not use that clock
 */
export async function startStore(name: string, clock?: ServerClock): Promise<ChaosStore> {
  assertStore(name);
  const store = await (STORES[name] as StartStore)(clock?.env ?? {});
  if (clock === undefined) return store;
  clock.set(AHEAD);
  const ahead = (await store.time()) - Date.now();
  clock.set(0);
  if (ahead > AHEAD / 2) return store;
  await store.close();
  throw new Error(`The server of ${name} does not go by the clock that it was given: leave out store-clock`);
}

/** ms */
const AHEAD = 10_000;
