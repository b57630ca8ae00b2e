import { mysqlChaosStore, postgresChaosStore } from './database.js';
import { redisChaosStore } from './redis.js';

/** What an instance is told, to connect by way of its proxy: see worker-options.ts for the other end. */
export interface StoreConnection {
  readonly store: string;
  readonly host: string;
  readonly port: number;
}

/** A store whose server is started for the run and comes to grief in it. */
export interface ChaosStore {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** How the proxy before each instance cuts traffic into pieces. */
  readonly protocol: 'resp' | 'raw';
  /** Any call that shows that the server answers. */
  ping(): Promise<unknown>;
  /** Ends the server as a crash would. What it had confirmed is kept. */
  crash(): Promise<void>;
  /** Starts it again; resolves when it answers. With `empty` it has forgotten everything. */
  restart(options: { empty: boolean }): Promise<void>;
  /** Connections stay open and are not answered. */
  freeze(): void;
  thaw(): void;
  /** Makes the running server forget everything. */
  flush(): Promise<unknown>;
  /** Makes it forget what clients have prepared, such as scripts. */
  forgetScripts(): Promise<unknown>;
  close(): Promise<void>;
}

const STORES: Readonly<Record<string, () => Promise<ChaosStore>>> = {
  redis: redisChaosStore,
  postgres: postgresChaosStore,
  mysql: mysqlChaosStore,
};

/** @throws for a name that is none, with those that are */
export function assertStore(name: string): void {
  if (Object.hasOwn(STORES, name)) return;
  throw new Error(
    `--store ${name}: there is no such store. There are: ${Object.keys(STORES).sort().join(', ')}`,
  );
}

/** Starts the server of a store, on the loopback interface. */
export async function startStore(name: string): Promise<ChaosStore> {
  assertStore(name);
  return (STORES[name] as () => Promise<ChaosStore>)();
}
