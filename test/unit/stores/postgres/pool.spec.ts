import { EventEmitter } from 'node:events';
import { expect, test } from '@jest/globals';
import { type Pool, poolWarning } from '../../../../lib/stores/postgres/pool.js';

const poolWith = (...listeners: (() => void)[]): Pool => {
  const pool = new EventEmitter();
  for (const listener of listeners) pool.on('error', listener);
  return pool as never;
};
const hears = (): void => undefined;

test('a pool that lacks nothing is not warned of', () => {
  expect(poolWarning(poolWith(hears), '8s')).toBeUndefined();
});

test('what a pool of pg lacks is told in one warning, with what to set and why', () => {
  expect(poolWarning(poolWith(), '8s')).toMatch(
    /^The pool of PostgreSQL should have pool\.on\('error', …\): /,
  );
  expect(poolWarning(poolWith(hears), '0')).toMatch(
    /^The pool of PostgreSQL should have statement_timeout: 8_000: without it/,
  );
  expect(poolWarning(poolWith(), '0')).toMatch(/pool\.on\('error', …\): .*; and statement_timeout: 8_000: /);
});
