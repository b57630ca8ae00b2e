import { describe, expect, test } from '@jest/globals';
import { CommitGuard, type CommitGuardOptions } from '../../../lib/guard/index.js';
import { SchedulerLockConfigError } from '../../../lib/base/errors.js';

test.each<[options: object, problem: RegExp]>([
  [{}, /CommitGuard: dialect: got undefined\. Give 'postgres' or 'mysql'\./],
  [{ dialect: 'sqlite' }, /dialect: got 'sqlite'/],
  [{ dialect: 'toString' }, /dialect: got 'toString'/],
  [{ dialect: 'mysql', tabel: 'x' }, /tabel: there is no such option here\. Did you mean `table`\?/],
  [{ dialect: 'mysql', table: 'a.b.c' }, /table: got 'a\.b\.c'/],
  [{ dialect: 'mysql', table: 'x; DROP TABLE x' }, /table: got/],
  [{ dialect: 'mysql', table: 7 }, /table: got 7/],
])('%p is refused', (options, problem) => {
  expect(() => new CommitGuard(options as CommitGuardOptions)).toThrow(SchedulerLockConfigError);
  expect(() => new CommitGuard(options as CommitGuardOptions)).toThrow(problem);
});

describe('the SQL of the table', () => {
  test.each([
    [{ dialect: 'postgres' }, '"scheduler_lock_commits"'],
    [{ dialect: 'postgres', table: undefined }, '"scheduler_lock_commits"'],
    [{ dialect: 'postgres', table: 'jobs.commits' }, '"jobs"."commits"'],
    [{ dialect: 'mysql', table: 'jobs.commits' }, '`jobs`.`commits`'],
  ] as [CommitGuardOptions, string][])('of %p', (options, table) => {
    expect(new CommitGuard(options).sql).toMatch(`CREATE TABLE IF NOT EXISTS ${table} (\n  lock_name `);
  });
});
