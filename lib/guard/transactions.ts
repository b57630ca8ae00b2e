import { SchedulerLockConfigError } from '../base/errors.js';
import { show } from '../base/wording.js';

/** Parameters of a statement. Numbers are texts: drivers differ in what they make of great ones. */
export type Values = readonly (string | null)[];

/**
 * Runs a statement in the transaction of the job, and answers its rows: as they are, or as the driver answers them. The text has `$1`, `$2`
 * for its parameters on PostgreSQL, and `?` on MySQL.
 */
export type GuardQuery = (text: string, values: (string | null)[]) => PromiseLike<unknown>;

/**
 * A transaction of a job, known by its shape: a client of `pg` or connection of `mysql2` after `BEGIN`; what TypeORM, Prisma, Drizzle, Knex,
 * Kysely and MikroORM give to the function of a transaction; TypeORM's `QueryRunner`; or a {@link GuardQuery}.
 */
export type GuardedTransaction = GuardQuery | object;

/** A row that is answered. What a driver says of a write counts as one. */
export type Row = Readonly<Record<string, unknown>>;
/** Runs a statement, with `?` for its parameters. */
export type Query = (text: string, values: Values) => Promise<readonly Row[]>;

type Run = (text: string, values: (string | null)[]) => unknown;

/** What clients have, as far as it is used here. */
interface Client {
  readonly query: Run;
  readonly raw: Run;
  readonly execute: Run & ((statement: object) => unknown);
  readonly executeQuery: (statement: object) => unknown;
  readonly $queryRawUnsafe: (text: string, ...values: (string | null)[]) => unknown;
  readonly promise: () => Client;
  readonly queryRunner?: Client;
  readonly isTransaction?: boolean;
  readonly isTransactionActive?: boolean;
  readonly isInTransaction: () => boolean;
  readonly getTransactionStatus?: () => string | null;
}

/** A library whose transactions are known. */
interface Kind {
  /** The members that only its clients have, in the order of {@link KINDS}. */
  readonly by: readonly string[];
  /** Whether this is a transaction, as far as it can be seen. */
  readonly inside: (client: Client) => boolean;
  /** Whether it takes `?` for parameters on PostgreSQL, too. */
  readonly marks?: true;
  readonly run: (client: Client, text: string, values: (string | null)[]) => unknown;
}

const KINDS: readonly Kind[] = [
  // Knex. A transaction of it is a function.
  {
    by: ['raw', 'client'],
    inside: (knex) => knex.isTransaction === true,
    marks: true,
    run: (knex, text, values) => knex.raw(text, values),
  },
  // MikroORM's EntityManager.
  {
    by: ['isInTransaction', 'execute'],
    inside: (em) => em.isInTransaction(),
    marks: true,
    run: (em, text, values) => em.execute(text, values),
  },
  // TypeORM's EntityManager: outside of a transaction it has no runner. A DataSource never has.
  {
    by: ['query', 'getRepository'],
    inside: ({ queryRunner }) => queryRunner?.isTransactionActive === true,
    run: ({ queryRunner }, text, values) => queryRunner?.query(text, values),
  },
  // TypeORM's QueryRunner.
  {
    by: ['query', 'isTransactionActive'],
    inside: ({ isTransactionActive }) => isTransactionActive === true,
    run: (runner, text, values) => runner.query(text, values),
  },
  {
    // Kysely. This is what its `CompiledQuery.raw()` makes.
    by: ['executeQuery', 'isTransaction'],
    inside: ({ isTransaction }) => isTransaction === true,
    run(db, sql, parameters) {
      const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] };
      return db.executeQuery({ sql, parameters, query, queryId: { queryId: 'nestjs-scheduler-lock' } });
    },
  },
  {
    // Drizzle. It asks a statement for its text and parameters.
    by: ['execute', 'dialect', 'session'],
    inside: (db) => has(db, 'rollback'),
    run(db, sql, params) {
      const statement = { getSQL: (): object => statement, toQuery: () => ({ sql, params }) };
      return db.execute(statement);
    },
  },
  {
    // Prisma.
    by: ['$queryRawUnsafe'],
    inside: (prisma) => !has(prisma, '$connect'),
    run: (prisma, text, values) => prisma.$queryRawUnsafe(text, ...values),
  },
  {
    // A connection of mysql2 with callbacks.
    by: ['query', 'promise'],
    inside: (connection) => !has(connection, 'getConnection'),
    run: (connection, text, values) => connection.promise().query(text, values),
  },
  {
    // A client of pg, a connection of mysql2 with promises, and those that are like them. A pool has no transaction.
    by: ['query'],
    inside: (client) =>
      !has(client, 'getConnection') && !has(client, 'totalCount') && client.getTransactionStatus?.() !== 'I',
    run: (client, text, values) => client.query(text, values),
  },
];

/** Whether an object has a member. Some of these libraries answer `in` wrongly. */
const has = (client: object, member: string): boolean =>
  ((client as Readonly<Record<string, unknown>>)[member] ?? undefined) !== undefined;

/**
 * Makes a client run statements.
 *
 * @param numbered whether the database has `$1` for parameters
 * @param anywhere whether it need not be in a transaction
 * @throws SchedulerLockConfigError if it is nothing that is known, or is not in a transaction
 */
export function queryOf(client: GuardedTransaction, numbered: boolean, anywhere = false): Query {
  const isClient = client !== null && (typeof client === 'object' || typeof client === 'function');
  const kind = isClient ? KINDS.find(({ by }) => by.every((member) => has(client, member))) : undefined;
  if (kind === undefined && typeof client !== 'function')
    throw misused(
      `got ${show(client)}. Give the transaction of pg, mysql2, TypeORM, Prisma, Drizzle, Knex, Kysely or MikroORM, or a function (text, values) => rows.`,
    );
  if (kind?.inside(client as Client) === false && !anywhere) throw noTransaction();
  return async (text, values) => {
    const own = numbered && kind?.marks !== true ? withNumbers(text) : text;
    return rowsOf(
      await (kind === undefined
        ? (client as GuardQuery)(own, [...values])
        : kind.run(client as Client, own, [...values])),
    );
  };
}

function withNumbers(text: string): string {
  let number = 0;
  return text.replaceAll('?', () => `$${++number}`);
}

/** The rows of an answer: `{ rows }` (pg, Kysely), `[rows, fields]` (mysql2), `[rows, count]` (TypeORM), rows, or what is said of a write. */
function rowsOf(answer: unknown): readonly Row[] {
  const { rows = answer } = (answer ?? {}) as { readonly rows?: unknown };
  if (!Array.isArray(rows)) return rows === undefined || rows === null ? [] : [rows as Row];
  const [first] = rows as unknown[];
  return (Array.isArray(first) ? first : rows) as readonly Row[];
}

/** The error for a `tx` that commits each statement by itself: what the guard notes has to stand or fall with the work. */
export const noTransaction = (): SchedulerLockConfigError =>
  misused(
    'it was given no open transaction, but something that commits each statement by itself. Begin one, and give the client, manager or tx that the work itself uses, not the pool.',
  );

export const misused = (problem: string): SchedulerLockConfigError =>
  new SchedulerLockConfigError([`guard.commit(): ${problem}`]);
