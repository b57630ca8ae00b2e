import { beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { nextTurn, systemClock } from '../../../lib/base/clock.js';
import type { DocumentChange } from '../../../lib/index.js';
import type { AcquireRequest, AcquireResult } from '../../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../../lib/contract/lease-ref.js';
import { LockStateError, SchedulerLockConfigError, StoreUnavailableError } from '../../../lib/base/errors.js';
import { DocumentLockStore } from '../../../lib/rules/documents/document-lock-store.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { OpenDocuments } from './support/open-documents.js';

const HOUR = 3_600_000;
const AWAY = new StoreUnavailableError('The place is away.', { outcome: 'unknown' });

let place: OpenDocuments;
let store: DocumentLockStore;

beforeEach(() => {
  const clock = new ManualClock();
  place = new OpenDocuments(clock);
  store = new DocumentLockStore(place, { clock: { ...systemClock, monotonic: () => clock.monotonic() } });
});

const request = (name = 'a', fields: Partial<AcquireRequest> = {}): AcquireRequest => ({
  name,
  token: randomUUID(),
  ttl: HOUR,
  holder: 'host:1:abc',
  ...fields,
});

async function outcome(call: Promise<unknown>): Promise<unknown> {
  return call.catch((error: unknown) => error);
}

test('a place that is away fails every call, and the next ones ask it again', async () => {
  const { read, write, renew } = place;
  Object.assign(place, { read: () => Promise.reject(AWAY), renew: () => Promise.reject(AWAY) });
  const lease = { ...request(), fencingToken: 1 };
  const calls = [store.acquire(request()), store.release(lease), store.acquire(request('b'))];
  expect(await Promise.all(calls.map(outcome))).toEqual([AWAY, AWAY, AWAY]);
  expect(await outcome(store.extend([lease]))).toBe(AWAY);
  Object.assign(place, { read, renew, write: () => Promise.reject(AWAY) });
  expect(await outcome(store.acquire(request()))).toBe(AWAY);
  Object.assign(place, { write });
  expect(await store.acquire(request())).toMatchObject({ acquired: true });
});

test('a renewal that no document answers fails alone', async () => {
  const [whole, broken] = [request('whole'), request('broken')];
  const { fencingToken } = (await store.acquire(whole)) as { fencingToken: number };
  const other = (await store.acquire(broken)) as { fencingToken: number };
  const row = place.rows.get('broken');
  if (row !== undefined) place.rows.set('broken', { ...row, by: 'x', state: '["not ours"]' });
  const results = await store.extend([
    { ...broken, fencingToken: other.fencingToken },
    { ...whole, fencingToken },
  ]);
  expect(results).toEqual([{ held: null, error: expect.any(LockStateError) }, { held: true }]);
  expect(await store.inspect(['broken'])).toMatchObject([{ name: 'broken', state: 'held', holder: 'x' }]);
});

/** Somebody else is faster, and done: so many times another one has written each document, and left it free or as it was. */
function losing(times: number, wrote: () => void = () => undefined): void {
  const { write } = place;
  let left = times;
  place.write = async (changes) => {
    if (left === 0) return write.call(place, changes);
    left -= 1;
    wrote();
    for (const { name } of changes) {
      const row = place.rows.get(name) ?? { version: '', by: '', state: '', until: 0, since: 0 };
      const isOurs = row.version !== '';
      place.rows.set(name, { ...row, ...(isOurs ? { version: randomUUID() } : { by: randomUUID() }) });
    }
    return changes.map(() => false);
  };
}

test('an attempt that loses race after race for a lock that stays free gets it in the end', async () => {
  losing(12);
  expect(await store.acquire(request())).toMatchObject({ acquired: true });
});

test('so do releases, and renewals of a lease that was forgotten', async () => {
  const held = request();
  const { fencingToken } = (await store.acquire(held)) as { fencingToken: number };
  losing(12);
  expect(await store.release({ ...held, fencingToken })).toEqual({ released: true });
  losing(12);
  const newer = { ...request(), fencingToken: Number.MAX_SAFE_INTEGER };
  expect(await store.extend([newer])).toEqual([{ held: true, restored: true }]);
});

test('a call that loses race after race is tried for half as long as its caller waits', async () => {
  const slowly = (): void => place.clock.block(600);
  await store.acquire(request('a', { ttl: 1 }));
  await place.clock.advance(10);
  const forgotten = { ...request(), fencingToken: Number.MAX_SAFE_INTEGER };
  losing(3, slowly);
  await expect(store.extend([forgotten])).rejects.toThrow('changed again and again');
  losing(3, slowly);
  expect(await store.extend([forgotten], { limit: 10_000 })).toEqual([{ held: true, restored: true }]);
});

describe('a place that cannot tell whether it has written, as others have written since', () => {
  /** Writes, and lets others write before it answers. */
  function overtaking(others: () => unknown): void {
    const { write } = place;
    const overtaken = async (changes: readonly DocumentChange[]): Promise<undefined[]> => {
      place.write = write;
      await write.call(place, changes);
      await others();
      return changes.map(() => undefined);
    };
    Object.assign(place, { write: overtaken });
  }
  const unknown = { code: 'STORE_UNAVAILABLE', outcome: 'unknown' };
  const held = async (): Promise<LeaseRef> => {
    const asked = request();
    const { fencingToken } = (await store.acquire(asked)) as { fencingToken: number };
    return { ...asked, fencingToken };
  };

  test('does not make a release tell a lie', async () => {
    const lease = await held();
    const other = new DocumentLockStore(place);
    overtaking(() => other.acquire(request('a', { holder: 'host:2:def' })));
    expect(await outcome(store.release(lease))).toMatchObject(unknown);
    expect(await store.release(lease)).toEqual({ released: false, reason: 'taken' });
  });

  test('does not make it one that was certainly not carried out, if nobody tells more', async () => {
    const lease = await held();
    const away = new StoreUnavailableError('The place is away.', { outcome: 'not-applied' });
    overtaking(() => Object.assign(place, { read: () => Promise.reject(away) }));
    expect(await outcome(store.release(lease))).toMatchObject(unknown);
  });

  test('costs an attempt nothing: it finds its own grant', async () => {
    overtaking(() => undefined);
    expect(await store.acquire(request())).toMatchObject({ acquired: true });
    const refused = request('b');
    overtaking(() => place.rows.clear());
    expect(await store.acquire(refused)).toMatchObject({ acquired: true });
  });
});

test('an attempt that loses a race to a new holder is refused', async () => {
  const other = new DocumentLockStore(place);
  const { write } = place;
  place.write = async (changes) => {
    place.write = write;
    await other.acquire(request('a', { holder: 'host:2:def' }));
    return write.call(place, changes);
  };
  expect(await store.acquire(request())).toMatchObject({ reason: 'held', holder: 'host:2:def' });
});

describe('a lock that changes each time', () => {
  test('is held by whoever is faster; a lease that cannot be given back or renewed is not, and nothing is changed', async () => {
    const held = request('held');
    const { fencingToken } = (await store.acquire(held)) as { fencingToken: number };
    // Each race takes the place some time.
    losing(Infinity, () => place.clock.block(100));
    const unavailable = { code: 'STORE_UNAVAILABLE', outcome: 'not-applied' };
    expect(await outcome(store.acquire(request()))).toEqual({ acquired: false, reason: 'held' });
    expect(await outcome(store.release({ ...held, fencingToken }))).toMatchObject(unavailable);
    const lost = { ...request('held'), fencingToken: Number.MAX_SAFE_INTEGER };
    expect(await outcome(store.extend([lost]))).toMatchObject(unavailable);
  });

  test('holds up the other locks of its turn no longer than itself', async () => {
    const others = Array.from({ length: 30 }, (_, i) => `lock-${i}`);
    const { write } = place;
    place.write = async (changes) => {
      await place.clock.advance(10);
      const written = await write.call(
        place,
        changes.filter(({ name }) => name !== 'a'),
      );
      const names = changes.filter(({ name }) => name !== 'a').map(({ name }) => name);
      return changes.map(({ name }) => written[names.indexOf(name)] === true);
    };
    const results = await Promise.all([...others, 'a'].map((name) => outcome(store.acquire(request(name)))));
    expect(results.pop()).toBeInstanceOf(LockStateError);
    expect(results).toEqual(others.map(() => expect.objectContaining({ acquired: true })));
  });
});

test('a call that was given up is not sent any more', async () => {
  const told = { givenUp: false };
  const sent = new Promise<AcquireResult | Error>((settle) => {
    const asked = {
      answered: settle,
      failed: settle,
      get givenUp() {
        return told.givenUp;
      },
    };
    store.fastPort.acquire(request(), asked);
  });
  const read = place.read.bind(place);
  place.read = async (names) => {
    told.givenUp = true;
    return read(names);
  };
  expect(await sent).toMatchObject({ outcome: 'not-applied' });
  expect(place.rows.size).toBe(0);
});

test('a name that the place cannot keep is refused before it could fail a batch', async () => {
  Object.assign(place, {
    nameProblem: (name: string) => (name.length > 5 ? 'it is too long. Give a shorter name.' : undefined),
  });
  const results = await Promise.all([
    outcome(store.acquire(request('too long'))),
    store.acquire(request('a')),
  ]);
  expect(results[0]).toBeInstanceOf(SchedulerLockConfigError);
  expect(String(results[0])).toContain('the lock "too long": it is too long. Give a shorter name.');
  expect(results[1]).toMatchObject({ acquired: true });
});

test('there is no fencing token after the greatest one', async () => {
  const lease = { ...request(), fencingToken: Number.MAX_SAFE_INTEGER };
  expect(await store.extend([lease])).toEqual([{ held: true, restored: true }]);
  expect(await store.release(lease)).toEqual({ released: true });
  expect(await outcome(store.acquire(request()))).toBeInstanceOf(LockStateError);
});

describe('a call that was given up', () => {
  interface Asked {
    givenUp: boolean;
    readonly ended: Promise<AcquireResult | Error>;
  }

  /** Makes an attempt whose caller can give it up. */
  async function attempt(asks: AcquireRequest): Promise<Asked> {
    const told = { givenUp: false };
    const ended = new Promise<AcquireResult | Error>((settle) => {
      store.fastPort.acquire(asks, Object.assign(told, { answered: settle, failed: settle }));
    });
    await nextTurn();
    return Object.assign(told, { ended });
  }

  /** The place answers the next call when this is called. */
  function silence(method: 'read' | 'write'): () => void {
    const { read, write } = place;
    let answer!: () => void;
    const silent = new Promise<void>((resolve) => (answer = resolve));
    const heal = (): void => void Object.assign(place, { read, write });
    if (method === 'read')
      place.read = async (names) => {
        heal();
        await silent;
        return read.call(place, names);
      };
    else
      place.write = async (changes) => {
        heal();
        await silent;
        return write.call(place, changes);
      };
    return answer;
  }

  test.each(['read', 'write'] as const)(
    'holds up no later call of its lock, nor those that came meanwhile: no %s is answered, ever',
    async (method) => {
      silence(method);
      const silent = await attempt(request());
      const behind = await attempt(request());
      silent.givenUp = true;
      expect(await Promise.race([behind.ended, nextTurn()])).toBe(undefined);
      expect(await (await attempt(request())).ended).toMatchObject({ acquired: false, reason: 'held' });
      expect(await behind.ended).toMatchObject({ acquired: true });
    },
  );

  test('holds up those behind it until then: calls of a lock take effect in their order', async () => {
    const answer = silence('read');
    const first = await attempt(request());
    await place.clock.advance(100_000);
    const second = await attempt(request());
    expect(await Promise.race([second.ended, nextTurn()])).toBe(undefined);
    answer();
    expect(await first.ended).toMatchObject({ acquired: true });
    expect(await second.ended).toMatchObject({ acquired: false, reason: 'held' });
  });

  test('is not one whose turn has just come, though it has waited for long', async () => {
    const answer = silence('read');
    let again: Promise<unknown> | undefined;
    const first = new Promise<unknown>((failed) => {
      const answered = (result: AcquireResult): void => {
        again = store.acquire(request());
        failed(result);
      };
      store.fastPort.acquire(request(), { answered, failed, givenUp: false });
    });
    await nextTurn();
    const behind = store.acquire(request());
    await place.clock.advance(1_001);
    answer();
    expect(await first).toMatchObject({ acquired: true });
    expect(await again).toMatchObject({ acquired: false, reason: 'held' });
    await nextTurn();
    expect(await Promise.race([behind, nextTurn()])).toMatchObject({ acquired: false, reason: 'held' });
  });

  test('writes nothing of what is read later: its caller may have taken it back', async () => {
    const answer = silence('read');
    const asks = request();
    const silent = await attempt(asks);
    silent.givenUp = true;
    const lease = { ...asks, fencingToken: 0 };
    const expired = { released: false, reason: 'expired' };
    expect(await store.release(lease, { outcome: 'abandoned' })).toEqual(expired);
    answer();
    expect(await silent.ended).toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'not-applied' });
    expect(place.rows.size).toBe(0);
    expect(await store.acquire(request())).toMatchObject({ acquired: true });
  });

  test('is one without a caller of ours when it is too late for another try', async () => {
    const answer = silence('read');
    const silent = outcome(store.acquire(request()));
    await nextTurn();
    await place.clock.advance(11_001);
    expect(await store.acquire(request())).toMatchObject({ acquired: true });
    answer();
    expect(await silent).toMatchObject({ acquired: false, reason: 'held' });
  });
});

