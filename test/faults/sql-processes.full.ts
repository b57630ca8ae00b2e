import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { DATABASES, type TestPool } from '../support/database.js';
import { type LocalDatabase, uniqueTable } from '../support/database-server.js';
import { startProxy, type TcpProxy } from './proxy/tcp-proxy.js';
import { until } from '../support/until.js';
import { type Instance, startInstance } from './support/instance.js';
import { faultSuite } from './support/suite.js';
import type { Duration } from '../../lib/index.js';

faultSuite();

/** Of the leases that are to end, ms. */
const TTL = 1_500;
/** Far more than any outage that a lease is to survive here. */
const LONG = '1m';

describe.each(DATABASES.map((database) => [database.name, database] as const))(
  'with %s',
  (_name, database) => {
    let server: LocalDatabase;
    let proxy: TcpProxy;
    let pool: TestPool;
    let table: string;

    beforeAll(async () => {
      server = await database.start();
      proxy = await startProxy({ host: server.host, port: server.port, protocol: 'raw' });
      pool = database.pool(server.url);
    });

    beforeEach(async () => {
      table = uniqueTable('faults');
      await pool.store({ table }).migrate();
    });

    afterEach(async () => {
      server.resume();
      if (!server.running) await server.restart();
      proxy.thaw();
      await proxy.refuse(false);
    });

    afterAll(async () => {
      await pool?.end();
      await proxy?.stop();
      await server?.stop();
    });

    const start = (instanceId: string, ttl: Duration, url = server.url): Promise<Instance> =>
      startInstance({
        store: { database: { url, table } },
        instanceId,
        ttl,
        heartbeat: 100,
        storeTimeout: 500,
      });
    /** The one whose lease ends, and one that takes over, with a lease that it keeps however busy the machine is. */
    const startBoth = (url?: string): Promise<[Instance, Instance]> =>
      Promise.all([start('first', TTL, url), start('second', LONG)]);

    const proxied = (): string => server.url.replace(`:${server.port}`, `:${proxy.port}`);

    const row = async (): Promise<Record<string, unknown>> => {
      const [found] = await pool.rows(`SELECT * FROM ${table} WHERE name = 'job'`);
      return found ?? {};
    };

    /** Two renewals after what has been heard so far. */
    async function goesOn(instance: Instance): Promise<void> {
      const renewals = instance.heard('event:renewed').length;
      await until(() => instance.heard('event:renewed').length >= renewals + 2, { message: 'renewals' });
      expect(instance.heard('event:lost')).toEqual([]);
      expect(await instance.judge()).toMatchObject({ held: true });
    }

    test('after a SIGKILL of the holder another instance runs the job when the ttl is over, and not before', async () => {
      const [first, second] = await startBoth();
      const fence = await first.takeOver();
      await first.next('event:renewed');
      await first.kill();
      const { lock_until: freeAt } = await row();
      expect(await second.takeOver()).toBeGreaterThan(fence);
      // Both times are the database's.
      expect((await row())['locked_at']).not.toEqual(undefined);
      expect(Number((await row())['locked_at'])).toBeGreaterThanOrEqual(Number(freeAt));
      expect(second.heard('event:skipped')[0]).toMatchObject({ reason: 'held', holder: 'first' });
    });

    test('a holder that was frozen past its ttl learns that it lost, and its release frees nothing', async () => {
      const [first, second] = await startBoth();
      const fence = await first.takeOver();
      first.pause();
      expect(await second.takeOver()).toBeGreaterThan(fence);
      const { locked_by: by } = await row();
      first.resume();
      expect(await first.next('event:lost')).toMatchObject({ reason: 'deadline', fencingToken: fence });
      expect(await first.next('aborted')).toMatchObject({ error: 'LockLostError', reason: 'deadline' });
      expect(await first.endJob()).toMatchObject({ outcome: 'aborted', confirmed: false });
      await goesOn(second);
      expect((await row())['locked_by']).toBe(by);
    });

    test('an instance cut off from the database knows that it lost no later than another one can begin', async () => {
      const [first, second] = await startBoth(proxied());
      await first.takeOver();
      await proxy.refuse();
      await second.takeOver();
      // Asked after the other began: what it answers is judged by its own clock, not by when a timer fires.
      expect(await first.judge()).toMatchObject({ held: false, error: 'LockLostError', reason: 'deadline' });
      await first.next('event:lost');
      await first.endJob();
      await proxy.refuse(false);
      await goesOn(second);
    });

    test('connections that break during a job are replaced, and the lease is kept', async () => {
      const holder = await start('holder', LONG, proxied());
      await holder.takeOver();
      for (let cut = 0; cut < 3; cut++) {
        proxy.cut();
        await goesOn(holder);
      }
      expect(await holder.endJob()).toMatchObject({ outcome: 'completed', confirmed: true });
    });

    test('a network that swallows everything for a while does not cost the lease', async () => {
      const holder = await start('holder', LONG, proxied());
      await holder.takeOver();
      proxy.freeze();
      await holder.next('event:renewal-failed');
      proxy.thaw();
      await goesOn(holder);
      expect(await holder.endJob()).toMatchObject({ outcome: 'completed', confirmed: true });
    });

    test('a database that freezes during a job and goes on before the deadline does not cost the lease', async () => {
      const holder = await start('holder', LONG);
      await holder.takeOver();
      const { locked_by: by } = await row();
      server.pause();
      await holder.next('event:renewal-failed');
      server.resume();
      await goesOn(holder);
      expect((await row())['locked_by']).toBe(by);
      expect(await holder.endJob()).toMatchObject({ outcome: 'completed', confirmed: true });
    });

    test.each([
      ['is killed', () => server.kill()],
      ['is stopped', () => server.stopPolitely()],
    ])('a database that %s during a job, and started again, does not cost the lease', async (_what, end) => {
      const [holder, other] = await Promise.all([start('holder', LONG), start('other', LONG)]);
      const fence = await holder.takeOver();
      const { locked_by: by } = await row();
      await end();
      await holder.next('event:renewal-failed');
      expect(await other.fire()).toBe(false);
      expect(other.heard('event:skipped').at(-1)).toMatchObject({ error: 'StoreUnavailableError' });
      await server.restart();
      await goesOn(holder);
      expect(await row()).toMatchObject({ locked_by: by });
      await until(async () => {
        expect(await other.fire()).toBe(false);
        return other.heard('event:skipped').some(({ reason }) => reason === 'held');
      });
      expect(await holder.endJob()).toMatchObject({ outcome: 'completed', confirmed: true });
      expect(await other.takeOver()).toBeGreaterThan(fence);
    });

    test('a database that stays away past the deadline costs the lease, and the job is told while it is away', async () => {
      const [first, second] = await startBoth();
      const fence = await first.takeOver();
      await server.kill();
      expect(await first.next('event:lost')).toMatchObject({ reason: 'deadline', fencingToken: fence });
      expect(await first.next('aborted')).toMatchObject({ error: 'LockLostError', reason: 'deadline' });
      await server.restart();
      expect(await second.takeOver()).toBeGreaterThan(fence);
      expect(await first.endJob()).toMatchObject({ outcome: 'aborted', confirmed: false });
      await goesOn(second);
    });
  },
);
