import 'reflect-metadata';
import { Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import {
  currentLock,
  LeaderElection,
  type LeaderHooks,
  LOCK_STORE,
  type Lock,
  type LockStore,
  type RevokedReason,
  SchedulerLeader,
  SchedulerLock,
  SchedulerLockEvents,
  SchedulerLockModule,
} from 'nestjs-scheduler-lock';
import { childMain, type Parent } from '../../support/child.js';
import type { CandidateOptions } from '../support/leader-fleet.js';
import { closeOnDemand, createApp } from './application.js';
import { openStore } from './open-store.js';

/*
 * One instance of a fleet that elects a leader for its jobs (`main`) and one for a feed (`feed`). Tells its parent when
 * it begins and ceases to lead, until when each answer of the store lets it believe that it does, and what runs.
 */

const { store, ttl, instanceId } = JSON.parse(process.env['FAULT_OPTIONS'] ?? '{}') as CandidateOptions;

let parent: Parent;
const tell = (type: string, facts: object): void => void parent.send({ type, at: now(), ...facts });

/** CLOCK_MONOTONIC, ms: one clock for all processes of the machine. */
const now = (): number => Number(process.hrtime.bigint() / 1_000n) / 1_000;

/** Until when the sender of a call may believe in a lease that it confirms: see DEADLINES in the README's guarantees. */
const until = (sent: number): number => sent + ttl - (ttl * 0.01 + 2);

@Injectable()
class Witness implements OnModuleInit {
  constructor(
    private readonly modules: ModuleRef,
    private readonly events: SchedulerLockEvents,
  ) {}

  onModuleInit(): void {
    const leases = this.modules.get<LockStore>(LOCK_STORE, { strict: false });
    const { acquire, extend } = {
      acquire: leases.acquire.bind(leases),
      extend: leases.extend.bind(leases),
    };
    leases.acquire = async (request) => {
      const sent = now();
      const result = await acquire(request);
      if (result.acquired) tell('confirmed', { lock: request.name, until: until(sent) });
      return result;
    };
    leases.extend = async (refs, options) => {
      const sent = now();
      const results = await extend(refs, options);
      for (const [index, { held }] of results.entries()) {
        if (held) tell('confirmed', { lock: refs[index]?.name, until: until(sent) });
      }
      return results;
    };
    this.events.on('leader', (event) => {
      if (event.phase === 'elected') tell('elected', { lock: event.lock, wall: Date.now() });
      if (event.phase === 'revoked') tell('revoked', { lock: event.lock, reason: event.reason });
    });
  }
}

@Injectable()
@LeaderElection('feed', { ttl })
class Feed implements LeaderHooks {
  onElected({ signal }: Lock): void {
    tell('hook', { hook: 'onElected' });
    signal.addEventListener('abort', () => tell('hook', { hook: 'aborted' }));
    // Not within this hook: its end is still to come.
    setImmediate(() => void resignIfAsked());
  }

  onRevoked(reason: RevokedReason): void {
    tell('hook', { hook: 'onRevoked', reason });
  }
}

@Injectable()
class Jobs {
  @Cron('* * * * * *', { name: 'plain' })
  plain(): void {
    tell('run', { job: 'plain' });
  }

  @Cron('* * * * * *', { name: 'guarded', timeZone: 'UTC' })
  @SchedulerLock({ name: 'guarded', job: 'guarded', ttl: '1s' })
  async guarded(): Promise<void> {
    tell('run', { job: 'guarded', tick: currentLock().tick });
  }
}

/** Whether the next run of the job `hung` is to last until this instance is killed. */
let hang = false;

@Injectable()
class Hung {
  @Cron('*/5 * * * * *', { name: 'hung', timeZone: 'UTC' })
  // Until it has ended, one tick comes, whenever in its run the instance is killed; and the one after that only seconds later.
  @SchedulerLock({ name: 'hung', job: 'hung', ttl: '6s', heartbeat: false })
  async hung(): Promise<void> {
    tell('run', { job: 'hung', tick: currentLock().tick, hangs: hang });
    if (hang) await new Promise(() => undefined);
  }
}

/** Whether this instance is to give up the feed, once, when it leads it. */
let resigns = false;
let resign: () => Promise<boolean>;

async function resignIfAsked(): Promise<void> {
  if (resigns && (await resign())) resigns = false;
}

childMain(async (channel) => {
  parent = channel;
  const opened = await openStore(store);
  const options = { ...opened.options, instanceId, leader: { name: 'main', ttl } };
  @Module({
    imports: [ScheduleModule.forRoot(), SchedulerLockModule.forRoot(options)],
    providers: [Witness, Feed, Jobs, Hung],
  })
  class AppModule {}
  // What `cron` says of a machine that is too busy.
  console.warn = () => undefined;
  const app = await createApp(AppModule);
  const leader = app.get(SchedulerLeader);
  resign = () => leader.resign('feed');
  parent.on('resign', async ({ on }) => {
    resigns = on === true;
    if (resigns) await resignIfAsked();
    else tell('stays', {});
  });
  parent.on('hang', ({ on }) => {
    hang = on === true;
  });
  parent.on('judge', () => tell('judged', { feed: leader.isLeader('feed'), main: leader.isLeader() }));
  closeOnDemand(parent, app, opened);
  await parent.send({ type: 'ready' });
});
