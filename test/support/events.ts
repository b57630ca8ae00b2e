import type { SchedulerLockEvent } from '../../lib/contract/events/events.js';

/** An event by its type and, where it has one, its phase: `outage-started`. */
type KindOf<E> = E extends { readonly type: infer T extends string; readonly phase: infer P extends string }
  ? `${T}-${P}`
  : E extends { readonly type: infer T extends string }
    ? T
    : never;
type Told<E, K> = E extends unknown ? (KindOf<E> extends K ? E : never) : never;

export type EventKind = KindOf<SchedulerLockEvent>;
export type EventOf<K extends EventKind> = Told<SchedulerLockEvent, K>;

export const kindOf = (event: SchedulerLockEvent): EventKind =>
  'phase' in event ? (`${event.type}-${event.phase}` as EventKind) : event.type;

export const isEvent =
  <K extends EventKind>(kind: K) =>
  (event: SchedulerLockEvent): event is EventOf<K> =>
    kindOf(event) === kind;
