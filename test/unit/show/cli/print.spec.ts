import { describe, expect, test } from '@jest/globals';
import { TestShell } from './support/shell.js';

/** What the shell says, without a URL. */
async function said(...argv: string[]): Promise<TestShell & { code: number }> {
  const shell = new TestShell();
  shell.env = {};
  const code = await shell.run(...argv);
  expect(shell.open).toBe(0);
  return Object.assign(shell, { code });
}

describe('sql', () => {
  test('needs to know the kind of database', async () => {
    for (const store of [[], ['--store', 'redis']]) {
      const { code, out, err } = await said('sql', ...store);
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(err).toMatch(/--store postgres, or --store mysql/);
    }
  });

  test.each([
    ['postgres', /^GRANT USAGE ON SCHEMA "jobs" TO "a""b";$/m, /"jobs"."locks_entries"/],
    ['mysql', /^GRANT .* ON `jobs`.`locks` TO 'a"b'@'%';$/m, /`jobs`.`locks_entries`/],
  ])('quotes all names for %s', async (store, grant, table) => {
    const { code, out } = await said(
      'sql',
      '--store',
      store,
      '--table',
      'locks',
      '--schema',
      'jobs',
      '--grant',
      'a"b',
    );
    expect(code).toBe(0);
    expect(out).toMatch(grant);
    expect(out).toMatch(table);
  });

  test.each(['postgres', 'mysql'])('without a user the rights on %s are comments', async (store) => {
    const { out } = await said('sql', '--store', store);
    expect(out.split('\n').filter((line) => line.startsWith('GRANT'))).toEqual([]);
    expect(out).toMatch(/^-- GRANT SELECT, INSERT, UPDATE ON .* TO <user>;$/m);
  });

  test.each(['postgres', 'mysql'])('--shedlock begins with the table of ShedLock on %s', async (store) => {
    const { out } = await said('sql', '--store', store, '--shedlock');
    const [create = '', add = ''] = out.split(';\n');
    expect(create).toMatch(/name VARCHAR\(64\)/);
    expect(create).not.toContain('state');
    expect(add).toMatch(/^ALTER TABLE .*version VARCHAR\(36\).*state \w*TEXT/);
  });

  test('a user of MySQL may have a host', async () => {
    const { out } = await said('sql', '--store', 'mysql', '--grant', 'app@10.0.0.%');
    expect(out).toContain("TO 'app'@'10.0.0.%';");
  });

  test('a name that is none exits with 2', async () => {
    const { code, out, err } = await said('sql', '--store', 'mysql', '--table', 'app.shedlock');
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(/A schema has an option of its own/);
  });
});

describe('acl', () => {
  test('has a placeholder for the user and the password', async () => {
    const { code, out } = await said('acl');
    expect(code).toBe(0);
    expect(out.trimEnd().split('\n').at(-1)).toMatch(
      /^ACL SETUSER <user> on ><password> resetchannels ~scheduler:\* ~\{scheduler:\* &scheduler:wake:\* \+/,
    );
  });

  test('a key prefix stands for itself, and one with a hash tag needs no other keys', async () => {
    const { out } = await said('acl', '--key-prefix', '{app}:a*b');
    expect(out).toContain(' ~{app}:a\\*b:* &{app}:a\\*b:wake:* ');
  });

  test('a user that is no name exits with 2', async () => {
    expect(await said('acl', '--user', 'a b')).toMatchObject({ code: 2, out: '' });
  });
});
