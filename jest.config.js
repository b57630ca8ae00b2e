import { SWC } from './tools/swc.mjs';
import { LEFT_ALONE, patternsOf, ROOTS } from './tools/tiers.mjs';

const tier = process.env['TIER'] ?? 'any';
const WORKERS = { full: 6, slow: 1 };

/** @type {import('jest').Config} */
export default {
  testEnvironment: '<rootDir>/tools/environment.mjs',
  roots: ROOTS.map((folder) => `<rootDir>/${folder}`),
  // Called directly, Jest finds all.
  testMatch: patternsOf(tier),
  testPathIgnorePatterns: ['/node_modules/', `<rootDir>/${LEFT_ALONE}`],
  testSequencer: '<rootDir>/tools/sequencer.mjs',
  reporters: ['<rootDir>/tools/reporter.mjs'],
  globalSetup: '<rootDir>/test/global-setup.mjs',
  // No assertion waits for time to pass; a machine that is busy with other things must not fail a test.
  testTimeout: 60_000,
  // On two processors: most of them wait for servers and other processes most of the time. The slow ones need the machine for themselves.
  maxWorkers: WORKERS[tier] ?? 4,
  // A process of its own for each file, where faults are made: what one has left behind (a client that connects again and again) is not
  // to be counted by the next one. The fast ones share theirs, which saves half a minute.
  ...(tier === 'fast' ? undefined : { workerIdleMemoryLimit: '1MB' }),
  // Jest's own half a second is too short on a busy machine: it then says that a test has left something open, and none has.
  workerGracefulExitTimeout: 30_000,
  // Of the fleets in test/faults/chaos.spec.ts, each of which is mostly idle.
  maxConcurrency: 3,
  extensionsToTreatAsEsm: ['.ts', '.tsx'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/.build', '<rootDir>/.cache'],
  transform: {
    '^.+\\.tsx?$': ['@swc/jest', SWC],
  },
};
