import { afterEach, describe, expect, it } from '@jest/globals';
import { Body, Controller, type INestApplication, Module, Param, Post, Get, HttpCode } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import {
  currentLock,
  SchedulerLock,
  SchedulerLockEvents,
  SchedulerLockModule,
  type SchedulerLockEvent,
} from '../../lib/index.js';
import { until } from '../support/until.js';
import { gate, serve } from './app.js';

const YEARLY = '0 0 0 1 1 *';

let running: INestApplication | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function serveController(
  controller: new () => object,
): Promise<{ url: string; app: INestApplication; events: SchedulerLockEvent[] }> {
  @Module({
    imports: [ScheduleModule.forRoot(), SchedulerLockModule.forRoot({ store: 'memory' })],
    controllers: [controller],
  })
  class AppModule {}
  const app = await NestFactory.create(AppModule, { logger: false });
  running = app;
  const events: SchedulerLockEvent[] = [];
  app.get(SchedulerLockEvents).on((event) => void events.push(event));
  return { url: await serve(app), app, events };
}

describe('a decorated method of a controller', () => {
  it('is locked as a route, with parameters, body and status code as ever', async () => {
    @Controller('reports')
    class Reports {
      @Post(':tenant')
      @HttpCode(202)
      @SchedulerLock({ name: (tenant: string) => `report-${tenant}` })
      async below(@Param('tenant') tenant: string, @Body() body: { pages: number }) {
        return { tenant, ...body, lock: currentLock().name };
      }
      @SchedulerLock({ name: (tenant: string) => `report-${tenant}` })
      @Get(':tenant')
      async above(@Param('tenant') tenant: string) {
        return { tenant, lock: currentLock().name };
      }
    }
    const { url } = await serveController(Reports);
    const posted = await fetch(`${url}/reports/acme`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ pages: 3 }),
    });
    expect(posted.status).toBe(202);
    expect(await posted.json()).toEqual({ tenant: 'acme', pages: 3, lock: 'report-acme' });
    const got = await fetch(`${url}/reports/acme`);
    expect(await got.json()).toEqual({ tenant: 'acme', lock: 'report-acme' });
  });

  it('answers an error to a request that is skipped, with onSkip: throw', async () => {
    const ended = gate();
    @Controller()
    class Reports {
      @Post()
      @SchedulerLock({ name: 'report', onSkip: 'throw' })
      async report() {
        await ended.opened;
        return 'ran';
      }
    }
    const { url, events } = await serveController(Reports);
    const first = fetch(url, { method: 'POST' });
    await until(() => events.some(({ type }) => type === 'acquired'));
    expect((await fetch(url, { method: 'POST' })).status).toBe(500);
    ended.open();
    expect(await (await first).text()).toBe('ran');
  });

  it('may be route and cron job at once: a request is a call by hand, also while the job is fired', async () => {
    const ended = gate();
    const runs: string[] = [];
    @Controller()
    class Reports {
      @Cron(YEARLY, { name: 'report' })
      @Post(':by')
      @SchedulerLock({ name: 'report', onSkip: 'throw' })
      async report(@Param('by') by?: string) {
        runs.push(by ?? 'scheduler');
        if (by === undefined) await ended.opened;
        return by;
      }
    }
    const { url, app, events } = await serveController(Reports);
    const post = (by: string): Promise<Response> => fetch(`${url}/${by}`, { method: 'POST' });
    expect(await (await post('Ada')).text()).toBe('Ada');

    const fire = async (): Promise<void> => {
      await app.get(SchedulerRegistry).getCronJob('report').fireOnTick();
    };
    void fire();
    await until(() => runs.length === 2);
    // By hand: onSkip speaks. By the scheduler: it does not.
    expect((await post('Bob')).status).toBe(500);
    await fire();
    await until(() => events.filter(({ type }) => type === 'skipped').length === 2);
    ended.open();
    await until(() => events.filter(({ type }) => type === 'released').length === 2);
    expect(await (await post('Cid')).text()).toBe('Cid');
    expect(runs).toEqual(['Ada', 'scheduler', 'Cid']);
  });
});
