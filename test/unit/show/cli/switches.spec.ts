import { beforeEach, describe, expect, test } from '@jest/globals';
import { MemoryLockStore } from '../../../../lib/stores/memory/memory-lock.store.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { NOW } from './support/fleet.js';
import { TestShell } from './support/shell.js';

let store: MemoryLockStore;
let shell: TestShell;
beforeEach(() => {
  store = new MemoryLockStore({ clock: new ManualClock(NOW) });
  shell = new TestShell(store);
});

test('`break` takes the fencing token that `locks` shows, and `locks` shows none of a lock that is free', async () => {
  for (const name of ['feed', 'over'])
    await store.acquire({ name, token: name, ttl: 60_000, holder: 'api-1', job: name });
  const [over] = await store.inspect(['over']);
  await store.release({
    name: 'over',
    token: 'over',
    ttl: 60_000,
    holder: 'api-1',
    fencingToken: over?.fencingToken ?? 0,
  });
  expect(await shell.run('locks')).toBe(0);
  const [heads = '', feed = '', free = ''] = shell.lines;
  const column = heads.indexOf('FENCING');
  expect(free.slice(column)).toMatch(/^ +api-1$/);
  const shown = /^\d+/.exec(feed.slice(column))?.[0] ?? '';
  shell.out = '';
  expect(await shell.run('break', 'feed', '--fencing', shown, '--reason', 'it hangs')).toBe(0);
  expect(shell.out).toMatch(/^Ended the lease of api-1\./);
  expect(await store.inspect(['feed'])).toMatchObject([{ state: 'free' }]);
});

describe.each([33, -33])('with a clock that is wrong by %i days', (days) => {
  test('how long a pause still lasts is told by the clock of the store', async () => {
    shell.now = NOW + days * 86_400_000;
    expect(await shell.inBerlin('pause', '--lock', 'feed', '--for', '1h', '--reason', 'migration')).toBe(0);
    expect(shell.out).toMatch(/is paused by anna@laptop until 2026-11-22 13:20:31\+01:00\.\n$/);
    shell.out = '';
    expect(await shell.inBerlin('pause', '--lock', 'feed', '--reason', 'mine')).toBe(1);
    expect(shell.out).toContain('since 2026-11-22 12:20:31+01:00, for 1 h more. Resume it first.');
    shell.out = '';
    expect(await shell.inBerlin('resume', '--lock', 'feed')).toBe(0);
    expect(shell.out).toContain('for 1 h more.');
  });
});
