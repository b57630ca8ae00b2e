import { isIP, connect as connectPlainly, type Socket } from 'node:net';
import { connect as connectByTls } from 'node:tls';
import { systemClock } from '../../clock.js';
import type { RedisConnectionSource } from './connection-options.js';
import { asClause } from '../../wording.js';
import { describeError, describeRedis } from './redact.js';

/** How long a server may take to answer, ms. One that is away or frozen does not answer. */
const LIMIT = 1_000;

/** Any server answers this with a line that shows its kind. Redis does so even before authentication. */
const GREETING = 'PING\r\n\r\n';

/** Answers that say nothing against the server: the client has a password, or is told that it needs one. */
const HARMLESS = /^(?!-)|^-(?:NOAUTH|NOPERM)/;

interface Address {
  readonly host: string;
  readonly port: number;
  readonly family?: number;
  readonly tls: boolean;
}

/** The kind of server behind a port. `open` accepts connections, but gives no known answer. */
type Kind = 'redis' | 'http' | 'open' | 'closed';

/** What a server has shown of itself. */
interface Shown {
  readonly kind: Kind;
  /** Why it serves nobody, in its own words or those of the network. */
  readonly reason?: string | undefined;
}

/** Why there is no connection, as far as one can see from outside. */
export interface Finding {
  /** Why there can never be one, a sentence or two. */
  readonly problem?: string | undefined;
  /** Why there is none now, a clause. */
  readonly reason?: string | undefined;
}

/**
 * Finds out why there is no connection, where the client does not say: ioredis passes over most of what a server says at first. Only
 * one side may use TLS, or the server may be no Redis at all, or serve nobody. Looks on separate connections, without sending secrets.
 */
export async function lookAtServer(source: RedisConnectionSource): Promise<Finding> {
  const address = addressOf(source);
  if (address === undefined) return {};
  const place = describeRedis(source);
  const plain = await callPlainly(address);
  const byTls: Shown =
    plain.kind === 'redis' || plain.kind === 'http' ? { kind: 'closed' } : await callByTls(address);
  if (plain.kind === 'http' || byTls.kind === 'http') {
    return { problem: `at the address of ${place} an HTTP server answers. Look at host and port.` };
  }
  if (address.tls && plain.kind === 'redis') {
    return {
      problem: `${place} speaks no TLS at this port, and is called with TLS. Write redis:// instead of rediss://, and no \`tls\` in options.`,
    };
  }
  if (!address.tls && byTls.kind !== 'closed') {
    return {
      problem: `${place} speaks TLS at this port, and is called without. Write rediss:// instead of redis://, or \`tls: {}\` in options.`,
    };
  }
  const { reason } = address.tls ? byTls : plain;
  const isDenied = reason?.startsWith('DENIED') === true;
  return isDenied ? { problem: `${place} lets nobody in from here: ${asClause(reason)}.` } : { reason };
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

function callPlainly({ host, port, family }: Address): Promise<Shown> {
  return greet(connectPlainly({ host, port, ...(family ? { family } : undefined) }), 'connect');
}

function callByTls({ host, port, family }: Address): Promise<Shown> {
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

function greet(socket: Socket, connected: 'connect' | 'secureConnect'): Promise<Shown> {
  return new Promise((resolve) => {
    let kind: Kind = 'closed';
    let reason: string | undefined;
    const settle = (): void => {
      timer.cancel();
      socket.destroy();
      resolve({ kind, reason });
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
      if (!HARMLESS.test(text)) reason = asClause(text.slice(1).split('\r\n', 1)[0] ?? '');
      settle();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const { code = '' } = error;
      reason = describeError(error);
      // A server that refuses a TLS handshake by an alert, say because a certificate is missing, speaks TLS.
      if (/^ERR_SSL_.*(ALERT|UNRECOGNIZED_NAME)/.test(code)) kind = 'open';
    });
    socket.on('close', settle);
  });
}
