import 'reflect-metadata';
import { Global, Injectable, Module, type OnApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import {
  DocumentLockStore,
  type LockStore,
  SchedulerLockModule,
  SchedulerLockService,
} from 'nestjs-scheduler-lock';
import { childMain } from '../../support/child.js';
import { createApp } from './application.js';

/*
 * An application whose store, from the moment it is told to, answers nothing, and holds no socket that would keep the process alive.
 * When it is told to close it lets its parent go, so that nothing but the shutdown itself does.
 */

const never = (): Promise<never> => new Promise(() => undefined);

let silent = false;
let fencingToken = 0;

const nothing = new DocumentLockStore({ read: never, write: never, renew: never });
const store: LockStore = Object.assign(nothing, {
  acquire: async () => (silent ? never() : { acquired: true, fencingToken: (fencingToken += 1) }),
  extend: async (leases) => (silent ? never() : leases.map(() => ({ held: true }))),
  release: async () => (silent ? never() : { released: true }),
  close: never,
} satisfies Partial<LockStore>);

/** Of another module, so its hooks run when those of the locks are over. */
@Injectable()
class Neighbour implements OnModuleDestroy, OnApplicationShutdown {
  onModuleDestroy(): void {
    console.log('the neighbour is destroyed');
  }

  onApplicationShutdown(): void {
    console.log('the neighbour is shut down');
  }
}

@Module({ providers: [Neighbour] })
class NeighbourModule {}

@Global()
@Module({
  imports: [
    NeighbourModule,
    SchedulerLockModule.forRoot({
      store,
      ttl: 3_000,
      heartbeat: 500,
      storeTimeout: 300,
      shutdownTimeout: 200,
    }),
  ],
})
class AppModule {}

childMain(async (parent) => {
  const app = await createApp(AppModule);
  const locks = app.get(SchedulerLockService);
  const started = new Promise<void>((resolve) => {
    void locks.run('running', () => {
      resolve();
      return never();
    });
  });
  parent.on('close', async () => {
    await started;
    silent = true;
    void locks.run('asked for', () => undefined);
    process.removeAllListeners('disconnect');
    process.disconnect();
    await app.close();
    console.log('closed');
  });
  await parent.send({ type: 'ready' });
});
