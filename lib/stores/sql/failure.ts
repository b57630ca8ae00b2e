import { asClause, messageOf } from '../../base/wording.js';

/** What an error of a database, or of the way to it, means for a call. */
export type SqlFailure =
  /** Rolled back because of concurrent transactions: worth another try. */
  | 'conflict'
  /** Not carried out: other transactions had locked its rows or table for longer than it waits. */
  | 'locked'
  /** The entry of this one lock cannot be read or written. */
  | 'lock'
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
 * Whether nothing was sent because there was no connection. Not EHOSTUNREACH: an open connection can break with it. Prisma's adapters keep neither
 * code nor message. For an exhausted or closed pool, only the message of a driver tells.
 */
export const isNotConnected = ({
  code,
  message,
  syscall,
  kind,
}: Readonly<Record<string, unknown>>): boolean =>
  ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT'].includes(String(code)) ||
  syscall === 'connect' ||
  kind === 'DatabaseNotReachable' ||
  /timeout exceeded when trying to connect|after calling end on the pool|pool is (closed|draining)|queue limit reached|no connections available/i.test(
    String(message),
  );

/** Whether the two sides do not agree on TLS, so that nothing was sent. Only the messages of drivers and of OpenSSL tell. */
const isUntrusted = ({ code, message }: Readonly<Record<string, unknown>>): boolean =>
  code === 'HANDSHAKE_NO_SSL_SUPPORT' ||
  /server does not support (ssl|secure) connection|certificate/i.test(String(message));

/** What to do about an error, as a sentence with a blank before it; empty if that is not known. */
export function cureOf(error: unknown): string {
  const says = (what: RegExp): boolean =>
    [...errorsIn(error)].some(({ message }) => what.test(String(message)));
  if (says(/certificate/i))
    return ' Give the pool the authority that has signed it: `ssl: { ca }`, or connect by the name that it is for.';
  if (says(/after calling end on the pool|pool is closed/i))
    return ' Somebody has closed the pool. Close it after the application, and make a new store for a new pool.';
  if (says(/timeout exceeded when trying to connect/i))
    return ' The pool is exhausted, or the database sleeps: docs/stores/serverless.md.';
  return '';
}

/**
 * Classifies an error of a driver.
 *
 * @param ofServer what an error of the server means; `undefined` if it is none
 */
export function failureIn(
  error: unknown,
  ofServer: (error: Readonly<Record<string, unknown>>) => SqlFailure | undefined,
): SqlFailure {
  for (const each of errorsIn(error)) {
    const failure = ofServer(each);
    if (failure !== undefined) return failure;
    if (isUntrusted(each)) return 'denied';
    if (isNotConnected(each)) return 'refused';
  }
  return 'unknown';
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
