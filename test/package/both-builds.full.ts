import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { FreshApp } from './support/fresh-app.js';

jest.setTimeout(300_000);

let app: FreshApp;
let result: Record<string, unknown>;
let stderr: string;

beforeAll(async () => {
  app = await FreshApp.bare();
  ({ result, stderr } = await app.report('both-builds.js'));
});

afterAll(() => app?.remove());

test('a process that loads the package by import and by require has two copies of it', () => {
  expect(result['copies']).toBe(2);
  expect(stderr).toBe('');
});

test('both builds of each entry export the same names', () => {
  const entries = result['exported'] as [esm: string[], cjs: string[]][];
  expect(entries).toHaveLength(10);
  for (const [esm, cjs] of entries) {
    // The entries of MongoDB and of metrics have one value each, a store or a module: their other names are types.
    const isOne = /^MongoLockStore$|Module$/.test(esm.join());
    expect(esm.length).toBeGreaterThanOrEqual(isOne ? 1 : 2);
    expect(cjs).toEqual(esm);
  }
});

describe.each([
  ['the ES module imports the module', 'esmModule'],
  ['the CommonJS build imports the module', 'cjsModule'],
])('where %s and the other one guards, injects and declares', (_what, key) => {
  test('all of it belongs together', () => {
    expect(result[key]).toMatchObject({
      used: {
        guarded: 'ran',
        injected: true,
        others: [true, true],
        names: ['shared', 'shared'],
        elected: 'chief',
        sameStore: true,
      },
    });
  });

  test('nested calls run inside of each other', () => {
    expect(result[key]).toMatchObject({
      used: {
        'a method inside a method': 'ran',
        'a method inside run()': { ran: true, value: 'ran' },
        'run() inside a method': { ran: true, value: 'ran' },
        'a lock inside another': { ran: true, value: ['shared', 'shared'] },
      },
    });
  });

  test('an error of one is an instance of the class of that kind in both, and of no other', () => {
    const kinds = ['SchedulerLockError', 'LockNotBoundError'];
    expect(result[key]).toMatchObject({
      unbound: { code: 'LOCK_NOT_BOUND', found: [kinds, kinds], derived: false },
    });
  });
});

test('a module that was made before the other copy was loaded serves it as well', () => {
  expect(result['early']).toBe('ran');
});

test('the modules of both in one application are one too many', () => {
  expect(result['twice']).toMatch(/SchedulerLockModule: it is imported more than once/);
});

test('runUnlocked() of one runs methods that the other guards', () => {
  expect(result['unlocked']).toEqual(['Jobs.run', 'Jobs.run']);
});

test('what only looks like an error of ours is none', () => {
  expect(result['noError']).toEqual([false, false, false, false]);
});
