import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import type { CommandStartedEvent, MongoClient } from 'mongodb';
import mongoose from 'mongoose';
import { randomUUID } from 'node:crypto';
import { SchedulerLock, SchedulerLockInsight, SchedulerLockService } from '../../lib/index.js';
import type { AcquireRequest } from '../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../lib/contract/lease-ref.js';
import { MongoDocuments } from '../../lib/stores/mongo/mongo-documents.js';
import { MongoLockStore } from '../../lib/stores/mongo/index.js';
import { locksOf } from '../contract/support/mongo-subject.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { isThereMongo, provideMongo, testMongo } from '../support/mongo-server.js';
import { until } from '../support/until.js';
import { closeApps, startApp } from './app.js';

jest.setTimeout(120_000);

const HOUR = 3_600_000;
const WRITERS = 16;
const ROUNDS = 50;

let server: DatabaseServer;
let client: MongoClient;
let name: string;

beforeAll(async () => {
  server = await provideMongo();
  client = testMongo(server.url);
}, 240_000);

beforeEach(() => {
  name = uniqueTable('locks');
});

afterAll(async () => {
  await client?.close();
  await server?.stop();
});

function attempt(fields: Partial<AcquireRequest> = {}): AcquireRequest {
  return { name: 'job', token: randomUUID(), ttl: HOUR, holder: 'host:1:nest', ...fields };
}

async function taken(store: MongoLockStore, request = attempt()): Promise<LeaseRef> {
  const result = await store.acquire(request);
  if (!result.acquired) throw new Error(`refused: ${result.reason}`);
  return { ...request, fencingToken: result.fencingToken };
}

const locks = () => locksOf(client.db(), name);

/** What a client sends to the collection, and for the time. */
async function watched(
  work: (store: MongoLockStore, sent: CommandStartedEvent[]) => Promise<void>,
): Promise<void> {
  // A client that a user has told to wait for nobody, and to read anywhere.
  const own = testMongo(server.url, {
    monitorCommands: true,
    writeConcern: { w: 1 },
    readPreference: 'secondaryPreferred',
  });
  const sent: CommandStartedEvent[] = [];
  own.on('commandStarted', (event) => {
    if (!['endSessions', 'getMore'].includes(event.commandName)) sent.push(event);
  });
  try {
    const store = new MongoLockStore(own, { collection: name });
    await store.init();
    sent.length = 0;
    await work(store, sent);
  } finally {
    await own.close();
  }
}

