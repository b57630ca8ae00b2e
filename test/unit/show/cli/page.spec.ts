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

test.each(['docs/stores/postgres.md', 'docs/stores/mysql.md', 'docs/stores/redis.md'])(
  '%s shows what the shell prints that a store needs',
  async (file) => {
    const [[, command = '', output = ''] = [], ...others] = shownBy(file);
    expect(others).toEqual([]);
    const shell = new TestShell();
    expect(await shell.run(...command.split(' '))).toBe(0);
    expect(output).toBe(shell.out);
    expect(shell.open).toBe(0);
  },
);

test.each(['docs/stores/postgres.md', 'docs/stores/mysql.md'])(
  '%s has the rights of the user as statements, as the shell prints them',
  (file) => {
    const [, section = ''] = textOf(file).split('## Rights of the user\n');
    const [, statements = ''] = /^```sql\n((?:.*\n)*?)```$/m.exec(section) ?? [];
    const [[, , printed = ''] = []] = shownBy(file);
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
