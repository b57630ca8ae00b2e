import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { readArguments } from '../../lib/show/cli/arguments.js';
import {
  LeaderElection,
  type LockStore,
  SchedulerLeader,
  SchedulerLock,
  SchedulerLockConfigError,
  SchedulerLockInsight,
  SchedulerLockService,
} from '../../lib/index.js';
import { RedisLockStore } from '../../lib/stores/redis/index.js';
import { DATABASES, statementsOf, type TestPool } from '../support/database.js';
import { type LocalDatabase, uniqueTable } from '../support/database-server.js';
import { type LocalRedis, startRedis } from '../support/local-redis.js';
import { addRights } from '../support/mysql-server.js';
import { until } from '../support/until.js';
import { closeApps, gate, startApp, type TestApp } from './app.js';

/*
 * A person who sets a store up by hand needs one round.
 */

/** What the shell prints. */
function shell(...argv: string[]): string {
  const text = readArguments(argv, { env: {}, version: '0' });
  if (typeof text !== 'string') throw new Error('it prints nothing');
  return text;
}

@Injectable()
class Jobs {
  readonly done: string[] = [];

  @Cron('* * * * * *', { name: 'ticks', timeZone: 'UTC' })
  @SchedulerLock({ name: 'ticks', rerun: 1, catchUp: '1h' })
  async ticks(): Promise<void> {
    this.done.push('ticks');
  }

  @SchedulerLock({ name: 'waits', wait: '30s' })
  async waits(): Promise<void> {
    this.done.push('waits');
  }

  @SchedulerLock({ name: 'kept', onHeld: 'queue' })
  async kept(_order: number): Promise<void> {
    this.done.push('kept');
  }

  @SchedulerLock({ name: 'fails', atLeast: '1s' })
  async fails(): Promise<void> {
    throw new Error('on purpose');
  }
}

@Injectable()
@LeaderElection('feed')
class Feed {
  onElected(): void {}
  onRevoked(): void {}
}

/** Uses all that there is. */
async function useAll(app: TestApp): Promise<void> {
  const [jobs, locks] = [app.get(Jobs), app.get(SchedulerLockService)];
  const heard = (type: string): number =>
    app.events.filter((event) => event.type === type || ('reason' in event && event.reason === type)).length;
  await until(() => jobs.done.includes('ticks'), { timeout: 30_000 });
  await until(() => app.get(SchedulerLeader).isLeader('feed'), { timeout: 30_000 });
  for (const [name, event] of [
    ['waits', 'waiting'],
    ['kept', 'queued'],
  ] as const) {
    const held = gate();
    const taken = gate();
    const holder = locks.run(name, {}, async () => {
      taken.open();
      await held.opened;
    });
    await taken.opened;
    const call = name === 'waits' ? jobs.waits() : jobs.kept(1);
    await until(() => heard(event) > 0, { timeout: 30_000 });
    held.open();
    await Promise.all([holder, call]);
    await until(() => jobs.done.includes(name), { timeout: 30_000 });
  }
  await expect(jobs.fails()).rejects.toThrow('on purpose');
  const insight = app.get(SchedulerLockInsight);
  await until(async () => (await insight.runs({ job: 'Jobs.fails' })).length > 0, { timeout: 30_000 });
  expect(await insight.instances()).toHaveLength(1);
  expect((await locks.inspect()).length).toBeGreaterThan(3);
}

const complaints = (app: TestApp): string[] =>
  app.logs.own.filter((line) => /^(warn|error|fatal)/.test(line) && !line.includes('on purpose'));

async function startAll(store: LockStore): Promise<TestApp> {
  return startApp([Jobs, Feed], { store, ttl: '30s' });
}

afterEach(closeApps);

