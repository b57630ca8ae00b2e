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
  /** The members that tell it from those behind it in {@link KINDS}. */
  readonly by: readonly string[];
  /** Whether this is a transaction, as far as it can be seen. */
  readonly inside: (client: Client) => boolean;
  /** Whether it takes `?` for parameters on PostgreSQL, too. */
  readonly marks?: true;
  readonly run: (client: Client, text: string, values: (string | null)[]) => unknown;
}

const byQuery: Kind['run'] = (client, text, values) => client.query(text, values);

const PRISMA: Kind = {
  by: ['$queryRawUnsafe'],
  inside: (prisma) => !has(prisma, '$connect'),
  run: (prisma, text, values) => prisma.$queryRawUnsafe(text, ...values),
};

/** A transaction of it is a function. */
const KNEX: Kind = {
  by: ['raw', 'client'],
  inside: (knex) => knex.isTransaction === true,
  marks: true,
  run: (knex, text, values) => knex.raw(text, values),
};

const MIKRO_ORM: Kind = {
  by: ['isInTransaction', 'execute'],
  inside: (manager) => manager.isInTransaction(),
  marks: true,
  run: (manager, text, values) => manager.execute(text, values),
};

/** Its EntityManager has a QueryRunner in a transaction only, and its DataSource never. */
const TYPE_ORM: Kind = {
  by: ['query', 'getRepository'],
  inside: ({ queryRunner }) => queryRunner?.isTransactionActive === true,
  run: byQuery,
};

const TYPE_ORM_RUNNER: Kind = {
  by: ['query', 'isTransactionActive'],
  inside: ({ isTransactionActive }) => isTransactionActive === true,
  run: byQuery,
};

/** It takes what its `CompiledQuery.raw()` makes. */
const KYSELY: Kind = {
  by: ['executeQuery', 'isTransaction'],
  inside: ({ isTransaction }) => isTransaction === true,
  run(db, sql, parameters) {
    const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] };
    return db.executeQuery({ sql, parameters, query, queryId: { queryId: 'nestjs-scheduler-lock' } });
  },
};

/** It asks a statement for its text and parameters. */
const DRIZZLE: Kind = {
  by: ['execute', 'dialect', 'session'],
  inside: (db) => has(db, 'rollback'),
  run(db, sql, params) {
    const statement = { getSQL: (): object => statement, toQuery: () => ({ sql, params }) };
    return db.execute(statement);
  },
};

/** A client of `pg`, a connection of `mysql2` with promises or callbacks, and what is like them. A pool has no transaction. */
const DRIVER: Kind = {
  by: ['query'],
  inside: (client) =>
    !has(client, 'getConnection') && !has(client, 'totalCount') && client.getTransactionStatus?.() !== 'I',
  run: (client, text, values) => byQuery(has(client, 'promise') ? client.promise() : client, text, values),
};

const FUNCTION: Kind = {
  by: ['call', 'apply'],
  inside: () => true,
  run: (query, text, values) => (query as unknown as GuardQuery)(text, values),
};

const KINDS = [PRISMA, KNEX, MIKRO_ORM, TYPE_ORM, TYPE_ORM_RUNNER, KYSELY, DRIZZLE, DRIVER, FUNCTION];

/** Asks for the member itself: some of these libraries answer `in` wrongly. */
const has = (client: unknown, member: string): boolean =>
  ((Object(client) as Row)[member] ?? undefined) !== undefined;

/**
 * Makes a client run statements.
 *
 * @param numbered whether the database has `$1` for parameters
 * @param anywhere whether it need not be in a transaction
 * @throws SchedulerLockConfigError if it is nothing that is known, or is not in a transaction
 */
export function queryOf(client: GuardedTransaction, numbered: boolean, anywhere = false): Query {
  const kind = KINDS.find(({ by }) => by.every((member) => has(client, member)));
  if (kind === undefined)
    throw misused(
      `got ${show(client)}. Give the transaction of pg, mysql2, TypeORM, Prisma, Drizzle, Knex, Kysely or MikroORM, or a function (text, values) => rows.`,
    );
  if (!anywhere && !kind.inside(client as Client)) throw noTransaction();
  const own = numbered && kind.marks !== true ? withNumbers : (text: string): string => text;
  return async (text, values) => rowsOf(await kind.run(client as Client, own(text), [...values]));
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
    'got no open transaction, but something that commits each statement by itself. Begin one, and give the client, manager or tx that the work itself uses, not the pool.',
  );

export const misused = (problem: string): SchedulerLockConfigError =>
  new SchedulerLockConfigError([`CommitGuard: ${problem}`]);
