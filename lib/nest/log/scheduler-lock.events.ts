import { inModuleContext } from '../../base/clock.js';
import type { Hears, SchedulerLockEvent } from '../../contract/events/events.js';
import { logError, textOf } from './log-phrases.js';

type EventOf<T extends SchedulerLockEvent['type']> = Extract<SchedulerLockEvent, { type: T }>;

/** Called for each event. An error or rejection of it is logged, and changes nothing; what else it returns is ignored. */
export type SchedulerLockListener<E extends SchedulerLockEvent = SchedulerLockEvent> = (event: E) => unknown;

interface Listening {
  readonly listener: SchedulerLockListener;
  readonly wants: Hears;
}

/**
 * Emits every outcome of every lock once, as it happens. Inject it to feed metrics, alerts or an audit log.
 *
 * Listeners are called synchronously, in the order in which they were added: be quick, and do not block. They do not run
 * in the async context of a job or a request. Nothing that a listener does changes what happens to a lease.
 */
export class SchedulerLockEvents {
  readonly #listeners = new Set<Listening>();

  /**
   * Listens to all events, or to those of one type. A listener that is added twice is called twice.
   *
   * @returns a function that stops listening
   */
  on(listener: SchedulerLockListener): () => void;
  on<T extends SchedulerLockEvent['type']>(type: T, listener: SchedulerLockListener<EventOf<T>>): () => void;
  on<T extends SchedulerLockEvent['type']>(
    ...[first, second]: [SchedulerLockListener] | [T, SchedulerLockListener<EventOf<T>>]
  ): () => void {
    if (second === undefined || typeof first === 'function') {
      return this.listen(first as SchedulerLockListener, () => true);
    }
    const wants: Hears = (wanted) => wanted === first || (wanted === 'refusal' && first === 'skipped');
    const listener = second as SchedulerLockListener;
    return this.listen((event) => (event.type === first ? listener(event) : undefined), wants);
  }

  /**
   * Listens to all events that are made.
   *
   * @param wants which have to be made for this listener, asked each time
   *
   * @internal
   */
  listen(listener: SchedulerLockListener, wants: Hears): () => void {
    const listening = { listener, wants };
    this.#listeners.add(listening);
    return () => this.#listeners.delete(listening);
  }

  /** @internal */
  readonly hears: Hears = (type) => {
    try {
      for (const { wants } of this.#listeners) if (wants(type)) return true;
      return false;
    } catch {
      // emit() reports the error.
      return true;
    }
  };

  /** @internal */
  readonly emit = (event: SchedulerLockEvent): void => {
    for (const { listener } of this.#listeners) {
      try {
        const result: unknown = inModuleContext(listener, event);
        if (result instanceof Promise) result.catch((error: unknown) => failed(event, error));
      } catch (error) {
        failed(event, error);
      }
    }
  };
}

function failed({ type }: SchedulerLockEvent, error: unknown): void {
  logError(() => `A listener of the event "${type}" failed: ${textOf(error)}`);
}
