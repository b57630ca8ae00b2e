import { describe, expect, it } from '@jest/globals';
import { nearest, withoutSql } from '../../../lib/base/wording.js';

const NAMES = ['ttl', 'heartbeat', 'timeout', 'atLeast', 'name', 'password', 'host', 'path', 'db'];

describe('the name that was probably meant', () => {
  it.each([
    ['tttl', 'ttl'],
    ['tll', 'ttl'],
    ['tl', 'ttl'],
    ['TTL', 'ttl'],
    ['heartBeat', 'heartbeat'],
    ['hearbeat', 'heartbeat'],
    ['haertbeat', 'heartbeat'],
    ['timout', 'timeout'],
    ['at_least', 'atLeast'],
    ['hots', 'host'],
    ['pass', 'password'],
    ['passwd', 'password'],
  ])('by %p is %p', (given, meant) => {
    expect(nearest(given, NAMES)).toBe(meant);
  });

  it.each(['', 'x', 'lease', 'waitFor', 'url', 'toString', '__proto__'])('by %p is none', (given) => {
    expect(nearest(given, NAMES)).toBeUndefined();
  });
});

describe('a message with SQL, on one line,', () => {
  const problem = (table: string, run = 'Run this'): string =>
    `It is missing. ${run}:\n-- Locks\nCREATE TABLE IF NOT EXISTS ${table} (\n  name VARCHAR(255)\n);`;

  it.each([
    [
      problem('"public"."shedlock"'),
      'It is missing. Run what `npx nestjs-scheduler-lock sql --store postgres` prints.',
    ],
    [
      problem('"jobs"."locks"', 'Run this as a user who may'),
      'It is missing. Run what `npx nestjs-scheduler-lock sql --store postgres --schema jobs --table locks` prints as a user who may.',
    ],
    [
      problem('`app`.`shedlock`', 'Put that right, or run this as a user who may'),
      'It is missing. Put that right, or run what `npx nestjs-scheduler-lock sql --store mysql --schema app` prints as a user who may.',
    ],
    [
      problem('`shedlock`', 'Put that right, or run this as a user who may'),
      'It is missing. Put that right, or run what `npx nestjs-scheduler-lock sql --store mysql` prints as a user who may.',
    ],
    [
      problem('"locks"'),
      'It is missing. Run what `npx nestjs-scheduler-lock sql --store postgres --table locks` prints.',
    ],
  ])('%p names a command that works', (message, line) => {
    expect(withoutSql(message)).toBe(line);
  });

  it('keeps a statement that the command does not print', () => {
    const message = 'It is not unique. Run this:\nALTER TABLE "shedlock" ADD PRIMARY KEY (name);';
    expect(withoutSql(message)).toBe(
      'It is not unique. Run this: ALTER TABLE "shedlock" ADD PRIMARY KEY (name);',
    );
  });
});
