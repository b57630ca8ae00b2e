import type {
  Alarm,
  Beat,
  BeatResult,
  HistoryEntry,
  HistoryQuery,
  HistoryStore,
  InstanceRecord,
  Interruption,
  Miss,
  MissResult,
} from '../history-store.js';
import type { SqlDialect } from './dialect.js';
import { refusal } from './entries-table.js';
import type { LimitedReads } from './limited-reads.js';

/** A history whose reads for people are limited. */
export class LimitedHistory implements HistoryStore {
  constructor(
    private readonly history: HistoryStore,
    private readonly dialect: Pick<SqlDialect<unknown>, 'entries'>,
    private readonly reads: LimitedReads,
  ) {}

  async init(): Promise<string | undefined> {
    return this.history.init?.();
  }

  interrupted(run: Interruption): Promise<void> {
    return this.history.interrupted(run);
  }

  entries(query: HistoryQuery): Promise<HistoryEntry[]> {
    return this.#read(() => this.history.entries(query));
  }

  miss(miss: Miss): Promise<MissResult> {
    return this.history.miss(miss);
  }

  told(alarm: Alarm): Promise<boolean> {
    return this.history.told(alarm);
  }

  beat(beat: Beat): Promise<BeatResult> {
    return this.history.beat(beat);
  }

  instances(onUnreadable?: () => void): Promise<InstanceRecord[]> {
    return this.#read(() => this.history.instances(onUnreadable));
  }

  async #read<T>(read: () => Promise<T>): Promise<T> {
    const { entries } = this.dialect;
    if (entries.unusable !== undefined) throw refusal(entries.unusable);
    return this.reads.within(entries.table, read);
  }
}
