import { expect, test } from '@jest/globals';
import { MysqlDialect } from '../../../../lib/stores/mysql/mysql-dialect.js';
import { raw } from '../../../../lib/stores/mysql/sql-text.js';

const row = (name: string) => ({
  name,
  version: 'v',
  by: '',
  until: 0,
  since: 0,
  state: '',
  now: 1_000,
});

/** What a read of these locks tells, where the table has these rows. @param exact whether its collation tells all names apart */
function told(exact: boolean, names: readonly string[], rows: readonly { name: string }[]) {
  const plain = (name: unknown): string => String(name).trim().toLowerCase();
  const found = (values: readonly unknown[]) =>
    rows.filter(({ name }) => values.map(plain).includes(plain(name)));
  const query = async (_statement: unknown, values: readonly unknown[] = []) => [found(values), []];
  const dialect = new MysqlDialect({ query }, {}, 1_000);
  const widening = 'ALTER TABLE t';
  const table = { table: raw('t'), exact, zoned: false, mariadb: false, room: 255, unicode: true, widening };
  return dialect.read(table, names);
}

test.each([
  ['to its collation', false, [row('A'), row('b'), row('C')], ['a', 'c']],
  ['but for blanks at its end', true, [row('a '), row('b'), row('c ')], ['a', 'c']],
])(
  'of several locks those cannot be kept that are, %s, the same as another one',
  async (_how, exact, rows, bad) => {
    const { documents, problems } = await told(exact, ['a', 'b', 'c'], rows);
    expect(documents.map(({ name }) => name)).toEqual(['b']);
    expect([...(problems ?? [])].map(([name]) => name)).toEqual(bad);
    expect(problems?.get('a')?.message).toContain(`has a row named "${rows[0]?.name}"`);
  },
);
