import { afterEach, expect, test } from '@jest/globals';
import { type CronJobOptions, SchedulerLockService } from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, startApp, type TestApp } from './app.js';
import { CronTime } from './support/cron.js';
import { acquired } from './tick-support.js';

afterEach(closeApps);

/** Makes a job, and gives it another schedule and then a third one, each after it has run. */
async function changeTwice(options: CronJobOptions): Promise<TestApp> {
  const app = await startApp([]);
  const job = app.get(SchedulerLockService).cron('report', '* * * * * *', options, () => undefined);
  for (const expression of ['*/1 * * * * *', '0-59 * * * * *']) {
    const runs = acquired(app).length;
    await until(() => acquired(app).length > runs);
    job.setTime(new CronTime(expression, 'UTC'));
  }
  const runs = acquired(app).length;
  await until(() => acquired(app).length > runs);
  void job.stop();
  return app;
}

const linesOf = (app: TestApp): string[] => app.logs.own.filter((line) => line.includes('scheduled as'));

test('a dynamic job with a timeZone that gets another schedule is told of once, as information', async () => {
  const app = await changeTwice({ timeZone: 'UTC' });
  expect(linesOf(app)).toEqual([
    'log: report: scheduled as "*/1 * * * * * (UTC)" now; its last start came from "* * * * * * (UTC)".',
  ]);
  expect(app.events.filter((event) => 'mismatch' in event)).toMatchObject([{ mismatch: { meant: true } }]);
});

test('one in the zone of the machine is warned about: instances may be in different ones', async () => {
  const app = await changeTwice({});
  expect(linesOf(app)).toEqual([
    expect.stringMatching(/^warn: .*give the job one expression and one timeZone/),
  ]);
});