describe.each(DATABASES.map((database) => [database.name, database] as const))('on %s', (name, database) => {
  const postgres = name === 'PostgreSQL';
  const kind = postgres ? 'postgres' : 'mysql';
  let server: LocalDatabase;
  let admin: TestPool;
  const pools: TestPool[] = [];

  beforeAll(async () => {
    server = await database.start();
    if (!postgres) await addRights(server);
    admin = database.pool(server.url);
  }, 120_000);
  afterEach(async () => {
    for (const pool of pools.splice(0)) await pool.end();
  });
  afterAll(async () => {
    await admin?.end();
    await server?.stop();
  });

  const run = async (text: string): Promise<void> => {
    for (const statement of statementsOf(text)) await admin.write(statement);
  };
  /** A user who may do nothing, and a schema of its own. */
  async function newUser(): Promise<{ user: string; schema: string; pool: () => TestPool }> {
    const [user, schema] = [uniqueTable('u').slice(0, 30), uniqueTable('s')];
    await admin.write(`CREATE SCHEMA ${schema}`);
    await admin.write(postgres ? `CREATE ROLE ${user} LOGIN` : `CREATE USER '${user}'@'%'`);
    const url = new URL(server.url);
    url.username = user;
    // A user without any right cannot be in a database of MySQL.
    url.pathname = postgres ? url.pathname : '/';
    // Without it the start would warn.
    if (postgres) url.searchParams.set('options', '-c statement_timeout=8s');
    const pool = (): TestPool => {
      const made = database.pool(url.href);
      pools.push(made);
      return made;
    };
    return { user, schema, pool };
  }

  test.each([[''], ['--shedlock']])(
    'a user who has only what the printed SQL gives can do all that there is (%j)',
    async (flag) => {
      const { user, schema, pool } = await newUser();
      await run(
        shell('sql', '--store', kind, '--schema', schema, '--grant', user, ...(flag === '' ? [] : [flag])),
      );
      const app = await startAll(pool().store({ schema }));
      await useAll(app);
      expect(complaints(app)).toEqual([]);
    },
  );

  test('the printed SQL can be run again, and names other tables', async () => {
    const { user, schema } = await newUser();
    for (let i = 0; i < 2; i++)
      await run(shell('sql', '--store', kind, '--schema', schema, '--table', 'jobs', '--grant', user));
    const tables = await admin.rows(
      'SELECT table_name AS "name" FROM information_schema.tables WHERE table_schema = ? ORDER BY 1'.replaceAll(
        '"',
        postgres ? '"' : '`',
      ),
      [schema],
    );
    expect(tables.map((row) => row['name'])).toEqual(['jobs', 'jobs_entries']);
  });

  test.each(['nothing', 'a table of ShedLock', 'tables without rights'])(
    'one round is enough where there is %s: the error has all SQL, with the rights of the user',
    async (what) => {
      const { user, schema, pool } = await newUser();
      const { store } = pool();
      if (what === 'a table of ShedLock') await run(database.shedlock(`${schema}.shedlock`));
      if (what === 'tables without rights') await run(shell('sql', '--store', kind, '--schema', schema));
      if (postgres) await run(`GRANT USAGE ON SCHEMA ${schema} TO ${user}`);
      // On MySQL a user without any right at a table does not see it.
      if (!postgres && what === 'a table of ShedLock')
        await run(`GRANT SELECT ON ${schema}.shedlock TO '${user}'@'%'`);
      const error = await store({ schema })
        .init()
        .catch((reason: unknown) => reason as Error);
      expect(error).toBeInstanceOf(SchedulerLockConfigError);
      const { message } = error as Error;
      await run(message.slice(message.indexOf('\n') + 1));
      const app = await startAll(store({ schema }));
      await useAll(app);
      expect(complaints(app)).toEqual([]);
      const printed = shell('sql', '--store', kind, '--schema', schema, '--grant', user);
      if (what !== 'a table of ShedLock') expect(message.endsWith(printed)).toBe(true);
    },
  );
});

describe('on Redis', () => {
  let server: LocalRedis;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  test.each([undefined, 'my jobs*'])(
    'a user who has only what the printed command gives can do all that there is (key prefix: %s)',
    async (keyPrefix) => {
      const text = shell(
        'acl',
        '--user',
        'jobs',
        ...(keyPrefix === undefined ? [] : ['--key-prefix', keyPrefix]),
      );
      const command = text.split('\n').at(-1) ?? '';
      expect(
        text
          .split('\n')
          .slice(0, -1)
          .every((line) => line.startsWith('# ')),
      ).toBe(true);
      await server.command('ACL', 'SETUSER', 'jobs', 'reset');
      await server.command('ACL', 'LOG', 'RESET');
      await server.command(...(command.replace('<password>', 'geheim').split(' ') as [string, ...string[]]));
      const connection = { host: server.host, port: server.port, username: 'jobs', password: 'geheim' };
      const app = await startAll(new RedisLockStore(connection, { keyPrefix }));
      await useAll(app);
      expect(complaints(app)).toEqual([]);
      await app.close();
      const refused = (await server.command('ACL', 'LOG')) as unknown[];
      expect(refused).toEqual([]);
    },
  );

  test('a user who lacks rights is told the command that prints them', async () => {
    await server.command('ACL', 'SETUSER', 'jobs', 'reset', 'on', '>geheim', '+info');
    const connection = `redis://jobs:geheim@${server.host}:${server.port}`;
    const store = new RedisLockStore(connection);
    await expect(store.init()).rejects.toThrow('npx nestjs-scheduler-lock acl');
    await store.close();
  });
});
