/** What this store needs of a client of node-redis (the package `redis`, 5 and 6), single, of a Cluster or of Sentinels. */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  // Method syntax on purpose: the kinds take other arguments.
  sendCommand(...args: never[]): Promise<unknown>;
  connect(): Promise<unknown>;
  on(event: string, listener: (...args: unknown[]) => void): unknown;
  off(event: string, listener: (...args: unknown[]) => void): unknown;
}

/** The kinds of clients, by how commands go to them. */
export type NodeRedisKind = 'client' | 'cluster' | 'sentinel';

/** The kind of a client of node-redis 5 or 6; `undefined` for everything else, pools and older clients too. */
export function nodeRedisKind(value: unknown): NodeRedisKind | undefined {
  const client = Object(value) as object;
  const has = (name: string): boolean => typeof Reflect.get(client, name) === 'function';
  if (!['sendCommand', 'withTypeMapping', 'subscribe'].every(has) || !('isOpen' in client)) return undefined;
  if (has('nodeClient')) return 'cluster';
  if (has('getMasterNode')) return 'sentinel';
  return 'isReady' in client ? 'client' : undefined;
}
