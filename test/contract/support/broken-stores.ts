import { caseName } from '../cases/contract.js';
import { brokenBatches } from './broken/batch.js';
import type { BrokenStore } from './broken/broken-store.js';
import { brokenQueuedCalls } from './broken/queued-calls.js';
import { brokenExclusion } from './broken/exclusion.js';
import { brokenHistories } from './broken/history.js';
import { brokenInspection } from './broken/inspect.js';
import { brokenLines } from './broken/lines.js';
import { brokenMisses, brokenRegistries } from './broken/misses.js';
import { brokenOwnership } from './broken/ownership.js';
import { brokenPauses } from './broken/pauses.js';
import { brokenRestore } from './broken/restore.js';
import { brokenTicks } from './broken/ticks.js';
import { brokenTimeAndNames } from './broken/time-and-names.js';

/** For every case of the contract suite a store that it is to catch, by the name of the case. */
export const brokenStores: readonly BrokenStore[] = [
  ...brokenExclusion,
  ...brokenOwnership,
  ...brokenRestore,
  ...brokenTicks,
  ...brokenTimeAndNames,
  ...brokenBatches,
  ...brokenInspection,
  ...brokenLines,
  ...brokenQueuedCalls,
  ...brokenHistories,
  ...brokenMisses,
  ...brokenRegistries,
  ...brokenPauses,
].map((broken) => ({ ...broken, caught: caseName(broken.caught) }));
