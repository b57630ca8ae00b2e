import type { DeadLetter, DeliveredCall } from '../queued-call-store.js';
import type { Row } from './row.js';

/** The columns of a queued call, without its arguments, which may be long. */
export const COLUMNS =
  'id, name, job, call_key, place, queued_at, merged, redeliver, delivery, taken, dead, dead_at';

/** A queued call, by its row. */
export interface StoredCall extends DeliveredCall {
  readonly place: number;
  readonly redeliver: number;
  readonly taken: string | null;
}

export function storedCall(row: Row): StoredCall {
  const key = row['call_key'] as string | null;
  return {
    id: String(row['id']),
    job: String(row['job']),
    ...(key === null ? undefined : { key }),
    args: String('args' in row ? row['args'] : ''),
    delivery: Number(row['delivery']),
    queuedAt: Number(row['queued_at']),
    merged: Number(row['merged']),
    place: Number(row['place']),
    redeliver: Number(row['redeliver']),
    taken: row['taken'] as string | null,
  };
}

/** What the holder who runs a queued call gets of it. */
export function delivered({
  place: _place,
  redeliver: _redeliver,
  taken: _taken,
  ...queuedCall
}: StoredCall): DeliveredCall {
  return queuedCall;
}

export function letterOf(
  { id, job, key, delivery }: StoredCall,
  reason: DeadLetter['reason'],
  at: number,
): DeadLetter {
  return { id, job, ...(key === undefined ? undefined : { key }), deliveries: delivery, reason, at };
}

/** A parameter for each of these values. */
export const marks = (values: readonly unknown[]): string => values.map(() => '?').join(', ');
