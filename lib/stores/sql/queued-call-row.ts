import type { DeadLetter, DeliveredEvent } from '../queued-call-store.js';

type Row = Readonly<Record<string, unknown>>;

/** Those of an event, but for its arguments, which may be long. */
export const COLUMNS =
  'id, name, job, event_key, place, queued_at, merged, redeliver, delivery, taken, dead, dead_at';

/** An event as its row has it. */
export interface Kept extends DeliveredEvent {
  readonly place: number;
  readonly redeliver: number;
  readonly taken: string | null;
}

export function kept(row: Row): Kept {
  const key = row['event_key'] as string | null;
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

/** What whoever runs it is told. */
export function delivered({
  place: _place,
  redeliver: _redeliver,
  taken: _taken,
  ...event
}: Kept): DeliveredEvent {
  return event;
}

export function letterOf(
  { id, job, key, delivery }: Kept,
  reason: DeadLetter['reason'],
  at: number,
): DeadLetter {
  return { id, job, ...(key === undefined ? undefined : { key }), deliveries: delivery, reason, at };
}
