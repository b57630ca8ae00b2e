import { randomBytes } from 'node:crypto';
import { type LocalDatabase } from './local-database.js';
import { dockerAnswers } from './redis-docker.js';
import { assertTwoSessions, type DatabaseSession } from './two-sessions.js';

/** A database to test against. Others may use it too: use only tables of your own, see {@link uniqueTable}. */
export interface DatabaseServer {
  url: string;
  source: 'url' | 'docker' | 'local' | 'packages';
  /** Ends what was started; a server named by a variable is left alone. */
  stop(): Promise<void>;
}

/** The ways to one kind of database. */
export interface DatabaseWays {
  /** Its name in messages. */
  readonly name: string;
  /** The environment variable that names a server. */
  readonly variable: string;
  /** For a developer who has none of them: what the server must allow, or what to install. */
  readonly help: { readonly url: string; readonly local: string };
  /** Resolves if the server at this URL answers. */
  ask(url: string): Promise<void>;
  open(url: string): Promise<DatabaseSession>;
  startContainer(): Promise<DatabaseServer>;
  /** Whether there are programs to start. */
  find(): Promise<{ readonly source: 'local' | 'packages' }>;
  start(): Promise<LocalDatabase>;
}

/**
 * A database for tests that can use any server. In this order: the one that a variable names, a container if a Docker
 * engine answers, a local installation, the distribution's packages unpacked into `.cache`.
 *
 * @throws if none of the ways works; the message lists them
 * @throws if the server that a variable names does not serve two connections at the same time
 */
export async function provideDatabase(ways: DatabaseWays): Promise<DatabaseServer> {
  const url = process.env[ways.variable];
  if (url) {
    await ways.ask(url).catch((error: Error) => {
      // Without the URL, which may hold a password.
      throw new Error(`The ${ways.name} that ${ways.variable} names does not answer: ${error.message}`, {
        cause: error,
      });
    });
    // Only for this server: those that are started here are known to serve two sessions.
    await assertTwoSessions(`The ${ways.name} that ${ways.variable} names`, () => ways.open(url));
    return { url, source: 'url', stop: async () => undefined };
  }
  let docker = 'no engine answered';
  if (await dockerAnswers()) {
    try {
      return await ways.startContainer();
    } catch (error) {
      docker = (error as Error).message;
    }
  }
  const { source } = await ways.find().catch((error: unknown) => {
    throw new Error(howToGetOne(ways, docker, (error as Error).message), { cause: error });
  });
  const server = await ways.start();
  return { url: server.url, source, stop: () => server.stop() };
}

/** A table name that no other test has, for servers that are shared. */
export function uniqueTable(label = 'test'): string {
  return `${label}_${process.pid}_${randomBytes(6).toString('hex')}`;
}

function howToGetOne({ name, variable, help }: DatabaseWays, docker: string, local: string): string {
  return [
    `A ${name} is needed. Any one of these will do:`,
    `  - set ${variable} to ${help.url} where tables may be made (those of the tests are removed)`,
    `  - start a Docker engine (${docker})`,
    `  - install ${help.local}`,
    '  - on Debian, Ubuntu and the like: let apt-get reach its sources, and nothing need be installed',
    local,
  ].join('\n');
}