test('calls of one turn that a blocked event loop draws out never name a lock twice in one read or write', async () => {
  const names: string[][] = [];
  const { read } = place;
  place.read = (asked) => {
    if (asked !== 'all') names.push([...asked]);
    return read.call(place, asked);
  };
  const calls = [store.acquire(request())];
  await place.clock.advance(1_500);
  calls.push(store.acquire(request()));
  expect((await Promise.all(calls)).filter(({ acquired }) => acquired)).toHaveLength(1);
  for (const asked of names) expect(asked).toEqual([...new Set(asked)]);
});

test('a place that answers nonsense fails the call', async () => {
  const { read } = place;
  Object.assign(place, { read: () => Promise.resolve(undefined) });
  expect(await outcome(store.acquire(request()))).toBeInstanceOf(TypeError);
  Object.assign(place, { read, write: () => Promise.resolve(undefined), renew: () => Promise.resolve() });
  expect(await outcome(store.acquire(request()))).toBeInstanceOf(TypeError);
  const [{ held = true } = {}] = await store.extend([{ ...request(), fencingToken: 1 }]);
  expect(held).toBe(null);
});

test('a document that somebody else has locked is told so, with the error that the place has for it', async () => {
  await store.acquire(request());
  place.write = async (changes) => {
    await place.clock.advance(100);
    return changes.map(() => false);
  };
  place.renew = async (renewals) => renewals.map(() => false);
  const lost = { ...request(), fencingToken: Number.MAX_SAFE_INTEGER };
  expect(await outcome(store.release(lost))).toMatchObject({ code: 'LOCK_STATE', lock: 'a' });
  expect(await store.extend([lost])).toMatchObject([{ held: null, error: { code: 'LOCK_STATE' } }]);
  // Free or not, nobody knows: an attempt is not refused as if somebody had it.
  expect(await outcome(store.acquire(request('free')))).toMatchObject({ code: 'LOCK_STATE', lock: 'free' });
});
