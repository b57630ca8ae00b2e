/** How long a session may take to open, and to answer, ms: far more than a busy server needs. */
export const SESSION_LIMIT = 15_000;

/** One connection to a database, which gives up after {@link SESSION_LIMIT}. */
export interface DatabaseSession {
  query(text: string): Promise<unknown>;
  /** Differs from the id of every other session that is open at the same time. */
  id(): Promise<unknown>;
  end(): Promise<void>;
}

/**
 * Tests of concurrency prove nothing on a server with a single session: some would pass without testing anything, others
 * would wait for ever. So the server has to show that a second session is a different one, and gets an answer while a
 * transaction of the first one is open.
 *
 * @param what the name of the server in the message
 * @throws if it does not show that
 */
export async function assertTwoSessions(what: string, open: () => Promise<DatabaseSession>): Promise<void> {
  const sessions: DatabaseSession[] = [];
  const connect = async (): Promise<[DatabaseSession, unknown]> => {
    const session = await open();
    sessions.push(session);
    return [session, await session.id()];
  };
  try {
    const [[first, one], [second, two]] = [await connect(), await connect()];
    if (one === two) throw new Error('they were one and the same session');
    await first.query('START TRANSACTION');
    await first.id();
    await second.id();
  } catch (error) {
    throw new Error(
      `${what} does not serve two connections at the same time: ${(error as Error).message}. ` +
        'Tests of concurrency need a server that does, and fail without it.',
      { cause: error },
    );
  } finally {
    await Promise.all(sessions.map((session) => session.end()));
  }
}
