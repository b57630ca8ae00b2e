import { afterEach, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import {
  LeaderElection,
  MemoryLockStore,
  SchedulerLock,
  SchedulerLockInsight,
  SchedulerLockService,
} from '../../lib/index.js';
import type { AcquireRequest, AcquireResult } from '../../lib/contract/lock-store.js';
import { OPTION_NAMES } from '../../lib/nest/options/table.js';
import { until } from '../support/until.js';
import { closeApps, startApp } from './app.js';

/* An option that is `undefined`, as one of a configuration that nobody has set, is as good as absent. */

afterEach(closeApps);

/** Notes what each attempt asks for, but for what differs from run to run. */
class Asked extends MemoryLockStore {
  readonly requests: object[] = [];

  override acquire(request: AcquireRequest): Promise<AcquireResult> {
    const { token: _token, tick, holder, wait, ...asked } = request;
    this.requests.push({
      ...asked,
      waits: wait !== undefined,
      hasTick: tick !== undefined,
      by: typeof holder,
    });
    return super.acquire(request);
  }
}

/** The options of each place, besides those that a start cannot do without. */
interface Given {
  readonly module?: object;
  readonly leader?: object;
  readonly decorator?: object;
  /** Of a method without a schedule: a call of `@Cron` is never queued. */
  readonly byHand?: object;
  readonly election?: object;
  readonly run?: object;
  readonly cron?: object;
  readonly interval?: object;
}

/** All that an application with these options asks of its store, tells of its jobs, and logs. */
async function behaviour({ module, leader, decorator, byHand, election, run, cron, interval }: Given) {
  @Injectable()
  class Jobs {
    @Cron('0 0 0 1 1 *', { name: 'report' })
    @SchedulerLock({ name: 'report', ...decorator })
    async report() {}
    @SchedulerLock({ name: 'calendar', ...byHand })
    async sync(): Promise<void> {}
  }
  @Injectable()
  @LeaderElection('feed', { ...election })
  class Feed {
    onElected(): void {}
    onRevoked(): void {}
  }
  const store = new Asked();
  const app = await startApp([Jobs, Feed], {
    store,
    ...(leader && { leader: { name: 'main', ...leader } }),
    ...module,
  });
  const locks = app.get(SchedulerLockService);
  locks.cron('made', '0 0 0 1 1 *', { ...cron }, () => undefined);
  locks.interval('often', 86_400_000, { ...interval }, () => undefined);
  await app.fire('report');
  await until(() => app.events.some((event) => event.type === 'released' && event.job === 'Jobs.report'));
  await app.get(Jobs).sync();
  const ran = await locks.run('by hand', { ...run }, ({ name }) => name);
  // Those that are made at run time are told to the store a little later.
  const told = await app.get(SchedulerLockInsight).job('Jobs.report');
  await app.close();
  return {
    ran,
    requests: store.requests.map((request) => JSON.stringify(request)).sort(),
    job: { lock: told?.lock, status: told?.status, schedule: told?.schedule },
    logs: app.logs.own
      .map((line) =>
        line.replace(/(?<=this is instance )[^,]+/, 'i').replaceAll(/\d+(\.\d+)?( (ms|s|min|h))?\b/g, 'n'),
      )
      .sort(),
    events: app.events.map(({ type }) => type).sort(),
  };
}

/** What a start cannot do without, and a name, whose default is that of the job. */
const NAMED = new Set(['leader.name', 'module.store', 'decorator.name']);
const named: [string, Given, Given] = [
  'decorator.name',
  { decorator: { name: undefined } },
  { decorator: { name: 'Jobs.report' } },
];
const { queue, insight, ...places } = OPTION_NAMES;
const rows = Object.entries(places).flatMap(([place, options]) =>
  options.map((option): [place: keyof Given, option: string] => [place as keyof Given, option]),
);
const parts = [
  ...queue.map((option): [string, Given, Given] => [
    `queue.${option}`,
    { byHand: { onHeld: 'queue', queue: { [option]: undefined } } },
    { byHand: { onHeld: 'queue', queue: {} } },
  ]),
  ...insight.map((option): [string, Given, Given] => [
    `insight.${option}`,
    { module: { insight: { [option]: undefined } } },
    { module: { insight: {} } },
  ]),
];

const defaults = new Map<string, ReturnType<typeof behaviour>>();
/** What an application does with these options, found out once. */
function defaultsOf(options: Given): ReturnType<typeof behaviour> {
  const key = JSON.stringify(options);
  const known = defaults.get(key) ?? behaviour(options);
  defaults.set(key, known);
  return known;
}

test.each([
  ...rows
    .filter(([place, option]) => !NAMED.has(`${place}.${option}`))
    .map(([place, option]): [string, Given, Given] => [
      `${place}.${option}`,
      { [place]: { [option]: undefined } },
      { [place]: {} },
    ]),
  ...parts,
  named,
])('%s', async (_option, given, without) => {
  expect(await behaviour(given)).toEqual(await defaultsOf(without));
});

test('every option of the tables is tried', () => {
  expect(rows.length).toBeGreaterThan(60);
});
