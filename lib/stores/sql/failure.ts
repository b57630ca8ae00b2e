import { asClause, messageOf } from '../../base/wording.js';

/** What an error of a database, or of the way to it, means for a call. */
export type SqlFailure =
  /** Rolled back because of concurrent transactions: worth another try. */
  | 'conflict'
  /** Not carried out: other transactions had locked its rows or table for longer than it waits. */
  | 'locked'
  /** The entry of this one lock cannot be read or written. */
  | 'lock'
  /** The name of the lock cannot be kept in its column, as ShedLock creates it: mostly it is too long. */
  | 'too-long'
  /** The table has changed. */
  | 'table'
  /** Certainly not carried out. */
  | 'refused'
  /** User, password or database are wrong: the next try will fail as well. */
  | 'denied'
  /** A right, or the schema, is missing: the next try will fail as well. */
  | 'forbidden'
  /** Perhaps carried out. */
  | 'unknown';

/** Connection errors, before anything was sent. Not EHOSTUNREACH: an open connection can break with it. */
const NOT_CONNECTED = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT'];
/** A connection error of Prisma's adapters, which keep neither the code nor the message. */
const PRISMA_NOT_CONNECTED = 'DatabaseNotReachable';

/** An error and the errors that it wraps, outermost first: object-relational mappers wrap those of the driver. */
export function* errorsIn(error: unknown): Generator<Readonly<Record<string, unknown>>> {
  for (let depth = 0; typeof error === 'object' && error !== null && depth < 8; depth++) {
    const current = error as Record<string, unknown>;
    yield 'originalCode' in current ? asDriversSay(current) : current;
    // Prisma has the error of the database in `meta`, or, from version 7 on, that of its adapter.
    const meta = (typeof current['meta'] === 'object' ? current['meta'] : null) as Record<
      string,
      unknown
    > | null;
    if (meta !== null) yield meta;
    error = current['driverError'] ?? meta?.['driverAdapterError'] ?? current['cause'];
  }
}

/** Prisma's adapters have names of their own for the fields of a database error. */
function asDriversSay(error: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { originalCode: code, originalMessage: message } = error;
  return { ...error, code, errno: Number(code), message };
}

/**
 * Whether nothing was sent because there was no connection. For an exhausted or closed pool, only the message of a driver
 * tells.
 */
export function isNotConnected(error: Readonly<Record<string, unknown>>): boolean {
  const { code, message, syscall, kind } = error;
  if (NOT_CONNECTED.includes(String(code)) || syscall === 'connect') return true;
  if (kind === PRISMA_NOT_CONNECTED) return true;
  return /timeout exceeded when trying to connect|after calling end on the pool|pool is (closed|draining)|queue limit reached|no connections available/i.test(
    String(message),
  );
}

/** Whether a client asks for TLS, and the server has none. Only the message of the driver tells. */
export const wantsTls = ({ code, message }: Readonly<Record<string, unknown>>): boolean =>
  code === 'HANDSHAKE_NO_SSL_SUPPORT' ||
  /server does not support (ssl|secure) connection/i.test(String(message));

/** What OpenSSL says of a certificate that it does not trust, and what to do. Nothing was sent. */
const CERTIFICATES: readonly (readonly [RegExp, string])[] = [
  [
    /self[- ]signed certificate|unable to (verify|get)\b.*\b(certificate|issuer)/i,
    "No known authority has signed the server's certificate. Give the pool yours: `ssl: { ca }`, or the file in NODE_EXTRA_CA_CERTS.",
  ],
  [
    /does not match certificate's altnames/i,
    'The certificate is for another name: connect by that name, or give the pool `ssl: { servername }`.',
  ],
  [/certificate has expired/i, "The server's certificate is too old: give the server a new one."],
];
const CURES: readonly (readonly [RegExp, string])[] = [
  ...CERTIFICATES,
  [
    /after calling end on the pool|pool is closed/i,
    'Somebody has closed the pool: `pool.end()`, or a DataSource that was destroyed. A store keeps the pool that it was given: ' +
      'close that after the application, and make a new store for a new pool.',
  ],
];

const matching = <T>(all: readonly (readonly [RegExp, T])[], error: unknown): T | undefined =>
  all.find(([pattern]) => [...errorsIn(error)].some(({ message }) => pattern.test(String(message))))?.[1];

/** Whether the certificate of the server is not trusted. */
export const isUntrusted = (error: unknown): boolean => matching(CERTIFICATES, error) !== undefined;

/** What to do about an error, as a sentence with a blank before it; empty if that is not known. */
export function cureOf(error: unknown): string {
  const cure = matching(CURES, error);
  return cure === undefined ? '' : ` ${cure}`;
}

/**
 * The message of an error as a part of a sentence: on one line, without a full stop, and without the credentials that a URL
 * may hold.
 */
export function describeFailure(error: unknown): string {
  const messages = [...errorsIn(error)].map(({ message }) => message).filter(Boolean);
  // 1. The innermost message is that of the database: mappers put the whole statement in front.
  // 2. A single word only names the kind of error.
  const said = messages.filter((each) => /\s/.test(String(each).trim()));
  const message = String(
    said.at(-1) ?? messages.at(-1) ?? (error instanceof Error ? messageOf(error) : error),
  );
  return asClause(message.replaceAll(/\s+/g, ' '));
}
