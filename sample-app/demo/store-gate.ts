import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { LOOPBACK } from '../../test/support/machine.js';

/** The variable with the address of the store. */
const URLS = ['REDIS_URL', 'DATABASE_URL', 'MYSQL_URL'] as const;
const PORTS: Readonly<Record<string, number>> = {
  'redis:': 6379,
  'postgres:': 5432,
  'postgresql:': 5432,
  'mysql:': 3306,
};

/** The instances reach the store through this. While it is shut, the store is away for them, and nobody else notices. */
export class StoreGate {
  readonly #sockets = new Set<Socket>();
  #isShut = false;

  /** @param env tells an instance where the store is */
  private constructor(readonly env: Readonly<Record<string, string>>) {}

  /**
   * @returns `undefined` if the connection has to be encrypted: its certificate is for another address
   */
  static async before(env: Readonly<Record<string, string>>): Promise<StoreGate | undefined> {
    const name = URLS.find((each) => env[each] !== undefined);
    const url = name && new URL(env[name] ?? '');
    const port = url && Number(url.port || PORTS[url.protocol]);
    if (!name || !url || !port || isEncrypted(url)) return undefined;
    const host = url.hostname.replace(/^\[|\]$/g, '');
    // It lasts as long as the instances do.
    const server = createServer().unref();
    const found: Record<string, string> = { ...env };
    const gate = new StoreGate(found);
    server.on('connection', (socket) => gate.#pass(socket, connect(port, host)));
    await once(server.listen(0, LOOPBACK), 'listening');
    url.hostname = LOOPBACK;
    url.port = String((server.address() as AddressInfo).port);
    found[name] = url.href;
    return gate;
  }

  shut(): void {
    this.#isShut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  open(): void {
    this.#isShut = false;
  }

  #pass(...[from, to]: [Socket, Socket]): void {
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => undefined);
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
    if (this.#isShut) from.destroy();
  }
}

const isEncrypted = ({ protocol, searchParams }: URL): boolean =>
  protocol === 'rediss:' ||
  searchParams.has('ssl') ||
  (searchParams.get('sslmode') ?? 'disable') !== 'disable';
