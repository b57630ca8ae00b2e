import { describe, expect, it } from '@jest/globals';
import { SchedulerLockConfigError } from '../../../../lib/base/errors.js';
import type { LockStore } from '../../../../lib/contract/lock-store.js';
import { LockRunner } from '../../../../lib/lock/lock-runner.js';
import type { SchedulerLockEvent } from '../../../../lib/contract/events/events.js';
import { MemoryLockStore } from '../../../../lib/stores/memory/memory-lock.store.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { Harness, SETTINGS } from '../harness.js';
import { answers, silence } from '../scripted-store.js';
import { LocksOnly, locksOnly } from '../../../support/locks-only.js';

/** A runner over a store of somebody's own, which does not keep to its types. */
function over(odd: Partial<Record<keyof LockStore, unknown>>) {
  const clock = new ManualClock();
  const memory = new MemoryLockStore({ clock });
  const store = {
    ...locksOnly,
    acquire: memory.acquire.bind(memory),
    extend: memory.extend.bind(memory),
    release: memory.release.bind(memory),
    ...odd,
  } as LockStore;
  const events: SchedulerLockEvent[] = [];
  const runner = new LockRunner(store, 'here', clock, (event) => events.push(event), SETTINGS.storeTimeout);
  const call = { name: 'report', job: undefined, settings: SETTINGS, kind: 'by-hand' as const };
  return { clock, events, run: () => runner.run(call, () => 'ran') };
}

describe('a store that cannot keep a name', () => {
  it.each(['skip', 'run'] as const)(
    'has the call skipped as invalid-name with onStoreError: %s, and is not away',
    async (onStoreError) => {
      const app = new Harness();
      const error = new SchedulerLockConfigError(['it is too long.']);
      app.store.acquire = () => Promise.reject(error);
      const job = await app.start('report', { onStoreError });
      expect(job.result).toEqual({ ran: false, reason: 'invalid-name', error });
      expect(job.began).toBe(false);
      expect(app.events).toMatchObject([{ type: 'skipped', reason: 'invalid-name', error }]);
      // Nor is anything taken back.
      await app.clock.advance(SETTINGS.ttl);
      expect(app.store.calls.filter(({ operation }) => operation === 'release')).toEqual([]);
    },
  );
});

const GRANT = { acquired: true, fencingToken: 1 };
const REFUSAL = { acquired: false, reason: 'held' };
const LONG = 'x'.repeat(1_000);

