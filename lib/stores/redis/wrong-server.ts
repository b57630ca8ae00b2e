import { isIP, connect as connectPlainly, type Socket } from 'node:net';
import { connect as connectByTls } from 'node:tls';
import { systemClock } from '../../clock.js';
import type { RedisConnectionSource } from './connection-options.js';
import { describeRedis } from './redact.js';

/** How long a server may take to answer, ms. One that is away or frozen does not answer. */
const LIMIT = 1_000;

/** Any server answers this with a line that shows its kind. Redis does so even before authentication. */
const GREETING = 'PING\r\n\r\n';

interface Address {
  readonly host: string;
  readonly port: number;
  readonly family?: number;
  readonly tls: boolean;
}

/** The kind of server behind a port. `open` accepts connections, but gives no known answer. */
type Kind = 'redis' | 'http' | 'open' | 'closed';

/**
 * Why a connection to a server that is up can never work. Only one side may use TLS, or the server may be no Redis at
 * all. Checked on separate connections, without sending secrets.
 *
 * @returns `undefined` if nothing is wrong, or the server does not answer
 */
export async function wrongServer(source: RedisConnectionSource): Promise<string | undefined> {
  const address = addressOf(source);
  if (address === undefined) return undefined;
  const place = describeRedis(source);
  const plain = await callPlainly(address);
  const byTls = plain === 'redis' || plain === 'http' ? 'closed' : await callByTls(address);
  if (plain === 'http' || byTls === 'http') {
    return `connection: at the address of ${place} an HTTP server answers. Look at host and port.`;
  }
  if (address.tls && plain === 'redis') {
    return `connection: ${place} speaks no TLS at this port, and is called with TLS. Write redis:// instead of rediss://, and no \`tls\` in options.`;
  }
  if (!address.tls && byTls !== 'closed') {
    return `connection: ${place} speaks TLS at this port, and is called without. Write rediss:// instead of redis://, or \`tls: {}\` in options.`;
  }
  return undefined;
}

/** The address of one server; `undefined` for Sentinel and Cluster, which choose the server themselves. */
function addressOf(source: RedisConnectionSource): Address | undefined {
  if (typeof source === 'string') {
    if (!URL.canParse(source)) return undefined; // a Unix socket
    const { protocol, hostname, port } = new URL(source);
    const host = hostname.replace(/^\[|\]$/g, '');
    return { host, port: Number(port || 6379), tls: protocol === 'rediss:' };
  }
  if ('isCluster' in source && source.isCluster === true) return undefined;
  const options = ('evalsha' in source ? (source as { options?: object }).options : source) ?? {};
  const { host, port, family, tls, path, sentinels, Connector } = options as Record<string, unknown>;
  if (path || sentinels || Connector) return undefined;
  return {
    host: typeof host === 'string' ? host : 'localhost',
    port: Number(port ?? 6379),
    ...(typeof family === 'number' ? { family } : undefined),
    tls: Boolean(tls),
  };
}

function callPlainly({ host, port, family }: Address): Promise<Kind> {
  return greet(connectPlainly({ host, port, ...(family ? { family } : undefined) }), 'connect');
}

function callByTls({ host, port, family }: Address): Promise<Kind> {
  const socket = connectByTls({
    host,
    port,
    ...(family ? { family } : undefined),
    ...(isIP(host) ? undefined : { servername: host }),
    // The identity of the server does not matter here, only whether it speaks TLS.
    rejectUnauthorized: false,
  });
  return greet(socket, 'secureConnect');
}

function greet(socket: Socket, connected: 'connect' | 'secureConnect'): Promise<Kind> {
  return new Promise((resolve) => {
    let kind: Kind = 'closed';
    const settle = (): void => {
      timer.cancel();
      socket.destroy();
      resolve(kind);
    };
    const timer = systemClock.setTimer(settle, LIMIT, { keepAlive: false });
    // This socket need not keep the process alive: the start does, as long as it waits.
    socket.unref();
    socket.on(connected, () => {
      kind = 'open';
      socket.write(GREETING);
    });
    socket.on('data', (data: Buffer) => {
      const text = data.toString('latin1');
      if (text.startsWith('HTTP/')) kind = 'http';
      else if (/^[+-]/.test(text)) kind = 'redis';
      settle();
    });
    socket.on('error', ({ code = '' }: NodeJS.ErrnoException) => {
      // A server that refuses a TLS handshake by an alert, say because a certificate is missing, speaks TLS.
      if (/^ERR_SSL_.*(ALERT|UNRECOGNIZED_NAME)/.test(code)) kind = 'open';
    });
    socket.on('close', settle);
  });
}
