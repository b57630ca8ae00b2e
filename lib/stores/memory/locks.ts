import type { Clock } from '../../base/clock.js';
import { changeOf, lookAt } from '../../rules/documents/changes.js';
import type { ReadDocument } from '../../contract/port.js';
import { callsIn, entryOfCall, lineOf, seenCall } from '../../rules/entries/lines.js';
import type { Decision, LineChange, LockDocument } from '../../rules/lock/document.js';
import { readableLock } from '../../rules/lock/state.js';
import { RETENTION, TICK_RETENTION } from '../../contract/allowances.js';
import type { MemoryHints } from './hints.js';
import type { Standing } from '../../contract/line.js';
import type { MemoryDocuments } from './memory-documents.js';
import type { MemoryEntries } from './memory-entries.js';

/** The locks in this memory. Answers at once. */
export class MemoryLocks {
  constructor(
    private readonly documents: MemoryDocuments,
    private readonly entries: MemoryEntries,
    private readonly hints: MemoryHints,
    private readonly clock: Clock,
  ) {}

  /** Applies the decision of a rule to a lock. */
  decide<T>(
    name: string,
    decide: (document: LockDocument | undefined, now: number, standing: readonly Standing[]) => Decision<T>,
  ): T {
    // Its lease may end between the look and the write, which the next look finds.
    for (;;) {
      const { now, documents } = this.documents.look([name]);
      const look = lookAt(documents[0], now, this.clock.monotonic());
      const standing = callsIn(this.entries.look(lineOf(name)));
      const { answer, change, hint, first, over = [] } = decide(look.document, now, standing);
      if (first !== undefined) {
        this.#inLine(name, first, now);
        continue;
      }
      if (change === undefined) return answer;
      if (!this.documents.set(changeOf(name, look, change, now).change)) continue;
      for (const call of over) this.entries.remove(seenCall(name, call));
      if (hint !== undefined) this.hints.send(hint.process, hint.token);
      return answer;
    }
  }

  #inLine(name: string, { enters, leaves }: LineChange, now: number): void {
    if (enters !== undefined) this.entries.set(entryOfCall(name, enters, now));
    if (leaves !== undefined) this.entries.remove(seenCall(name, leaves));
  }
}

/** How long a lock is remembered after it was free or changed, ms. */
export const retentionOf = (read: ReadDocument): number =>
  readableLock(read).starts.size === 0 ? RETENTION : TICK_RETENTION;
