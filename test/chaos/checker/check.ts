import type { Line } from '../history.js';
import { checkAlarms } from './alarms.js';
import { checkCatchUp } from './catch-up.js';
import { checkDuplicates } from './duplicates.js';
import { checkQueuedCalls } from './queued-calls.js';
import { checkFencing } from './fencing.js';
import type { Finding } from './finding.js';
import { checkIdle } from './idle.js';
import { checkIntervals } from './intervals.js';
import { checkLosses } from './losses.js';
import { buildModel } from './model.js';
import { checkOverlaps } from './overlaps.js';
import { checkRecorded } from './recorded.js';
import { checkRetries } from './retries.js';
import { checkSwitches } from './switches.js';
import { checkTakeOver } from './take-over.js';
import { checkUnrun } from './unrun.js';
import { checkWaiting } from './waiting.js';

/** Each check by a short name. */
export const CHECKS = {
  duplicates: checkDuplicates,
  overlaps: checkOverlaps,
  fencing: checkFencing,
  losses: checkLosses,
  unrun: checkUnrun,
  'take-over': checkTakeOver,
  'catch-up': checkCatchUp,
  intervals: checkIntervals,
  idle: checkIdle,
  waiting: checkWaiting,
  'queued-calls': checkQueuedCalls,
  recorded: checkRecorded,
  alarms: checkAlarms,
  retries: checkRetries,
  switches: checkSwitches,
} as const;

/** The short name of a check. */
export type CheckName = keyof typeof CHECKS;

/** The findings of each check on a history. The checks read only the history, and do not know the library. */
export function checkHistory(
  lines: readonly Line[],
  names = Object.keys(CHECKS) as CheckName[],
): (Finding & { name: CheckName })[] {
  const model = buildModel(lines);
  return names.map((name) => ({ name, ...CHECKS[name](model) }));
}
