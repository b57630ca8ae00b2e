import { Injectable, Logger } from '@nestjs/common';
import type { Hears, SchedulerLockEvent } from './lease/events.js';

type EventOf<T extends SchedulerLockEvent['type']> = Extract<SchedulerLockEvent, { type: T }>;

/** Called for each event. What it throws, or rejects with, is logged and changes nothing. */
export type SchedulerLockListener<E extends SchedulerLockEvent = SchedulerLockEvent> = (
  event: E,
) => void | Promise<void>;

interface Listening {
  readonly listener: SchedulerLockListener;
  readonly wants: Hears;
}

/**
 * Every outcome of every lock, once each, as it happens. Inject it to feed metrics, alerts or an audit log.
 *
 * Listeners are called synchronously, in the order in which they were added: be quick, and do not block.
 */
@Injectable()
export class SchedulerLockEvents {
  readonly #listeners = new Set<Listening>();
  readonly #logger = new Logger('SchedulerLock');

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
    return this.listen(second as SchedulerLockListener, (type) => type === first);
  }

  /**
   * Listens to events of the types that it wants now.
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
      // emit() says what is wrong.
      return true;
    }
  };

  /** @internal */
  readonly emit = (event: SchedulerLockEvent): void => {
    for (const { listener, wants } of this.#listeners) {
      try {
        if (!wants(event.type)) continue;
        const result: unknown = listener(event);
        if (result instanceof Promise) result.catch((error: unknown) => this.#failed(event, error));
      } catch (error) {
        this.#failed(event, error);
      }
    }
  };

  #failed({ type }: SchedulerLockEvent, error: unknown): void {
    this.#logger.error(
      `A listener of the event "${type}" failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
  }
}
