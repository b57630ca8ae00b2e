import { beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { AcquireRequest } from '../../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../../lib/contract/lease-ref.js';
import { DocumentLockStore } from '../../../lib/rules/documents/document-lock-store.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { OpenDocuments } from './support/open-documents.js';

const HOUR = 3_600_000;

let place: OpenDocuments;
let clock: ManualClock;
let store: DocumentLockStore;

beforeEach(() => {
  clock = new ManualClock();
  place = new OpenDocuments(clock);
  store = new DocumentLockStore(place, { clock });
});

const request = (fields: Partial<AcquireRequest> = {}): AcquireRequest => ({
  name: 'nightly',
  token: randomUUID(),
  ttl: HOUR,
  holder: 'host:1:abc',
  ...fields,
});

async function take(fields: Partial<AcquireRequest> = {}): Promise<LeaseRef> {
  const asked = request(fields);
  const result = await store.acquire(asked);
  if (!result.acquired) throw new Error(`it is taken: ${result.reason}`);
  return { ...asked, fencingToken: result.fencingToken };
}

/** Another program takes the lock, as ShedLock does: it knows nothing of our version and state. */
function shedLock(ttl: number, by = 'shedlock-host'): void {
  const row = place.rows.get('nightly') ?? { version: '', by, state: '', until: 0, since: 0 };
  place.rows.set('nightly', { ...row, by, until: clock.now() + ttl, since: clock.now() });
}

describe('a lock that another program has', () => {
  test('is refused until its end, by the name of that program', async () => {
    shedLock(HOUR);
    expect(await store.acquire(request())).toEqual({
      acquired: false,
      reason: 'held',
      holder: 'shedlock-host',
      expiresIn: HOUR,
    });
    await clock.advance(HOUR);
    expect(await store.acquire(request())).toMatchObject({ acquired: true });
  });

  test('without an end has none', async () => {
    shedLock(Infinity);
    const refusal = { acquired: false, reason: 'held', holder: 'shedlock-host' };
    expect(await store.acquire(request())).toEqual(refusal);
  });

  test('has no lease of ours: it is neither renewed, nor restored, nor given back', async () => {
    const lease = await take({ ttl: 1_000 });
    await clock.advance(1_000);
    shedLock(HOUR);
    const taken = { held: false, reason: 'taken', holder: 'shedlock-host' };
    expect(await store.extend([lease])).toEqual([taken]);
    expect(await store.release(lease)).toEqual({ released: false, reason: 'taken' });
    expect(await store.acquire({ ...request(), token: lease.token })).toMatchObject({ reason: 'held' });
    await clock.advance(HOUR);
    // There is no telling when that program had it.
    expect(await store.extend([lease])).toEqual([{ held: false, reason: 'expired' }]);
    expect(await store.release(lease)).toEqual({ released: false, reason: 'expired' });
  });

  test('gives back the start that was abandoned before', async () => {
    const start = { job: 'job', tick: 1 };
    const lease = await take({ ...start, ttl: 1_000 });
    await clock.advance(1_000);
    shedLock(HOUR);
    expect(await store.release(lease, { outcome: 'abandoned' })).toEqual({
      released: false,
      reason: 'taken',
    });
    expect(await store.inspect(['nightly'])).toMatchObject([{ state: 'held', holder: 'shedlock-host' }]);
    await clock.advance(HOUR);
    expect(await store.acquire(request(start))).toMatchObject({ acquired: true, attempt: 1 });
  });

  test('is not written over if it takes it again by the same name before the write', async () => {
    const lease = await take({ ttl: 1_000, job: 'job', tick: 1 });
    await clock.advance(1_000);
    shedLock(1_000);
    await clock.advance(1_000);
    const write = place.write.bind(place);
    place.write = async (changes) => {
      if (changes[0]?.end !== undefined) shedLock(HOUR);
      return write(changes);
    };
    expect(await store.acquire(request({ job: 'job', tick: 2 }))).toMatchObject({
      acquired: false,
      reason: 'held',
      tick: 1,
    });
    expect(lease.fencingToken).toBeGreaterThan(0);
  });
});

test('what we knew of a lock goes on after another program had it', async () => {
  const lease = await take({ job: 'job', tick: 5 });
  await store.release(lease);
  shedLock(1_000);
  expect(await store.inspect(['nightly'])).toEqual([
    {
      name: 'nightly',
      time: clock.now(),
      state: 'held',
      holder: 'shedlock-host',
      since: clock.now(),
      expiresIn: 1_000,
      fencingToken: lease.fencingToken,
      job: 'job',
      jobs: [{ job: 'job', tick: 5, attempt: 1, outcome: 'completed' }],
    },
  ]);
  await clock.advance(1_000);
  expect(await store.acquire(request({ job: 'job', tick: 5 }))).toMatchObject({ reason: 'already-ran' });
  const next = await take({ job: 'job', tick: 6, history: true });
  expect(next.fencingToken).toBeGreaterThan(lease.fencingToken);
});

test('a guess is found out where another program has the lock, and leaves the lock to it', async () => {
  await store.release(await take());
  shedLock(HOUR);
  expect(await store.acquire(request())).toMatchObject({ reason: 'held', holder: 'shedlock-host' });
  const lease = await take({ name: 'other' });
  place.rows.set('other', { ...(place.rows.get('other') ?? raise()), by: 'shedlock-host' });
  expect(await store.release(lease)).toEqual({ released: false, reason: 'taken' });
});

function raise(): never {
  throw new Error('There should be a row');
}

test('what a lease writes fits the column of ShedLock, however long the id of its instance is and however it ends', async () => {
  const written: string[] = [];
  const note = (): unknown => written.push(place.rows.get('nightly')?.by ?? '');
  for (const holder of ['x'.repeat(300), 'é'.repeat(300)])
    for (const outcome of ['completed', 'timed-out', 'abandoned'] as const) {
      const lease = await take({ holder });
      note();
      await store.release(lease, { outcome });
      note();
    }
  // As much of the id as there is room for: people look for their instance there.
  expect(Math.max(...written.map(({ length }) => length))).toBe(255);
});

test('a row says whose lease it is, and how that has ended: all versions write it alike, and so know each other from strangers', async () => {
  const { token, fencingToken, ...lease } = await take();
  const by = `host:1:abc/${token}/${fencingToken}`;
  expect(place.rows.get('nightly')?.by).toBe(by);
  await store.release({ ...lease, token, fencingToken }, { outcome: 'failed' });
  expect(place.rows.get('nightly')?.by).toBe(`${by}/failed`);
});
