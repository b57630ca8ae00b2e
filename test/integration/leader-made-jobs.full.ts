import 'reflect-metadata';
import { afterEach, expect, jest, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { CronExpression, SchedulerRegistry } from '@nestjs/schedule';
import { CronTime } from 'cron';
import { MemoryLockStore, SchedulerLeader, SchedulerLockService } from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, gate, startApp, type TestApp } from './app.js';
import { elected, Idle, leads, occupied } from './leader-support.js';
import { acquired, cronAt, daily, DAY, request, runIn, skipped } from './tick-support.js';

afterEach(closeApps);

/** So long that a leader keeps its lease, however busy the machine is. */
const TTL = 9_000;
const timeZone = 'UTC';
const options = (store: MemoryLockStore) => ({ store, leader: { name: 'main', ttl: TTL } });
const locksOf = (app: TestApp): SchedulerLockService => app.get(SchedulerLockService);

/** Makes a cron job and an interval, as each instance does. */
function make(app: TestApp, runs: string[], who: string): void {
  locksOf(app).cron('report', CronExpression.EVERY_SECOND, { timeZone }, () => void runs.push(`${who} cron`));
  locksOf(app).interval('poll', 100, () => void runs.push(`${who} interval`));
}

test.each(['before', 'after'] as const)(
  'cron jobs and intervals that are made %s the election run on the leader only, and go on with the next one',
  async (when) => {
    const store = new MemoryLockStore();
    const runs: string[] = [];
    const both = (who: string) => () => ['cron', 'interval'].every((kind) => runs.includes(`${who} ${kind}`));
    const leader = await startApp([Idle], options(store));
    if (when === 'before') make(leader, runs, 'leader');
    await elected(leader);
    const standby = await startApp([], options(store));
    make(standby, runs, 'standby');
    if (when === 'after') make(leader, runs, 'leader');
    await until(both('leader'));
    expect(runs.filter((run) => run.startsWith('standby'))).toEqual([]);
    expect(standby.get(SchedulerRegistry).getCronJob('report').isActive).toBe(true);
    const refused = () => new Set(skipped(standby).map(({ reason, job }) => `${reason} ${job}`));
    await until(() => refused().has('not-leader report') && refused().has('not-leader poll'));
    await leader.close();
    await until(both('standby'));
  },
);

test('a cron job that fires while it is made, as its timer is late, does not run on an instance that does not lead', async () => {
  const { store } = await occupied();
  const standby = await startApp([], options(store));
  const late = jest.spyOn(CronTime.prototype, 'getTimeout').mockReturnValueOnce(-1);
  const warn = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
  const runs: string[] = [];
  make(standby, runs, 'standby');
  expect(warn).toHaveBeenCalledWith(expect.stringContaining('Executing immediately'));
  late.mockRestore();
  warn.mockRestore();
  // Another call of the same application, made later, has come to its end.
  expect(await locksOf(standby).run('other', () => 'ran')).toMatchObject({ ran: true });
  expect(runs).toEqual([]);
});

test('a leader that resigns waits for the cron job and the interval that it runs', async () => {
  const app = await startApp([Idle], { store: 'memory', leader: { name: 'main', ttl: '1h' } });
  await elected(app);
  const jobs = [gate(), gate()];
  const seen: string[] = [];
  const run = (name: string, place: number) => async (): Promise<void> => {
    seen.push(`began ${name}`);
    await jobs[place]?.opened;
    seen.push(`ended ${name}`);
  };
  locksOf(app).cron('cron', CronExpression.EVERY_SECOND, run('cron', 0));
  locksOf(app).interval('interval', 50, run('interval', 1));
  await until(() => seen.includes('began cron') && seen.includes('began interval'));
  const left = app
    .get(SchedulerLeader)
    .resign()
    .then(() => seen.push('left'));
  for (const { open } of jobs) {
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    expect(seen).not.toContain('left');
    open();
  }
  await left;
  expect(seen.at(-1)).toBe('left');
});

test('a tick that no leader started is run by the next one, unless it is the first one of its job', async () => {
  const { store, free } = await occupied();
  const runs: string[] = [];
  const app = await startApp([], { store, leader: { name: 'main', ttl: '1m' } });
  const tick = Math.trunc(Date.now() / 1_000) * 1_000 + 2_000;
  const expression = cronAt(new Date(tick));
  await runIn(store, request('known', tick - DAY));
  locksOf(app).cron('known', expression, { timeZone }, ({ tick: at }) => void runs.push(`known ${at}`));
  locksOf(app).cron('new', expression, { timeZone }, () => void runs.push('new'));
  const refused = () => skipped(app).filter(({ reason }) => reason === 'not-leader');
  await until(() => refused().length === 2);
  await free();
  await until(() => leads(app), { timeout: 40_000 });
  const others = () => skipped(app).filter(({ reason }) => reason !== 'not-leader');
  await until(() => acquired(app).length + others().length >= 3);
  expect(runs).toEqual([`known ${tick}`]);
  expect(others()).toMatchObject([{ job: 'new', reason: 'already-ran' }]);
}, 90_000);

test('a job with catchUp that is made on the leader is asked for its missed tick, on another one it is not', async () => {
  const { expression, tick } = daily();
  const store = new MemoryLockStore();
  await runIn(store, request('report', tick - DAY));
  const leader = await startApp([Idle], options(store));
  await elected(leader);
  const standby = await startApp([], options(store));
  const runs: string[] = [];
  for (const app of [standby, leader]) {
    locksOf(app).cron(
      'report',
      expression,
      { timeZone, catchUp: '1h' },
      ({ tick: at }) => void runs.push(`${at}`),
    );
  }
  await until(() => runs.length > 0);
  expect(runs).toEqual([`${tick}`]);
  expect(acquired(standby)).toEqual([]);
});

test('a job that is made while the application starts is refused before it runs', async () => {
  const { store, free } = await occupied();
  const runs: string[] = [];
  @Injectable()
  class Early {
    constructor(private readonly locks: SchedulerLockService) {}
    async onModuleInit(): Promise<void> {
      this.locks.cron('early', CronExpression.EVERY_SECOND, () => void runs.push('early'));
      this.locks.interval('soon', 100, () => void runs.push('soon'));
      const begin = Date.now();
      await until(() => Date.now() > begin + 1_500);
    }
  }
  const app = await startApp([Early], options(store));
  expect(runs).toEqual([]);
  await free();
  await until(() => runs.includes('early') && runs.includes('soon'));
  expect(leads(app)).toBe(true);
});
