import { beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { AcquireRequest } from '../../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../../lib/contract/lease-ref.js';
import { DocumentLockStore } from '../../../lib/rules/documents/document-lock-store.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { OpenDocuments } from './support/open-documents.js';

const HOUR = 3_600_000;

/** A place that counts its calls, and says what each was for. */
class CountedDocuments extends OpenDocuments {
  readonly calls: string[] = [];

  override read: OpenDocuments['read'] = (names) => {
    this.calls.push(`read ${names.length}`);
    return super.read(names);
  };

  override write: OpenDocuments['write'] = (changes) => {
    this.calls.push(`write ${changes.length}`);
    return super.write(changes);
  };

  override renew: OpenDocuments['renew'] = (renewals) => {
    this.calls.push(`renew ${renewals.length}`);
    return super.renew(renewals);
  };
}

let place: CountedDocuments;
let clock: ManualClock;

beforeEach(() => {
  clock = new ManualClock();
  place = new CountedDocuments(clock);
});

const instance = (): DocumentLockStore => new DocumentLockStore(place, { clock });

const request = (name: string, fields: Partial<AcquireRequest> = {}): AcquireRequest => ({
  name,
  token: randomUUID(),
  ttl: HOUR,
  holder: 'host:1:abc',
  ...fields,
});

async function take(store: DocumentLockStore, name: string, fields = {}): Promise<LeaseRef> {
  const asked = request(name, fields);
  const result = await store.acquire(asked);
  if (!result.acquired) throw new Error(`${name} is taken: ${result.reason}`);
  return { ...asked, fencingToken: result.fencingToken };
}

/** The calls that something takes. */
async function callsOf(work: () => Promise<unknown>): Promise<string[]> {
  place.calls.length = 0;
  await work();
  return place.calls.slice();
}

const many = (count: number): string[] => Array.from({ length: count }, (_, i) => `lock-${i}`);

describe('who had a lock last', () => {
  test('takes it again and gives it back by one write each', async () => {
    const store = instance();
    await store.release(await take(store, 'a'));
    for (let tick = 1; tick < 4; tick++)
      expect(await callsOf(async () => store.release(await take(store, 'a', { job: 'job', tick })))).toEqual([
        'write 1',
        'write 1',
      ]);
  });

  test('gets fencing tokens that follow the clock of the place, and never run ahead of it', async () => {
    const store = instance();
    await store.release(await take(store, 'a'));
    for (let i = 0; i < 5; i++) {
      await clock.advance(10_000);
      const lease = await take(store, 'a');
      const behind = clock.now() - lease.fencingToken / 1_000;
      expect(behind).toBeGreaterThanOrEqual(0);
      expect(behind).toBeLessThan(100);
      await store.release(lease);
    }
  });

  test('reads once in a minute, as clocks drift', async () => {
    const store = instance();
    await store.release(await take(store, 'a'));
    await clock.advance(60_001);
    expect(await callsOf(() => take(store, 'a'))).toEqual(['read 1', 'write 1']);
  });

  test('writes at once after hours if it has read any lock within the last minute, and its fencing token tells the time', async () => {
    const store = instance();
    await store.release(await take(store, 'hourly'));
    await clock.advance(HOUR);
    await store.acquire(request('another'));
    let lease: LeaseRef | undefined;
    expect(await callsOf(async () => (lease = await take(store, 'hourly')))).toEqual(['write 1']);
    const behind = clock.now() - (lease?.fencingToken ?? 0) / 1_000;
    expect(behind).toBeGreaterThanOrEqual(0);
    expect(behind).toBeLessThan(100);
  });

  test('is told if its lease has run out', async () => {
    const store = instance();
    const lease = await take(store, 'a', { ttl: 1_000 });
    await clock.advance(1_000);
    expect(await store.release(lease)).toEqual({ released: false, reason: 'expired' });
    expect(await store.acquire(request('a'))).toMatchObject({ acquired: true });
  });

  test('is told if another one has it by now, and is in the way of no renewal of that one', async () => {
    const [store, other] = [instance(), instance()];
    const lease = await take(store, 'a', { ttl: 1_000 });
    await clock.advance(1_000);
    await take(other, 'a');
    const before = place.rows.get('a');
    expect(await store.release(lease)).toEqual({ released: false, reason: 'taken' });
    // The row is as it was, its version, too.
    expect(place.rows.get('a')).toEqual(before);
  });

  test('is refused by a read, never by its guess', async () => {
    const [store, other] = [instance(), instance()];
    const lease = await take(store, 'a');
    place.rows.clear();
    await take(other, 'b');
    expect(await callsOf(() => store.acquire(request('a')))).toEqual(['read 1', 'write 1']);
    expect(await store.release(lease)).toEqual({ released: false, reason: 'taken' });
  });

  test('gives back a lease that was renewed for longer than it lived at first', async () => {
    const store = instance();
    const lease = await take(store, 'a', { ttl: 1_000 });
    for (let beat = 0; beat < 5; beat++) {
      await clock.advance(700);
      expect(await callsOf(() => store.extend([lease]))).toEqual(['renew 1']);
    }
    expect(await callsOf(() => store.release(lease))).toEqual(['write 1']);
  });
});

test('instances that take turns guess no more that the lock is free: three calls each', async () => {
  const stores = [instance(), instance()];
  for (const store of [...stores, ...stores]) await store.release(await take(store, 'a'));
  for (const store of [...stores, ...stores])
    expect(await callsOf(async () => store.release(await take(store, 'a')))).toEqual([
      'read 1',
      'write 1',
      'write 1',
    ]);
});

test('what a process knows of locks is bounded: by names that are made up per call it forgets the others', async () => {
  const store = instance();
  await store.release(await take(store, 'a'));
  await Promise.all(many(9_999).map((name) => take(store, name)));
  expect(await callsOf(async () => store.release(await take(store, 'a')))).toEqual(['write 1', 'write 1']);
  await take(store, 'one more');
  expect(await callsOf(() => take(store, 'a'))).toEqual(['read 1', 'write 1']);
});

describe('calls of one turn', () => {
  test('take 200 free locks by one read, and a few at a time', async () => {
    const store = instance();
    const calls = await callsOf(() => Promise.all(many(200).map((name) => take(store, name))));
    expect(calls).toEqual(['read 200', ...Array.from({ length: 8 }, () => 'write 25')]);
  });

  test('read 250 locks at once at most', async () => {
    const store = instance();
    await Promise.all(many(501).map((name) => take(store, name)));
    const other = instance();
    const calls = await callsOf(() => Promise.all(many(501).map((name) => other.acquire(request(name)))));
    expect(calls).toEqual(['read 250', 'read 250', 'read 1']);
  });

  test('are refused 200 taken locks by one read', async () => {
    const store = instance();
    await Promise.all(many(200).map((name) => take(store, name)));
    const other = instance();
    const calls = await callsOf(() => Promise.all(many(200).map((name) => other.acquire(request(name)))));
    expect(calls).toEqual(['read 200']);
  });

  test('share the full hour with another instance, without many calls in vain', async () => {
    const stores = [instance(), instance()];
    const calls = await callsOf(async () => {
      const results = await Promise.all(
        stores.flatMap((store) => many(200).map((name) => store.acquire(request(name)))),
      );
      expect(results.filter(({ acquired }) => acquired)).toHaveLength(200);
    });
    expect(calls.length).toBeLessThan(40);
  });

  test('at one lock are judged by one look, each by its own request', async () => {
    const store = instance();
    const calls = await callsOf(async () => {
      const results = await Promise.all(Array.from({ length: 40 }, () => store.acquire(request('a'))));
      expect(results.filter(({ acquired }) => acquired)).toHaveLength(1);
    });
    expect(calls).toEqual(['read 1', 'write 1', 'read 1']);
  });

  test('renew a thousand leases by one call', async () => {
    const store = instance();
    const leases = await Promise.all(many(1_000).map((name) => take(store, name)));
    const calls = await callsOf(async () => {
      expect((await store.extend(leases)).every(({ held }) => held)).toBe(true);
    });
    expect(calls).toEqual(['renew 1000']);
  });
});

test('calls for one lock take effect in the order in which they were made', async () => {
  const [store, other] = [instance(), instance()];
  const lease = await take(other, 'a');
  const [renewed, released, late, next] = await Promise.all([
    store.extend([lease]),
    store.release(lease),
    store.extend([lease]),
    store.acquire(request('a')),
  ]);
  expect(renewed).toEqual([{ held: true }]);
  expect(released).toEqual({ released: true });
  expect(late).toEqual([{ held: false, reason: 'expired' }]);
  expect(next).toMatchObject({ acquired: true });
});

test('a call is judged by what is read after it was made, not by a look that was under way', async () => {
  const [store, other] = [instance(), instance()];
  const lease = await take(other, 'a');
  const { read } = place;
  let answer = (): void => undefined;
  const isOpen = new Promise<void>((resolve) => (answer = resolve));
  place.read = async (names) => {
    const found = await read(names);
    await isOpen;
    return found;
  };
  const early = store.acquire(request('a'));
  await new Promise((resolve) => setImmediate(resolve));
  place.read = read;
  await other.release(lease);
  const late = store.acquire(request('a'));
  answer();
  expect(await early).toMatchObject({ acquired: false, reason: 'held' });
  expect(await late).toMatchObject({ acquired: true });
});
