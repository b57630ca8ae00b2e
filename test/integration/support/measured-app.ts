import { type DynamicModule, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import {
  currentLock,
  type LeaderHooks,
  LeaderElection,
  SchedulerLock,
  SchedulerLockModule,
  SchedulerLockService,
} from '../../../lib/index.js';
import { FakeLockStore } from '../../../lib/testing/index.js';
import { until } from '../../support/until.js';
import { gate, startModule, type TestApp } from '../app.js';
import { isEvent } from '../../support/events.js';

/** Jobs of which each does one thing that is measured. */
@Injectable()
export class Measured implements OnModuleDestroy {
  ran = 0;
  readonly gate = gate();
  readonly #end = gate();

  @Cron('* * * * * *', { timeZone: 'UTC' })
  @SchedulerLock({ name: 'often', overdue: '5m' })
  async often(): Promise<void> {
    this.ran += 1;
  }

  @SchedulerLock({ name: 'failing' })
  async failing(): Promise<void> {
    throw new TypeError('of Alice');
  }

  @SchedulerLock({ name: 'unlocked', onStoreError: 'run' })
  async unlocked(): Promise<void> {}

  @SchedulerLock({ name: 'hollow', expect: { rows: { min: 1 } } })
  async hollow(): Promise<void> {
    currentLock().report({ rows: 0, table: 'invoices' });
  }

  @SchedulerLock({ name: 'killed' })
  async killed(): Promise<void> {}

  @SchedulerLock({ name: 'going' })
  async going(): Promise<void> {
    await this.#end.opened;
  }

  onModuleDestroy(): void {
    this.#end.open();
  }

  @SchedulerLock({ name: 'lost', ttl: '400ms', heartbeat: '100ms' })
  async lost(): Promise<void> {
    await this.gate.opened;
  }
}

@Injectable()
@LeaderElection('feed')
class Feed implements LeaderHooks {
  onElected(): void {}
  onRevoked(): void {}
}

/** An application in which everything has happened that is measured, and that goes on. */
export async function measuredApp(metrics: DynamicModule): Promise<TestApp> {
  const store = new FakeLockStore();
  const app = await startModule({
    imports: [ScheduleModule.forRoot(), SchedulerLockModule.forRoot({ store }), metrics],
    providers: [Measured, Feed],
  });
  const jobs = app.get(Measured);
  await until(() => jobs.ran > 0 && app.events.some(isEvent('leader-elected')));
  const seen = (type: string): boolean => app.events.some((event) => event.type === type);
  await jobs.hollow();
  await jobs.failing().catch(() => undefined);
  await store.hold('failing');
  await jobs.failing();
  await store.free('failing');
  const killed = { name: 'killed', token: 'of a killed instance', holder: 'killed', job: 'Measured.killed' };
  await store.acquire({ ...killed, ttl: 1, history: true });
  await until(async () => {
    await jobs.killed();
    return seen('interrupted');
  });
  const lost = jobs.lost();
  await until(() => app.events.some((event) => event.type === 'acquired' && event.lock === 'lost'));
  store.goAway();
  await until(() => seen('renewal-failed'));
  await jobs.unlocked();
  await until(() => seen('lost'));
  store.comeBack();
  jobs.gate.open();
  await lost;
  await until(() => app.events.some((event) => event.type === 'released' && event.lock === 'lost'));
  await app.get(SchedulerLockService).run('one for Alice', { job: 'import' }, () => 'done');
  await until(() => app.events.some(isEvent('outage-ended')));
  void jobs.going();
  await until(() => app.events.some((event) => event.type === 'acquired' && event.lock === 'going'));
  return app;
}
