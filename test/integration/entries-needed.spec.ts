import 'reflect-metadata';
import { afterEach, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { systemClock } from '../../lib/base/clock.js';
import {
  LeaderElection,
  type LockStore,
  MemoryLockStore,
  SchedulerLock,
  SchedulerLockService,
} from '../../lib/index.js';
import { DocumentLockStore } from '../../lib/rules/documents/document-lock-store.js';
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
    store: new DocumentLockStore(new MemoryDocuments(systemClock), { entries }),
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

test.each([
  [
    'queuedCalls',
    { queuedCalls: undefined },
    'and has no `queuedCalls`. Add it, or declare `queuedCalls: false`.',
  ],
  ['histories', { history: undefined }, 'and has no `history`. Add it, or declare `histories: false`.'],
  [
    'queuedCalls',
    { keeps: { lines: false, queuedCalls: true, histories: true } },
    'and has no lines, in which those who run them wait. Add it, or declare `queuedCalls: false`.',
  ],
])('a store that declares %s, and does not keep them, stops the start', async (kept, lacks, why) => {
  const store = Object.assign(new MemoryLockStore(), lacks) as LockStore;
  expect(await startFailure(startApp([Plain], { store }))).toMatch(
    new RegExp(`store: .* declares that it keeps ${kept}, ${why.replaceAll('.', '\\.')}`),
  );
});

test('a store that declares nothing stops the start', async () => {
  const store = Object.assign(new MemoryLockStore(), { keeps: undefined }) as unknown as LockStore;
  expect(await startFailure(startApp([Plain], { store }))).toContain('does not declare what it `keeps`');
});

test('a store that keeps locks only needs nothing else, and says so to whoever asks for more', async () => {
  const store = new DocumentLockStore(new MemoryDocuments(systemClock));
  const app = await startApp([Plain], { store });
  await app.get(Plain).send();
  const locks = app.get(SchedulerLockService);
  expect(await locks.inspect()).toMatchObject([{ name: 'Plain.send', state: 'free' }]);
  await expect(locks.redeliver('Plain.send')).rejects.toThrow('it keeps locks only');
});
