import { describe, expect, jest, test } from '@jest/globals';
import { MysqlLockStore } from '../../../../lib/stores/mysql/index.js';
import { MysqlDialect } from '../../../../lib/stores/mysql/mysql-dialect.js';
import { raw } from '../../../../lib/stores/mysql/sql-text.js';
import { PostgresLockStore } from '../../../../lib/stores/postgres/index.js';
import { PostgresDialect } from '../../../../lib/stores/postgres/postgres-dialect.js';
import { describeFailure } from '../../../../lib/stores/sql/failure.js';

const client = { query: () => Promise.reject(new Error('nobody asks')) };

/** An error as Prisma 7 has it with an adapter. */
const prisma7 = (cause: object): object => {
  const driverAdapterError = Object.assign(new Error('SomeKindOfError'), { cause });
  return { code: 'P2010', meta: { driverAdapterError } };
};

describe('what an error means, on PostgreSQL', () => {
  const dialect = new PostgresDialect(client, {});
  test.each<[string, object, string]>([
    ['a serialization failure', { code: '40001' }, 'conflict'],
    ['one wrapped by TypeORM', { driverError: { code: '40P01' } }, 'conflict'],
    ['one wrapped by Drizzle', { cause: { code: '40001' } }, 'conflict'],
    ['one wrapped by Prisma', { code: 'P2010', meta: { code: '42P01' } }, 'table'],
    [
      'one wrapped by Prisma 7',
      prisma7({ originalCode: '23505', kind: 'UniqueConstraintViolation' }),
      'conflict',
    ],
    ['a refused connection of Prisma 7', prisma7({ kind: 'DatabaseNotReachable' }), 'refused'],
    ['a broken connection of Prisma 7', prisma7({ kind: 'ConnectionClosed' }), 'unknown'],
    ['a statement_timeout', { code: '57014' }, 'refused'],
    ['a lock_timeout', { code: '55P03' }, 'locked'],
    ['a server that shuts down', { code: '57P01' }, 'unknown'],
    ['a standby', { code: '25006' }, 'refused'],
    ['a wrong password', { code: '28P01' }, 'denied'],
    ['a name that is too long', { code: '22001' }, 'lock'],
    ['a refused connection', { code: 'ECONNREFUSED' }, 'refused'],
    ['a connection that is not made in time', { code: 'ETIMEDOUT', syscall: 'connect' }, 'refused'],
    ['an exhausted pool', { message: 'timeout exceeded when trying to connect' }, 'refused'],
    ['a broken connection', { code: 'ECONNRESET', syscall: 'read' }, 'unknown'],
    ['a broken pipe', { code: 'EPIPE', syscall: 'write' }, 'unknown'],
    ['a host that is lost under an open connection', { code: 'EHOSTUNREACH', syscall: 'read' }, 'unknown'],
    ['a host that cannot be reached', { code: 'EHOSTUNREACH', syscall: 'connect' }, 'refused'],
    ['a completion that is not known', { code: '40003' }, 'unknown'],
    ['a query_timeout', { message: 'Query read timeout' }, 'unknown'],
  ])('%s', (_what, error, failure) =>
    expect(dialect.failure(Object.assign(new Error(), error))).toBe(failure),
  );
});

describe('what an error means, on MySQL', () => {
  const dialect = new MysqlDialect(client, {}, 1_000);
  test.each<[string, object, string]>([
    ['a deadlock', { errno: 1213 }, 'conflict'],
    ['one wrapped by TypeORM', { driverError: { errno: 1213 } }, 'conflict'],
    ['a wait for a row that was too long', { errno: 1205 }, 'locked'],
    ['a server that shuts down', { errno: 1053 }, 'unknown'],
    ['a session that was killed', { errno: 3169 }, 'unknown'],
    ['what Group Replication rolls back', { errno: 3101 }, 'conflict'],
    ['an account that is locked', { errno: 3118 }, 'denied'],
    ['a refused connection', { errno: -111, code: 'ECONNREFUSED', syscall: 'connect' }, 'refused'],
    ['a broken connection', { code: 'PROTOCOL_CONNECTION_LOST' }, 'unknown'],
    ['a wrong password', { errno: 1045 }, 'denied'],
    ['a name that is too long', { errno: 1406 }, 'lock'],
    [
      'one wrapped by Prisma 7',
      prisma7({ originalCode: '1062', kind: 'UniqueConstraintViolation' }),
      'conflict',
    ],
    ['a connection of Prisma 7 that broke', prisma7({ originalCode: '45009', kind: 'mysql' }), 'unknown'],
    ['no connection for Prisma 7', prisma7({ originalCode: '45028', kind: 'mysql' }), 'refused'],
  ])('%s', (_what, error, failure) =>
    expect(dialect.failure(Object.assign(new Error(), error))).toBe(failure),
  );
});

test('an error is told by what the database said, on one line, without credentials', () => {
  const said = new Error('no way to\n  postgres://user:secret@host/db.');
  const wrapped = Object.assign(new Error('Failed query: a long statement'), { cause: said });
  expect(describeFailure(wrapped)).toBe('no way to postgres://***@host/db');
  const ofPrisma = {
    ...prisma7({ originalCode: '1062', originalMessage: 'Duplicate entry' }),
    message: 'Raw query',
  };
  expect(describeFailure(ofPrisma)).toBe('Duplicate entry');
  const unreachable = {
    ...prisma7({ kind: 'DatabaseNotReachable' }),
    message: "Can't reach database server",
  };
  expect(describeFailure(unreachable)).toBe("Can't reach database server");
});

test('a pool is never closed', async () => {
  const pool = { ...client, end: jest.fn() };
  await new PostgresLockStore(pool).close();
  await new MysqlLockStore(pool).close();
  expect(pool.end).not.toHaveBeenCalled();
});

test('on MySQL nobody knows what a batch has written if the read that tells it fails', async () => {
  const gone = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  const query = (text: string) =>
    text.includes('SELECT') ? Promise.reject(gone) : Promise.resolve({ affectedRows: 1 });
  const dialect = new MysqlDialect({ query }, {}, 1_000);
  const table = { table: raw('t'), zoned: false, mariadb: true };
  const names = { room: 255, unicode: true, widening: '' };
  const changes = ['a', 'b'].map((name) => ({ name, seen: null, version: name, by: '', state: '' }));
  const error: unknown = await dialect
    .write({ ...table, ...names }, changes)
    .catch((failed: unknown) => failed);
  expect(dialect.failure(error)).toBe('unknown');
  expect(describeFailure(error)).toContain('ECONNREFUSED');
});
