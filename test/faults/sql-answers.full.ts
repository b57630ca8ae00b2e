import { expect, test } from '@jest/globals';
import type { SchedulerLockModuleOptions } from '../../lib/index.js';
import { until } from '../support/until.js';
import { hold, startApp, type TestApp } from './support/app.js';
import { onEachDatabase } from './support/sql-suite.js';
import { StoreGate } from './support/store-gate.js';
import { faultSuite } from './support/suite.js';

faultSuite();

onEachDatabase((sql) => {
  const start = (options: SchedulerLockModuleOptions = {}): Promise<TestApp> =>
    startApp({ store: sql.open(sql.url).store({ table: sql.table }), ttl: '1m', ...options });
  const startProxied = (options: SchedulerLockModuleOptions = {}): Promise<TestApp> =>
    start({ ...options, store: sql.open(sql.proxied).store({ table: sql.table }) });
  const startGated = async (url: string, options: SchedulerLockModuleOptions) => {
    const gate = new StoreGate(sql.open(url).store({ table: sql.table }));
    return { gate, app: await start({ ...options, store: gate }) };
  };

  /** Waits until this is not what it was. */
  const change = (column: string, before: unknown, message: string): Promise<unknown> =>
    until(async () => JSON.stringify((await sql.row())[column]) !== JSON.stringify(before), { message });

  test('a renewal whose answer was lost with the connection is made again, and the lease goes on', async () => {
    const { app, gate } = await startGated(sql.proxied, { heartbeat: 50 });
    const { end } = await hold(app, 'job');
    await app.event('renewed');
    gate.hold();
    await until(() => gate.held > 0, { message: 'a renewal on its way' });
    const { lock_until: before, locked_by: by } = await sql.row();
    const letGo = sql.proxy.holdReplies();
    gate.letGo();
    await change('lock_until', before, 'a renewal to be carried out');
    sql.proxy.cut();
    letGo();
    const renewals = app.heard('renewed').length;
    await until(() => app.heard('renewed').length > renewals + 1);
    expect((await sql.row())['locked_by']).toBe(by);
    await end();
    expect(app.heard('lost')).toEqual([]);
    expect(app.heard('released')).toMatchObject([{ outcome: 'completed', confirmed: true }]);
  });

  test('a release whose answer was lost with the connection is repeated, and frees nothing of the next holder', async () => {
    const [app, other] = await Promise.all([startProxied(), start({ heartbeat: 50 })]);
    const { end } = await hold(app, 'job');
    const letGo = sql.proxy.holdReplies();
    const ended = end();
    await until(() => sql.ended('completed'), { message: 'the release to be carried out' });
    const { end: endOther } = await hold(other, 'job');
    const { locked_by: by } = await sql.row();
    sql.proxy.cut();
    letGo();
    await ended;
    expect(app.heard('released')).toMatchObject([{ outcome: 'completed', confirmed: false }]);
    // Its last tries are over.
    await app.close();
    await other.event('renewed', 'job', other.heard('renewed').length + 2);
    expect((await sql.row())['locked_by']).toBe(by);
    await endOther();
    expect(other.heard('released')).toMatchObject([{ outcome: 'completed', confirmed: true }]);
  });

  test('an acquire that is answered too late does not run its job, and gives back lock and tick', async () => {
    const tick = Date.now() - 1_000;
    const [app, other] = await Promise.all([startProxied({ storeTimeout: 200 }), start()]);
    // Connected, and with the row in place.
    await until(async () => (await app.locks.run('job', () => undefined)).ran);
    const { locked_by: before } = await sql.row();
    let runs = 0;
    const letGo = sql.proxy.holdReplies();
    const run = app.locks.run('job', { job: 'nightly', tick }, () => void runs++);
    await change('locked_by', before, 'the acquire to be carried out');
    expect(await run).toMatchObject({ ran: false, reason: 'store-unavailable' });
    letGo();
    await until(() => sql.ended('abandoned'), { message: 'the acquire to be taken back' });
    // The tick was not started by anybody.
    expect(await other.locks.run('job', { job: 'nightly', tick }, () => 'ran')).toEqual({
      ran: true,
      value: 'ran',
    });
    expect(await other.locks.run('job', { job: 'nightly', tick }, () => 'ran')).toMatchObject({
      reason: 'already-ran',
    });
    await app.close();
    expect(runs).toBe(0);
    expect(app.heard('acquired', 'job')).toHaveLength(1);
  });

  test('a tick whose acquire was carried out, and not answered before a long outage, can be taken again', async () => {
    const call = { job: 'nightly', tick: Date.now() - 1_000 };
    const ttl = 1_000;
    const [app, other] = await Promise.all([startProxied({ ttl }), start({ ttl })]);
    await until(async () => (await app.locks.run('job', () => undefined)).ran);
    const { locked_by: before } = await sql.row();
    const letGo = sql.proxy.holdReplies();
    const run = app.locks.run('job', call, () => undefined);
    await change('locked_by', before, 'the acquire to be carried out');
    await sql.proxy.refuse();
    letGo();
    expect(await run).toMatchObject({ ran: false, reason: 'store-unavailable' });
    const end = performance.now() + 3 * ttl;
    await until(() => performance.now() > end);
    expect(await other.locks.run('job', call, () => 'ran')).toMatchObject({ reason: 'already-ran' });
    await sql.proxy.refuse(false);
    await until(async () => (await other.locks.run('job', call, () => 'ran')).ran, {
      message: 'the tick to be given back',
    });
    expect(await other.locks.run('job', call, () => 'ran')).toMatchObject({ reason: 'already-ran' });
  });

  test('a tick that this instance asks for again is not refused by what it has left behind', async () => {
    const call = { job: 'nightly', tick: Date.now() - 1_000 };
    const app = await startProxied({ ttl: '10m' });
    await until(async () => (await app.locks.run('job', () => undefined)).ran);
    const { locked_by: before } = await sql.row();
    const letGo = sql.proxy.holdReplies();
    const run = app.locks.run('job', call, () => undefined);
    await change('locked_by', before, 'the acquire to be carried out');
    await sql.proxy.refuse();
    letGo();
    expect(await run).toMatchObject({ ran: false, reason: 'store-unavailable' });
    await sql.proxy.refuse(false);
    const reasons = new Set<unknown>();
    await until(async () => {
      const result = await app.locks.run('job', call, () => 'ran');
      if (!result.ran) reasons.add(result.reason);
      return result.ran;
    });
    expect([...reasons].filter((reason) => reason !== 'store-unavailable')).toEqual([]);
  });

  test('an acquire that reaches the database after its release is taken back all the same', async () => {
    const { app, gate } = await startGated(sql.url, { ttl: '20s', storeTimeout: 200 });
    gate.hold(1);
    expect(await app.locks.run('job', () => 'ran')).toMatchObject({
      ran: false,
      reason: 'store-unavailable',
    });
    // The release went by, and found nothing.
    await until(() => gate.underWay === 1 && gate.held === 1);
    expect(await sql.row()).toEqual({});
    gate.letGo();
    // Its lease would go on for long: it was released, and did not just end.
    await until(() => sql.ended('abandoned'), { message: 'the orphan to be released' });
    await expect(app.locks.run('job', () => 'ran')).resolves.toEqual({ ran: true, value: 'ran' });
  });

  test('renewals and a release that reach the database after another one took over change nothing', async () => {
    const { app, gate } = await startGated(sql.url, { ttl: 1_500, heartbeat: 100 });
    const { end } = await hold(app, 'job');
    await app.event('renewed');
    gate.hold();
    await until(() => gate.held > 0, { message: 'a renewal on its way' });
    const other = await start();
    // As soon as the lease is over.
    const held = await hold(other, 'job');
    expect(await app.event('lost')).toMatchObject({ reason: 'deadline' });
    await end();
    const before = await sql.row();
    gate.letGo();
    await until(() => gate.underWay === 0, { message: 'all of it to arrive' });
    expect(await sql.row()).toEqual(before);
    expect(app.heard('released')).toMatchObject([{ outcome: 'aborted', confirmed: false }]);
    await held.end();
    expect(other.heard('released')).toMatchObject([{ outcome: 'completed', confirmed: true }]);
  });
});
