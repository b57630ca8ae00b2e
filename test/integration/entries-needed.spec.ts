import 'reflect-metadata';
import { afterEach, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { systemClock } from '../../lib/base/clock.js';
import { LeaderElection, SchedulerLock } from '../../lib/index.js';
import { RememberingLockStore } from '../../lib/rules/documents/remembering-lock-store.js';
import { MemoryDocuments } from '../../lib/stores/memory/memory-documents.js';
import { MemoryEntries } from '../../lib/stores/memory/memory-entries.js';
import { closeApps, startApp, startFailure } from './app.js';

afterEach(closeApps);

/** A database without a table for entries. */
function withoutEntries() {
  const entries = Object.assign(new MemoryEntries(systemClock), {
    init: async () => 'There is no such table.',
  });
  return {
    store: new RememberingLockStore(new MemoryDocuments(systemClock), entries),
    insight: false as const,
  };
}

@Injectable()
class Patient {
  @SchedulerLock({ wait: '1m' })
  async send(): Promise<void> {}
}

@Injectable()
@LeaderElection('feed')
class Feed {
  onElected(): void {
    this.onRevoked();
  }
  onRevoked(): void {}
}

@Injectable()
class Plain {
  @SchedulerLock()
  async send(): Promise<void> {}
}

test.each([
  ['calls that wait', Patient],
  ['an election', Feed],
])('%s, where no call can stand in line, stop the start', async (_what, provider) => {
  expect(await startFailure(startApp([provider], withoutEntries()))).toContain(
    'store: calls can neither wait in line nor be queued. There is no such table.',
  );
});

test('calls that do not wait need no line', async () => {
  const { logs } = await startApp([Plain], withoutEntries());
  expect(logs.own.filter((line) => !line.startsWith('log'))).toEqual([]);
});
