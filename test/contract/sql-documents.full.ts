import { afterAll, beforeAll, describe, jest, test } from '@jest/globals';
import { MysqlDialect } from '../../lib/stores/mysql/mysql-dialect.js';
import { PostgresDialect } from '../../lib/stores/postgres/postgres-dialect.js';
import { describeLockDocuments, describeLockEntries } from '../../lib/testing/port/port-contract.js';
import { MYSQL, POSTGRES, type TestPool } from '../support/database.js';
import type { DatabaseServer } from '../support/database-server.js';
import { provideMysql, testMysqlPool } from '../support/mysql-server.js';
import { providePostgres, testPool } from '../support/postgres-server.js';
import { sqlEntriesContract, sqlPortContract } from './support/sql-port-subject.js';

jest.setTimeout(120_000);

const SUBJECTS = [
  {
    name: 'PostgreSQL',
    database: POSTGRES,
    provide: providePostgres,
    connect: (url: string) => testPool(url, { max: 8 }),
    later: (ms: number) => `(clock_timestamp() AT TIME ZONE 'utc') + ${ms} * interval '1 millisecond'`,
  },
  {
    name: 'MySQL',
    database: MYSQL,
    provide: provideMysql,
    connect: (url: string) => testMysqlPool(url, { connectionLimit: 8 }),
    later: (ms: number) => `TIMESTAMPADD(MICROSECOND, ${ms * 1_000}, UTC_TIMESTAMP(6))`,
  },
] as const;

describe.each(SUBJECTS.map((each) => [each.name, each] as const))('on %s', (name, subject) => {
  let server: DatabaseServer;
  let own: TestPool;
  let stranger: TestPool;
  const pools: { end(): Promise<void> }[] = [];

  beforeAll(async () => {
    server = await subject.provide();
    own = subject.database.pool(server.url);
    stranger = subject.database.pool(server.url, { max: 1 });
    pools.push(own, stranger);
  }, 60_000);

  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    await server?.stop();
  });

  const connect = () => {
    const pool = subject.connect(server.url);
    pools.push(pool);
    return pool;
  };
  const common = { pool: () => own, stranger: () => stranger, later: subject.later };
  const postgres = {
    ...common,
    dialects: (table: string) => [1, 2].map(() => new PostgresDialect(connect() as never, { table })),
  };
  const mysql = {
    ...common,
    dialects: (table: string) => [1, 2].map(() => new MysqlDialect(connect(), { table }, 10_000)),
  };
  const isPostgres = name === 'PostgreSQL';

  describeLockDocuments(
    'the rows of locks',
    isPostgres ? sqlPortContract(postgres) : sqlPortContract(mysql),
    { describe, test },
  );
  describeLockEntries(
    'the rows of entries',
    isPostgres ? sqlEntriesContract(postgres) : sqlEntriesContract(mysql),
    { describe, test },
  );
});
