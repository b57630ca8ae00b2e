/** What an error of a database, or of the way to it, means for a call. */
export type SqlFailure =
  /** Rolled back because of others who were at it too: worth another try. */
  | 'conflict'
  /** Not carried out, as others had locked what it needs for longer than it waits. */
  | 'locked'
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
/** The same as Prisma's adapters call it: they keep neither the code nor the message. */
const PRISMA_NOT_CONNECTED = 'DatabaseNotReachable';

/** The errors that an error is made of, outermost first: object-relational mappers wrap those of the driver. */
export function* errorsIn(error: unknown): Generator<Readonly<Record<string, unknown>>> {
  for (let depth = 0; typeof error === 'object' && error !== null && depth < 8; depth++) {
    const current = error as Record<string, unknown>;
    yield 'originalCode' in current ? asDriversSay(current) : current;
    // Prisma says in `meta` what the database said, or, from version 7 on, what its adapter made of that.
    const meta = (typeof current['meta'] === 'object' ? current['meta'] : null) as Record<
      string,
      unknown
    > | null;
    if (meta !== null) yield meta;
    error = current['driverError'] ?? meta?.['driverAdapterError'] ?? current['cause'];
  }
}

/** Prisma's adapters have names of their own for what the database said. */
function asDriversSay(error: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { originalCode: code, originalMessage: message } = error;
  return { ...error, code, errno: Number(code), message };
}

/** Whether nothing was sent, as there was no connection. Drivers say it in words only where a pool is exhausted or closed. */
export function isNotConnected(error: Readonly<Record<string, unknown>>): boolean {
  const { code, message, syscall, kind } = error;
  if (NOT_CONNECTED.includes(String(code)) || syscall === 'connect') return true;
  if (kind === PRISMA_NOT_CONNECTED) return true;
  return /timeout exceeded when trying to connect|after calling end on the pool|pool is (closed|draining)|queue limit reached|no connections available/i.test(
    String(message),
  );
}

/** What an error says, as a part of a sentence: on one line, without a full stop and the credentials that a URL may hold. */
export function describeFailure(error: unknown): string {
  const messages = [...errorsIn(error)].map(({ message }) => message).filter(Boolean);
  // The innermost one is what the database said; mappers put the whole statement before it. One word names a kind of error.
  const said = messages.filter((each) => /\s/.test(String(each).trim()));
  const message = String(said.at(-1) ?? messages.at(-1) ?? error);
  return message
    .replaceAll(/\s+/g, ' ')
    .replace(/\/\/[^\s/]*@/g, '//***@')
    .replace(/[ .]+$/, '');
}
