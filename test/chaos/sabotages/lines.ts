import type { Sabotages } from './sabotage.js';

/** Sabotages of the lines on databases. */
export const SQL_LINE_SABOTAGES: Sabotages = {
  'turns-for-whoever-asks': {
    file: 'stores/sql/lines.js',
    search: 'asks: token })?.token !== token)',
    replace: "asks: token })?.token === '')",
    caughtBy: 'waiting',
    only: ['throwing-logger'],
    callers: 3,
    seed: 3,
  },
  'dead-head-that-keeps-its-turn': {
    file: 'stores/line.js',
    search: 'if (called !== undefined && called.token !== asks) {',
    replace: 'if (called === null) {',
    caughtBy: 'waiting',
    only: ['kill'],
    callers: 3,
    seed: 328,
  },
};