describe('a store that answers an attempt with', () => {
  it.each([
    ['nothing', undefined, ' = undefined, expected an object'],
    ['null', null, ' = null, expected an object'],
    ['a text', LONG, ` = "${LONG.slice(0, 59)}… (string), expected an object`],
    ['no verdict', {}, '.acquired = undefined, expected true or false'],
    ['a number for a verdict', { ...GRANT, acquired: 1 }, '.acquired = 1 (number), expected true or false'],
    ['no fencing token', { acquired: true }, '.fencingToken = undefined, expected a safe integer above 0'],
    [
      'a BIGINT as pg gives it',
      { ...GRANT, fencingToken: '12' },
      '.fencingToken = "12" (string), expected a safe integer above 0',
    ],
    [
      'a BIGINT of JavaScript',
      { ...GRANT, fencingToken: 12n },
      '.fencingToken = 12 (bigint), expected a safe integer above 0',
    ],
    [
      'a fencing token that has lost digits',
      { ...GRANT, fencingToken: 2 ** 53 },
      '.fencingToken = 9007199254740992 (number), expected a safe integer above 0',
    ],
    [
      'the fencing token 0',
      { ...GRANT, fencingToken: 0 },
      '.fencingToken = 0 (number), expected a safe integer above 0',
    ],
    [
      'an array',
      { ...GRANT, fencingToken: [1] },
      '.fencingToken = an array, expected a safe integer above 0',
    ],
    [
      'a text as attempt',
      { ...GRANT, attempt: '1' },
      '.attempt = "1" (string), expected an integer or undefined',
    ],
    [
      'a reason of its own',
      { acquired: false, reason: 'busy' },
      '.reason = "busy" (string), expected one of held, already-ran, cooling-down, clock-skew',
    ],
    [
      'a time as a text',
      { ...REFUSAL, expiresIn: '5000' },
      '.expiresIn = "5000" (string), expected a number or undefined',
    ],
    ['a tick as a text', { ...REFUSAL, tick: '5' }, '.tick = "5" (string), expected a number or undefined'],
    [
      'no number',
      { ...REFUSAL, storeTime: NaN },
      '.storeTime = NaN (number), expected a number or undefined',
    ],
  ])(
    '%s: no job runs, the error says what is wrong, and what it may have granted is given back',
    async (_what, answer, message) => {
      for (const acquire of [async () => answer, () => answer]) {
        const released: unknown[] = [];
        const { run, clock, events } = over({
          acquire,
          release: async (...call: unknown[]) => {
            released.push(call);
            return { released: true };
          },
        });
        for (let i = 1; i <= 2; i++) {
          expect(await run()).toMatchObject({
            ran: false,
            reason: 'store-unavailable',
            error: {
              code: 'STORE_UNAVAILABLE',
              message: `The store (a store without a name) answered acquire()${message}: see LockStore.`,
              outcome: 'unknown',
            },
          });
          await clock.advance(0);
          expect(released).toHaveLength(i);
          expect(released.at(-1)).toMatchObject([
            { name: 'report', fencingToken: 0 },
            { outcome: 'abandoned' },
          ]);
        }
        // One outage, not one for each call.
        expect(events.filter(({ type }) => type === 'outage-started')).toHaveLength(1);
        expect(events.filter(({ type }) => type === 'outage-ended')).toEqual([]);
      }
    },
  );

  it('a wrong value is named by its label, or by its class', async () => {
    class PgLockStore extends LocksOnly {
      acquire = async () => ({ ...GRANT, fencingToken: '12' });
      extend = async () => [];
      release = async () => ({ released: true });
    }
    for (const [store, name] of [
      [new PgLockStore(), 'PgLockStore'],
      [Object.assign(new PgLockStore(), { label: 'the table locks' }), 'the table locks'],
    ] as const) {
      const runner = new LockRunner(
        store as unknown as LockStore,
        'here',
        new ManualClock(),
        () => undefined,
        2_000,
      );
      const call = { name: 'report', job: undefined, settings: SETTINGS, kind: 'by-hand' as const };
      const result = await runner.run(call, () => 'ran');
      expect(result).toMatchObject({
        error: { message: expect.stringContaining(`The store (${name}) answered`) },
      });
    }
  });

  it.each([{ ...GRANT, attempt: 2 }, GRANT, { ...GRANT, attempt: undefined }])(
    'what the contract lists runs the job: %j',
    async (answer) => {
      const { run } = over({ acquire: async () => answer });
      expect(await run()).toEqual({ ran: true, value: 'ran' });
    },
  );
});

describe('a store that answers a renewal with', () => {
  it.each([
    ['nothing', undefined, ' = undefined, expected an array'],
    ['one result', { held: true }, ' = an object, expected an array'],
    ['fewer results', [{ held: true }], '.length = 1 (number), expected 2, as many as it was given leases'],
    [
      'more results',
      [{ held: true }, { held: true }, { held: true }],
      '.length = 3 (number), expected 2, as many as it was given leases',
    ],
  ])('%s: none of the leases is renewed', async (_what, answer, message) => {
    const app = new Harness();
    app.store.next('extend', answers(answer));
    await app.start('a');
    await app.start('b');
    await app.clock.advance(3_000);
    expect(app.of('renewed')).toEqual([]);
    const error = {
      code: 'STORE_UNAVAILABLE',
      outcome: 'unknown',
      message: `The store (ScriptedStore) answered extend()${message}: see LockStore.`,
    };
    expect(app.of('renewal-failed')).toMatchObject([
      { lock: 'a', error },
      { lock: 'b', error },
    ]);
  });

  it.each([
    ['nothing', undefined, '[1] = undefined, expected an object'],
    ['no verdict', {}, '[1].held = undefined, expected true, false or null'],
    ['a number for a verdict', { held: 1 }, '[1].held = 1 (number), expected true, false or null'],
    ['no reason why it could not tell', { held: null }, '[1].error = undefined, expected an error'],
  ])('%s for one lease: the others are renewed', async (_what, answer, message) => {
    const app = new Harness();
    const results: unknown[] = [{ held: true }, answer];
    // Also as a hole.
    if (answer === undefined) Reflect.deleteProperty(results, 1);
    app.store.next('extend', answers(results));
    await app.start('a');
    await app.start('b');
    await app.clock.advance(3_000);
    expect(app.of('renewed')).toMatchObject([{ lock: 'a' }]);
    expect(app.of('renewal-failed')).toMatchObject([
      {
        lock: 'b',
        error: { message: `The store (ScriptedStore) answered extend()${message}: see LockStore.` },
      },
    ]);
  });
});

