import type { Clock } from '../../../lib/index.js';
import type {
  BeatResult,
  HistoryEntry,
  HistoryStore,
  InstanceRecord,
  MissResult,
} from '../../../lib/contract/history-store.js';

/** A history in which no instance has ever started anything: each tick that somebody asks about was missed. */
export class EmptyHistory implements HistoryStore {
  /** What beats fail with. */
  failure: Error | undefined;

  constructor(private readonly clock: Clock) {}

  entries(): Promise<HistoryEntry[]> {
    return Promise.resolve([]);
  }

  interrupted(): Promise<void> {
    return Promise.resolve();
  }

  miss(): Promise<MissResult> {
    return Promise.resolve({ missed: true });
  }

  told(): Promise<boolean> {
    return Promise.resolve(true);
  }

  beat(): Promise<BeatResult> {
    return this.failure === undefined
      ? Promise.resolve({ time: this.clock.now(), known: true })
      : Promise.reject(this.failure);
  }

  instances(): Promise<InstanceRecord[]> {
    return Promise.resolve([]);
  }
}
