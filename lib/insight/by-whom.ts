import type { KnownJob } from '../stores/history-store.js';
import { asClause } from '../wording.js';
import type { RunInfo } from './types.js';

/** Who or what has started a run without a tick. */
export function startedBy({ trigger, by }: RunInfo, known: Pick<KnownJob, 'kind'>): string {
  if (by?.action === 'run')
    return ` by ${by.actor}${by.reason === undefined ? '' : ` (${asClause(by.reason)})`}`;
  if (trigger === 'queued') return ' by a queued call';
  if (trigger === 'schedule' || (trigger === undefined && known.kind === 'interval')) return '';
  return ' by hand';
}

/** Why a run was aborted. */
export function abortedBy({ by }: RunInfo): string {
  if (by?.action !== 'break') return 'the instance was shutting down or had lost the lock';
  const why = by.reason === undefined ? '' : ` (${asClause(by.reason)})`;
  return `${by.actor} has ended its lease${why}; the job itself may have gone on`;
}