const there = await isThereMongo('MongoLockStore on a server');
(there ? describe : describe.skip)('MongoLockStore', () => {
  test("leaves a document that is ShedLock's, with two fields beside it", async () => {
    const store = new MongoLockStore(client, { collection: name });
    const lease = await taken(store);
    const held = await locks().findOne({ _id: 'job' });
    expect(held).toEqual({
      _id: 'job',
      lockUntil: expect.any(Date),
      lockedAt: expect.any(Date),
      lockedBy: expect.stringMatching(/^host:1:nest\//),
      version: expect.any(String),
      state: expect.stringContaining(lease.token),
    });
    expect(Number(held?.['lockUntil']) - Number(held?.['lockedAt'])).toBe(HOUR);
    await store.release(lease);
    const free = await locks().findOne({ _id: 'job' });
    expect(Number(free?.['lockUntil'])).toBeLessThan(Number(free?.['lockedAt']));
  });

  test("a lock of ShedLock's provider is respected, and one that it has unlocked is taken", async () => {
    const store = new MongoLockStore(client, { collection: name });
    await locks().insertOne({
      _id: 'job',
      lockUntil: new Date(Date.now() + HOUR),
      lockedAt: new Date(),
      lockedBy: 'spring',
    });
    expect(await store.acquire(attempt())).toMatchObject({
      acquired: false,
      reason: 'held',
      holder: 'spring',
    });
    // As it unlocks: by the `_id` alone.
    await locks().updateOne({ _id: 'job' }, { $set: { lockUntil: new Date() } });
    const lease = await taken(store);
    expect(await store.extend([lease])).toEqual([{ held: true }]);
  });

  test('a pair costs six statements at first, four for who had the lock last, and a refusal one', async () => {
    await watched(async (store, sent) => {
      const words = (): string[] => sent.splice(0).map(({ commandName }) => commandName);
      await store.release(await taken(store));
      // The document is not there yet: so the time is asked for as well.
      expect(words()).toEqual(['aggregate', 'hello', 'hello', 'insert', 'hello', 'update']);
      const lease = await taken(store);
      expect(words()).toEqual(['hello', 'update']);
      await store.extend([lease]);
      expect(words()).toEqual(['aggregate', 'update']);
      const other = new MongoLockStore(client, { collection: name });
      expect(await other.acquire(attempt())).toMatchObject({ acquired: false, reason: 'held' });
      await store.release(lease);
      expect(words()).toEqual(['hello', 'update']);
      await taken(other);
      expect(words()).toEqual([]);
      expect(await store.acquire(attempt())).toMatchObject({ acquired: false, reason: 'held' });
      // The guess was wrong.
      expect(words()).toEqual(['hello', 'update', 'aggregate']);
      expect(await store.acquire(attempt())).toMatchObject({ acquired: false, reason: 'held' });
      expect(words()).toEqual(['aggregate']);
    });
  });

  test('to queue a call costs four statements, six with a key and three for another with that one; to run it, seven', async () => {
    await watched(async (store, sent) => {
      const words = (): string =>
        sent
          .splice(0)
          .map(({ commandName }) => commandName)
          .join(' ');
      await store.queuedCalls.init?.();
      const lease = await taken(store);
      const call = { name: 'job', job: 'job', args: '[]', priority: 0, max: 1_000, redeliver: 0 };
      const queue = (fields = {}) => store.queuedCalls.enqueue({ ...call, id: randomUUID(), ...fields });
      sent.length = 0;
      await queue();
      expect(words()).toBe('aggregate hello hello update');
      await queue({ key: 'k' });
      expect(words()).toBe('aggregate hello aggregate aggregate hello update');
      await queue({ key: 'k' });
      expect(words()).toBe('aggregate hello update');
      const takes = [{ job: 'job', ttl: HOUR }];
      const next = await store.queuedCalls.next(lease, { takes });
      if (next.queuedCall === undefined) throw new Error('no queued call');
      expect(words()).toBe('aggregate aggregate hello update hello update');
      const run = { ...lease, fencingToken: next.fencingToken, queuedCall: next.queuedCall.id };
      await store.queuedCalls.next(run, { takes, outcome: 'completed' });
      expect(words()).toBe('delete aggregate aggregate hello update hello update');
      await store.queuedCalls.left(['job']);
      expect(words()).toBe('aggregate aggregate');
      await store.queuedCalls.left(['other']);
      expect(words()).toBe('aggregate');
    });
  });

  test('the records of runs that end together cost few writes, and only the first time lists that find what is too much', async () => {
    await watched(async (store, sent) => {
      const requests = Array.from({ length: 50 }, (_, i) => attempt({ name: `job-${i}` }));
      const leases = await Promise.all(requests.map((request) => taken(store, request)));
      const record = { kept: { count: 100, age: HOUR }, duration: 1 };
      const end = async (each: readonly LeaseRef[]): Promise<string[]> => {
        sent.length = 0;
        await Promise.all(each.map((lease) => store.release(lease, { record })));
        await store.close();
        return sent
          .filter(({ command }) => JSON.stringify(command).includes('_entries'))
          .map(({ commandName }) => commandName);
      };
      const first = await end(leases);
      // Two on a quiet machine: those that end while the first is under way share the second.
      expect(first.filter((word) => word === 'update').length).toBeLessThan(leases.length / 2);
      const again = await Promise.all(
        requests.map((request) => taken(store, { ...request, token: randomUUID() })),
      );
      const second = await end(again);
      expect(new Set(second)).toEqual(new Set(['update']));
      expect(second.length).toBeLessThan(leases.length / 2);
    });
  });

  test('two hundred leases are renewed by one find and one batch', async () => {
    await watched(async (store, sent) => {
      const requests = Array.from({ length: 200 }, (_, i) => attempt({ name: `job-${i}` }));
      const leases = await Promise.all(requests.map((request) => taken(store, request)));
      sent.length = 0;
      expect(new Set((await store.extend(leases)).map(({ held }) => held))).toEqual(new Set([true]));
      expect(sent.map(({ commandName }) => commandName)).toEqual(['aggregate', 'update']);
    });
  });

  test('each write waits for a majority, each read goes to the primary, and none is in a transaction', async () => {
    await watched(async (store, sent) => {
      const lease = await taken(store);
      await store.extend([lease]);
      await store.release(lease, { record: { kept: { count: 1, age: HOUR }, duration: 1 } });
      await store.history.entries({ name: lease.name, limit: 1 });
      const writes = sent.filter(({ commandName }) => commandName === 'update');
      expect(writes.map(({ command }) => command.update)).toEqual([name, name, `${name}_entries`]);
      for (const { commandName, command } of sent) {
        if (['insert', 'update', 'delete', 'createIndexes'].includes(commandName))
          expect(command.writeConcern).toMatchObject({ w: 'majority', j: true });
        if (commandName === 'aggregate') expect(command.readConcern).toEqual({ level: 'majority' });
        expect(command).not.toHaveProperty('autocommit');
        expect(command.$readPreference?.mode ?? 'primary').not.toBe('secondaryPreferred');
      }
    });
  });

  test('works on a connection of Mongoose', async () => {
    const connection = mongoose.createConnection(server.url);
    const store = new MongoLockStore(connection, { collection: name });
    // As Nest waits for it before it injects it.
    await connection.asPromise();
    await store.init();
    const lease = await taken(store);
    expect(await new MongoLockStore(client, { collection: name }).acquire(attempt())).toMatchObject({
      acquired: false,
    });
    expect(await store.release(lease)).toEqual({ released: true });
    expect(store.label).toBe(`the collection test.${name} of MongoDB`);
    await connection.close();
  });

  test(`of ${WRITERS} writers at one document, each with a client of its own, exactly one wins, ${ROUNDS} times`, async () => {
    const clients = Array.from({ length: WRITERS }, () => testMongo(server.url, { maxPoolSize: 1 }));
    try {
      const places = clients.map((each) => new MongoDocuments(() => each.db(), name));
      let seen: { version: string; by: string; taken: boolean } | null = null;
      for (let round = 0; round < ROUNDS; round++) {
        const changes = places.map((_, i) => ({
          name: 'job',
          seen,
          end: HOUR,
          version: randomUUID(),
          by: `writer-${i}`,
          state: '{}',
        }));
        const answers = await Promise.all(places.map((place, i) => place.write([changes[i]!])));
        const winners = changes.filter((_, i) => answers[i]?.[0] === true);
        expect(winners).toHaveLength(1);
        const { documents } = await places[0]!.read(['job']);
        const { version, by } = winners[0]!;
        expect(documents).toMatchObject([{ version, by }]);
        seen = { version, by, taken: true };
      }
    } finally {
      await Promise.all(clients.map((each) => each.close()));
    }
  });

  test(`of ${WRITERS} instances at one lock exactly one wins, ${ROUNDS} times`, async () => {
    const clients = Array.from({ length: WRITERS }, () => testMongo(server.url, { maxPoolSize: 1 }));
    try {
      const stores = clients.map((each) => new MongoLockStore(each, { collection: name }));
      let newest = 0;
      for (let round = 0; round < ROUNDS; round++) {
        const requests = stores.map(() => attempt());
        const results = await Promise.all(stores.map((store, i) => store.acquire(requests[i]!)));
        const winners = results.flatMap((result, i) => (result.acquired ? [{ i, ...result }] : []));
        expect(winners).toHaveLength(1);
        const { i, fencingToken } = winners[0]!;
        expect(fencingToken).toBeGreaterThan(newest);
        newest = fencingToken;
        expect(await stores[i]!.release({ ...requests[i]!, fencingToken })).toEqual({ released: true });
      }
    } finally {
      await Promise.all(clients.map((each) => each.close()));
    }
  });

  describe('in an application', () => {
    afterEach(closeApps);

    const store = () => new MongoLockStore(client, { collection: name });

    test('a job runs, and insight shows the run and the instance', async () => {
      const ran: string[] = [];
      @Injectable()
      class Jobs {
        @Cron('0 0 1 1 *', { name: 'yearly' })
        @SchedulerLock('yearly')
        async yearly(): Promise<void> {
          ran.push('yearly');
        }
      }
      const app = await startApp([Jobs], { store: store() });
      const told = (type: string) => until(() => app.events.some((event) => event.type === type));
      await app.fire('yearly');
      await told('released');
      // The same tick again.
      await app.fire('yearly');
      await told('skipped');
      expect(ran).toEqual(['yearly']);
      const insight = app.get(SchedulerLockInsight);
      expect(await insight.runs({ job: 'Jobs.yearly' })).toMatchObject([
        { outcome: 'completed', trigger: 'schedule' },
      ]);
      expect(await insight.jobs()).toMatchObject([{ job: 'Jobs.yearly', status: 'ok' }]);
      expect(await insight.instances()).toHaveLength(1);
    });

    test('calls of two instances that wait get their turns in their order, the urgent one first', async () => {
      const apps = [await startApp([], { store: store() }), await startApp([], { store: store() })];
      const [first, second] = apps.map((app) => app.get(SchedulerLockService)) as [
        SchedulerLockService,
        SchedulerLockService,
      ];
      const order: string[] = [];
      let finish = (): void => undefined;
      const holder = first.run('job', () => new Promise<void>((resolve) => (finish = resolve)));
      await until(() => apps[0]!.events.some(({ type }) => type === 'acquired'));
      const stands = (count: number) =>
        until(async () => (await store().inspect(['job']))[0]?.line?.length === count);
      const calls: Promise<unknown>[] = [holder];
      for (const [i, priority] of [0, 0, 5].entries()) {
        calls.push(
          (i % 2 === 0 ? second : first).run('job', { wait: '1m', priority }, () => {
            order.push(`${i}`);
          }),
        );
        await stands(i + 1);
      }
      finish();
      await Promise.all(calls);
      expect(order).toEqual(['2', '0', '1']);
    });
  });
});
