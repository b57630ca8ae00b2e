/** What an error of a database, or of the way to it, means for a call. */
export type SqlFailure =
  /** Rolled back because of others who were at it too: worth another try. */
  | 'conflict'
  /** What is kept for this one lock cannot be read or written. */
  | 'lock'
  /** The name of the lock has no room in its column, as ShedLock makes it. */
  | 'too-long'
  /** The table is not what it was. */
  | 'table'
  /** Certainly not carried out. */
  | 'refused'
  /** User, password or database are wrong, or rights are missing: also the next try will fail. */
  | 'denied'
  /** Perhaps carried out. */
  | 'unknown';

/** Errors of the way to a server, before anything was sent. Not EHOSTUNREACH: a connection that is open can break with it. */
const NOT_CONNECTED = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT'];

/** The errors that an error is made of, outermost first: object-relational mappers wrap those of the driver. */
export function* errorsIn(error: unknown): Generator<Readonly<Record<string, unknown>>> {
  for (let depth = 0; typeof error === 'object' && error !== null && depth < 8; depth++) {
    const current = error as Record<string, unknown>;
    yield current;
    // Prisma says in `meta` what the database said.
    if (typeof current['meta'] === 'object' && current['meta'] !== null) {
      yield current['meta'] as Record<string, unknown>;
    }
    error = current['driverError'] ?? current['cause'];
  }
}

/** Whether nothing was sent, as there was no connection. Drivers say it in words only where a pool is exhausted or closed. */
export function isNotConnected({ code, message, syscall }: Readonly<Record<string, unknown>>): boolean {
  if (NOT_CONNECTED.includes(String(code)) || syscall === 'connect') return true;
  return /timeout exceeded when trying to connect|after calling end on the pool|pool is (closed|draining)/i.test(
    String(message),
  );
}

/** What an error says, as a part of a sentence: on one line, without a full stop and the credentials that a URL may hold. */
export function describeFailure(error: unknown): string {
  const wrapped = [...errorsIn(error)].map(({ message }) => message).filter(Boolean);
  // The innermost one is what the database said; mappers put the whole statement before it.
  const message = String(wrapped.at(-1) ?? error);
  return message
    .replaceAll(/\s+/g, ' ')
    .replace(/\/\/[^\s/]*@/g, '//***@')
    .replace(/[ .]+$/, '');
}
