import 'reflect-metadata';
import { afterEach, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  currentLock,
  MemoryLockStore,
  SchedulerLock,
  SchedulerLockControl,
  SchedulerLockInsight,
} from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, gate, startApp } from './app.js';

afterEach(closeApps);

/** Resolves when the signal of the run aborts, or at once if it did before the method began: on a busy machine 50 ms are short. */
const aborted = async (): Promise<void> => {
  const { signal } = currentLock();
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
};

@Injectable()
class Late {
  @SchedulerLock({ name: 'returns', timeout: '50ms' })
  async returns(): Promise<void> {
    await aborted();
  }

  @SchedulerLock({ name: 'throws', timeout: '50ms' })
  async throws(): Promise<void> {
    await aborted();
    throw new Error('too late');
  }

  @SchedulerLock({ name: 'broken', heartbeat: '50ms', ttl: '3s' })
  async broken(): Promise<void> {
    await aborted();
    throw new Error('it is over');
  }
}

test('who runs a job here hears of its end what the history says', async () => {
  const app = await startApp([Late]);
  const control = app.get(SchedulerLockControl);
  const insight = app.get(SchedulerLockInsight);
  const run = (method: string) => control.runNow({ job: `Late.${method}`, actor: 'bob', wait: '60s' });
  expect(await run('returns')).toMatchObject({ result: 'started', outcome: 'timed-out' });
  expect(await run('throws')).toMatchObject({ outcome: 'timed-out', error: 'too late' });
  const broken = run('broken');
  const [going] = await until(async () => {
    const runs = await insight.runs({ lock: 'broken' });
    return runs.length > 0 && runs;
  });
  await control.break({
    lock: 'broken',
    fencingToken: going?.fencingToken ?? 0,
    actor: 'bob',
    reason: 'stuck',
  });
  expect(await broken).toMatchObject({ outcome: 'aborted', error: 'it is over' });
  for (const lock of ['returns', 'throws', 'broken']) {
    const outcome = lock === 'broken' ? 'aborted' : 'timed-out';
    await until(async () => (await insight.runs({ lock }))[0]?.outcome === outcome);
  }
});

test('nobody waits any more for a run that its instance has left at a shutdown', async () => {
  const hold = gate();
  @Injectable()
  class Endless {
    @SchedulerLock({ name: 'endless' })
    run(): Promise<void> {
      return hold.opened;
    }
  }
  const app = await startApp([Endless], { store: 'memory', shutdownTimeout: '100ms' });
  const run = app.get(SchedulerLockControl).runNow({ job: 'Endless.run', actor: 'bob', wait: '1h' });
  await until(() => app.events.some(({ type }) => type === 'acquired'));
  await app.close();
  expect(await run).toMatchObject({ result: 'started' });
  expect(await run).not.toHaveProperty('outcome');
  hold.open();
});

@Injectable()
class Report {
  @SchedulerLock({ name: 'report', onSkip: 'throw' })
  async build(): Promise<string> {
    return 'built';
  }
}

test('an instance on which a job is switched off skips a call by hand, and reaches another one by runNow()', async () => {
  const store = new MemoryLockStore();
  const api = await startApp([Report], { store, instanceId: 'api', enabled: false });
  await startApp([Report], { store, instanceId: 'worker' });
  await expect(api.get(Report).build()).rejects.toMatchObject({ reason: 'disabled' });
  const control = api.get(SchedulerLockControl);
  const request = { job: 'Report.build', actor: 'bob', wait: '60s' } as const;
  await until(async () => (await api.get(SchedulerLockInsight).instances()).length === 2);
  expect(await control.runNow(request)).toMatchObject({
    result: 'started',
    instance: 'worker',
    outcome: 'completed',
  });
});
