import type { Beat } from '../../lib/contract/history-store.js';

/** A beat of an instance that has nothing to tell. */
export const beat = (instance: string, fields: Partial<Beat> = {}): Beat => ({
  instance,
  startedAt: 0,
  every: 30_000,
  leads: [],
  catalogue: 'list',
  left: false,
  ...fields,
});
