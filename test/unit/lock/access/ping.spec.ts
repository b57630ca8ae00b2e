import { beforeEach, describe, expect, it } from '@jest/globals';
import { ping, type PingResult } from '../../../../lib/lock/access/ping.js';
import type { LockStore } from '../../../../lib/contract/lock-store.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { ScriptedStore } from '../scripted-store.js';
import { locksOnly } from '../../../support/locks-only.js';

let clock: ManualClock;
let store: ScriptedStore;
beforeEach(() => {
  clock = new ManualClock();
  store = new ScriptedStore(clock);
});

const ask = (of: LockStore = store, opened = Promise.resolve()): Promise<PingResult> =>
  ping(of, { opened, name: 'ping', clock, limit: 2_000 });

const never = (): Promise<never> => new Promise(() => undefined);
const label = 'ScriptedStore';
const rejects = (thrown: unknown) => () => Promise.reject(thrown);

describe('a ping', () => {
  it('takes as long as the answer', async () => {
    store.next('release', async (carryOut) => {
      await clock.advance(40);
      return carryOut();
    });
    expect(await ask()).toEqual({ ok: true, latency: 40, store: label });
    expect(store.calls.map(({ operation, names }) => [operation, names])).toEqual([['release', ['ping']]]);
  });

  it('is given up after its limit, also where the store is not open yet', async () => {
    const error = expect.objectContaining({ message: 'The store did not answer within 2000 ms.' });
    store.always('release', never);
    for (const result of [ask(), ask(store, never())]) {
      await clock.advance(2_000);
      expect(await result).toEqual({ ok: false, error, store: label });
    }
  });

  it.each<[what: string, release: () => unknown, message: string]>([
    ['rejects', () => Promise.reject(new Error('away')), 'away'],
    [
      'throws',
      () => {
        throw new Error('away');
      },
      'away',
    ],
    ['rejects with no error', rejects('gone'), 'Have its methods reject with an Error'],
    ['rejects with nothing', rejects(undefined), label],
  ])('never rejects: a store that %s', async (_what, release, message) => {
    const broken = { ...locksOnly, label, release } as unknown as LockStore;
    const error = expect.objectContaining({ message: expect.stringContaining(message) });
    expect(await ask(broken)).toEqual({ ok: false, error, store: label });
    expect(clock.pending).toBe(0);
  });
});