it('a store that answers with what throws when it is looked at runs nothing, and the next call is tried as well', async () => {
  const odd = new Proxy(
    {},
    {
      get: (_, key) => {
        if (key === 'then') return undefined;
        throw new Error('do not look');
      },
    },
  );
  const { run } = over({ acquire: async () => odd });
  for (let i = 0; i < 2; i++)
    expect(await run()).toMatchObject({ ran: false, error: { message: 'do not look' } });
});

describe('a store that answers', () => {
  it('a release with nothing ends the run all the same', async () => {
    for (const release of [async () => undefined, () => undefined]) {
      const { run, events } = over({ release });
      expect(await run()).toEqual({ ran: true, value: 'ran' });
      expect(events.at(-1)).toMatchObject({ type: 'released', confirmed: false });
      expect(events.find(({ type }) => type === 'outage-started')).toMatchObject({
        error: {
          message:
            'The store (a store without a name) answered release() = undefined, expected an object: see LockStore.',
        },
      });
    }
  });

  it('by throwing instead fails the call, and neither the job nor the next beat knows of it', async () => {
    const app = new Harness();
    const job = await app.start();
    app.store.extend = () => {
      throw new Error('no renewal');
    };
    app.store.release = () => {
      throw new Error('no release');
    };
    await app.clock.advance(3_000);
    expect(app.of('renewal-failed')).toMatchObject([{ error: { message: 'no renewal' } }]);
    job.end();
    await app.clock.advance(0);
    expect(job.result).toEqual({ ran: true, value: 'done' });
    expect(app.of('released')).toMatchObject([{ confirmed: false }]);
  });
});

it('a job whose value throws when it is asked whether it is a promise has failed, and its lock is free', async () => {
  const app = new Harness();
  // As of a library that resolves what it stands for only when it is looked at.
  const odd = new Proxy(
    {},
    {
      get: () => {
        throw new Error('do not look');
      },
    },
  );
  await expect(app.runner.run(app.call(), () => odd)).rejects.toThrow('do not look');
  expect(app.of('released')).toMatchObject([{ outcome: 'failed', confirmed: true }]);
  expect((await app.start()).began).toBe(true);
});

it('a job that runs without its lock runs in the context of its own call, whoever has armed the timer', async () => {
  const app = new Harness();
  const inside: string[] = [];
  // A holds its lock, and a call of its own hangs: the limit of store calls is counted in its context.
  const a = app.runner.run(app.call('a'), async () => {
    inside.push('a');
    app.store.always('acquire', silence);
    await app.runner.run(app.call('b'), () => undefined);
    await new Promise(() => undefined);
  });
  void a;
  await app.clock.advance(0);
  // C knows nothing of A.
  const c = app.runner.run(app.call('c', { onStoreError: 'run' }), () =>
    app.runner.run(app.call('a'), () => inside.push('a, as if by itself')),
  );
  await app.clock.advance(SETTINGS.storeTimeout);
  expect(await c).toMatchObject({ ran: true, value: { ran: false, reason: 'held' } });
  expect(inside).toEqual(['a']);
});

describe('a store that rejects with something that is no error', () => {
  it.each([undefined, null, 'gone'])('has it counted as no answer to a release: %s', async (thrown) => {
    let rejections = 0;
    const memory = new MemoryLockStore();
    const { clock, events, run } = over({
      release: (...args: Parameters<LockStore['release']>) =>
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- what is tested here
        (rejections += 1) > 1 ? memory.release(...args) : Promise.reject(thrown),
    });
    expect(await run()).toEqual({ ran: true, value: 'ran' });
    expect(events.find(({ type }) => type === 'released')).toMatchObject({ confirmed: false });
    expect(events.find(({ type }) => type === 'outage-started')).toBeDefined();
    // It is tried again.
    await clock.advance(SETTINGS.ttl);
    expect(rejections).toBeGreaterThan(1);
  });

  it('skips the call that asked', async () => {
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- what is tested here
    const { run } = over({ acquire: () => Promise.reject(undefined) });
    expect(await run()).toMatchObject({ ran: false, reason: 'store-unavailable' });
  });
});
