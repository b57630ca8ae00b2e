import { describe, expect, test } from '@jest/globals';
import { COMMANDS, OPTION_NAMES, optionOf } from '../../../../lib/show/cli/options.js';
import { tableOf, textOf } from '../../house/support/documents.js';
import { storeOf } from './support/fleet.js';
import { PAGE } from './support/page.js';
import { TestShell } from './support/shell.js';

const FILE = 'docs/observe/shell.md';

/** The blocks of the page that show a command and what it says. */
const shownBy = (file: string) => [
  ...textOf(file).matchAll(/^```console\n\$ npx nestjs-scheduler-lock (.+)\n((?:.*\n)*?)```$/gm),
];
const shown = shownBy(FILE);

/** What the one command of a store's page prints, and what the page shows of it: `…` stands for lines that it leaves out. */
async function printedFor(file: string): Promise<{ printed: string; parts: string[] }> {
  const [[, command = '', output = ''] = [], ...others] = shownBy(file);
  expect(others).toEqual([]);
  const shell = new TestShell();
  expect(await shell.run(...command.split(' '))).toBe(0);
  expect(shell.open).toBe(0);
  return { printed: shell.out, parts: output.split(/^…\n/m) };
}

test('docs/stores/redis.md shows all that the shell prints that a store needs', async () => {
  const { printed, parts } = await printedFor('docs/stores/redis.md');
  expect(parts).toEqual([printed]);
});

test.each(['docs/stores/postgres.md', 'docs/stores/mysql.md'])(
  '%s shows how what the shell prints that a store needs begins, with the whole table of the locks',
  async (file) => {
    const { printed, parts } = await printedFor(file);
    const [locks = '', rest = ''] = printed.split(/(?<=^-- Queued calls .+\n)/m);
    expect(rest).toContain('shedlock_entries');
    expect(parts).toEqual([locks, '']);
  },
);

test.each(['docs/stores/postgres.md', 'docs/stores/mysql.md'])(
  '%s has the rights of the user as statements, as the shell prints them',
  async (file) => {
    const [, section = ''] = textOf(file).split('## Rights of the user\n');
    const [, statements] = /^```sql\n((?:.*\n)*?)```$/m.exec(section) ?? [];
    const { printed } = await printedFor(file);
    expect(printed.split('-- Rights of the user\n')[1]).toBe(statements);
  },
);

describe('docs/observe/shell.md', () => {
  test.each(shown.map(([, command = '', output = '']) => [command, output]))(
    'shows what `%s` says',
    async (command, output) => {
      const shell = new TestShell(storeOf(PAGE));
      shell.terminal = { columns: 132, rows: 40 };
      shell.env['NO_COLOR'] = '1';
      await shell.inBerlin(...command.split(' '));
      expect(shell.err).toBe('');
      expect(output).toBe(shell.out);
    },
  );

  test('shows some of them', () => {
    expect(shown.length).toBeGreaterThan(2);
  });

  test('lists the commands', () => {
    const rows = tableOf(FILE, 'Commands').map(({ command = '' }) => command.split(' ')[0]);
    expect(rows).toEqual(Object.keys(COMMANDS));
  });

  test('lists the options, and for which command they are', () => {
    const rows = tableOf(FILE, 'Options').map(({ option, of }) => ({ option, of }));
    expect(rows).toEqual(
      OPTION_NAMES.map((name) => {
        const { value, of } = optionOf(name);
        return { option: `--${name}${value === undefined ? '' : ` ${value}`}`, of: of?.join(', ') ?? 'all' };
      }),
    );
  });
});
