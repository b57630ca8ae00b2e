import { describe, expect, test } from '@jest/globals';
import { type GuardedTransaction, queryOf } from '../../../lib/guard/transactions.js';
import { SchedulerLockConfigError } from '../../../lib/base/errors.js';

/* The shapes of the libraries that a transaction may come from: what they are told, and what they answer. */

const TEXT = 'SELECT ? + ?';
const NUMBERED = 'SELECT $1 + $2';
const VALUES = ['1', '2'];
const ROW = { sum: '3' };

type Called = (text: string, values: unknown) => unknown;

interface Shape {
  /** @param call what the library does with a statement and its parameters */
  make(call: Called, inside: boolean): GuardedTransaction;
  /** The text that it is given for PostgreSQL. @default with numbers */
  readonly text?: string;
  /** How it answers rows. @default as they are */
  readonly answer?: (rows: object[]) => unknown;
}

const asRows = (rows: object[]): unknown => ({ rows, rowCount: rows.length });
const withFields = (rows: object[]): unknown => [rows, [{ name: 'sum' }]];

const SHAPES: Readonly<Record<string, Shape>> = {
  'a client of pg': {
    make: (call, inside) => ({ query: call, getTransactionStatus: () => (inside ? 'T' : 'I') }),
    answer: asRows,
  },
  'a pool of pg': {
    make: (call, inside) => ({ query: call, ...(!inside && { totalCount: 0 }) }),
    answer: asRows,
  },
  'a connection of mysql2': {
    make: (call, inside) => ({ query: call, ...(!inside && { getConnection: call }) }),
    answer: withFields,
  },
  'a connection of mysql2 with callbacks': {
    make: (call, inside) => ({
      query: () => undefined,
      promise: () => ({ query: call }),
      ...(!inside && { getConnection: call }),
    }),
    answer: withFields,
  },
  "TypeORM's EntityManager": {
    make: (call, inside) => ({
      query: call,
      getRepository: call,
      ...(inside && { queryRunner: { isTransactionActive: true } }),
    }),
  },
  "TypeORM's EntityManager, of an UPDATE": {
    make: (call, inside) => ({
      query: call,
      getRepository: call,
      queryRunner: { isTransactionActive: inside },
    }),
    answer: (rows) => [rows, rows.length],
  },
  "TypeORM's QueryRunner": { make: (query, inside) => ({ query, isTransactionActive: inside }) },
  Prisma: {
    make: (call, inside) => ({
      $queryRawUnsafe: (text: string, ...values: unknown[]) => call(text, values),
      ...(!inside && { $connect: call }),
    }),
  },
  Drizzle: {
    make: (call, inside) => ({
      dialect: {},
      session: {},
      query: {},
      ...(inside && { rollback: call }),
      // As its dialects do.
      execute(statement: { getSQL(): { toQuery(config: object): { sql: string; params: unknown } } }) {
        const { sql, params } = statement.getSQL().toQuery({});
        return call(sql, params);
      },
    }),
    answer: asRows,
  },
  Knex: {
    make: (call, inside) =>
      Object.assign(() => undefined, { raw: call, client: {}, ...(inside && { isTransaction: true }) }),
    text: TEXT,
    answer: asRows,
  },
  Kysely: {
    make: (call, inside) => ({
      isTransaction: inside,
      executeQuery({
        sql,
        parameters,
        query,
      }: {
        sql: string;
        parameters: unknown;
        query: { kind: string };
      }) {
        expect(query).toEqual({ kind: 'RawNode', sqlFragments: [sql], parameters: [] });
        return call(sql, parameters);
      },
    }),
    answer: asRows,
  },
  MikroORM: {
    make: (call, inside) => ({
      execute: call,
      isInTransaction: () => inside,
      getRepository: call,
      getConnection: call,
    }),
    text: TEXT,
  },
};

describe.each(Object.entries(SHAPES))('%s', (_name, { make, text = NUMBERED, answer = (rows) => rows }) => {
  test.each([
    ['PostgreSQL', true, text],
    ['MySQL', false, TEXT],
  ])('runs a statement on %s, and answers its rows', async (_database, numbered, expected) => {
    const told: unknown[] = [];
    const answers = [[ROW], []];
    const call: Called = async (...statement) => {
      told.push(statement);
      return answer(answers.shift() ?? []);
    };
    const query = queryOf(make(call, true), numbered);
    expect(await query(TEXT, VALUES)).toEqual([ROW]);
    expect(await query(TEXT, VALUES)).toEqual([]);
    expect(told).toEqual([
      [expected, VALUES],
      [expected, VALUES],
    ]);
  });

  test('is refused outside of a transaction, but not where none is needed', async () => {
    const call: Called = async () => answer([ROW]);
    expect(() => queryOf(make(call, false), true)).toThrow(/no open transaction/);
    expect(await queryOf(make(call, false), true, true)(TEXT, VALUES)).toEqual([ROW]);
  });
});

test.each<[what: string, answer: unknown, rows: unknown[]]>([
  ['rows', [ROW], [ROW]],
  ['no rows', [], []],
  ['nothing', undefined, []],
  ['what a driver says of a write', { serverStatus: 3 }, [{ serverStatus: 3 }]],
  ['that, with fields', [{ serverStatus: 3 }, undefined], [{ serverStatus: 3 }, undefined]],
])('a function may answer %s', async (_what, answer, rows) => {
  expect(await queryOf(async () => answer, true)(TEXT, VALUES)).toEqual(rows);
});

test.each([undefined, null, 'postgres://localhost/app', 7, {}, { connect: () => undefined }])(
  '%p is refused, and the message says what to give',
  (tx) => {
    expect(() => queryOf(tx as object, true)).toThrow(SchedulerLockConfigError);
    expect(() => queryOf(tx as object, true)).toThrow(
      /CommitGuard: got .+\. Give the transaction of pg, mysql2/,
    );
  },
);
