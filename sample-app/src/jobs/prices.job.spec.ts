import { expect, test } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { SchedulerLockModule } from 'nestjs-scheduler-lock';
import { FakeLockStore, runUnlocked } from 'nestjs-scheduler-lock/testing';
import { PricesJob } from './prices.job.js';

test('refreshes the prices', async () => {
  const result = await runUnlocked(() => new PricesJob().refresh(), { fencingToken: 7 });
  expect(result).toEqual({ ranOn: 'unlocked', fencingToken: 7 });
});

test('leaves them alone while another instance refreshes them', async () => {
  const store = new FakeLockStore();
  const module = await Test.createTestingModule({
    imports: [SchedulerLockModule.forRoot({ store, instanceId: 'here' })],
    providers: [PricesJob],
  }).compile();
  await module.init();
  await store.hold('prices');
  expect(await module.get(PricesJob).refresh()).toBeUndefined();
  await store.free('prices');
  expect(await module.get(PricesJob).refresh()).toMatchObject({ ranOn: 'here' });
  await module.close();
});
