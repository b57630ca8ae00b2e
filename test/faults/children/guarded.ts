import '../../chaos/worker/shift-clock.js';
import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { currentLock, SchedulerLock, SchedulerLockEvents, SchedulerLockModule } from 'nestjs-scheduler-lock';
import { CommitGuard, type GuardQuery } from 'nestjs-scheduler-lock/guard';
import { childMain, type Parent } from '../../support/child.js';
import { kindOf } from '../../support/events.js';
import type { Fate, GuardedJob, Stage } from '../support/guarded.js';
import type { InstanceOptions } from '../support/instance.js';
import { closeOnDemand, createApp } from './application.js';
import { openStore } from './open-store.js';

/*
 * One instance of a fleet with a scheduled job, `nightly`, which writes three invoices for each tick in one transaction. Its parent says
 * of each run where it stops or dies. Started by ../support/guarded.ts.
 */

const { store: address, ...given } = JSON.parse(process.env['FAULT_OPTIONS'] ?? '{}') as InstanceOptions;
const store = await openStore(address);
const options = { ...given, ...store.options };
const { expression, guarded, url, table } = JSON.parse(process.env['FAULT_JOB'] ?? '{}') as GuardedJob;
const dialect = url.startsWith('mysql:') ? 'mysql' : 'postgres';
const guard = new CommitGuard({ dialect, table: `${table}_guard` });

/** A connection of its own: it is the transaction. */
interface Session {
  query(text: string, values?: unknown[]): Promise<unknown>;
  end(): unknown;
}

async function connect(): Promise<Session> {
  if (dialect === 'mysql') {
    const { createConnection } = await import('mysql2/promise');
    return createConnection(url) as Promise<Session>;
  }
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  return client as unknown as Session;
}

let parent: Parent;
let letFate: (fate: Fate) => void = () => undefined;
let goOn = (): void => undefined;

/** What its fate is at this moment of a run. */
async function reach(stage: Stage, fate: Fate): Promise<void> {
  if (fate.dies === stage) process.kill(process.pid, 'SIGKILL');
  if (fate.stops !== stage) return;
  const going = new Promise<void>((resolve) => (goOn = resolve));
  await parent.send({ type: 'stopped', stage });
  await going;
}

/** Writes the invoices of a tick, in one transaction. */
async function invoice(session: Session, tick: number | undefined, fate: Fate): Promise<void> {
  let asked = false;
  // The moment between the look at the lease and the statement of the guard.
  const asking: GuardQuery = async (text, values) => {
    if (!asked) await reach('guard', fate);
    asked = true;
    return session.query(text, values);
  };
  await session.query('START TRANSACTION');
  if (guarded) await guard.commit(fate.stops === 'guard' || fate.dies === 'guard' ? asking : session);
  else await reach('guard', fate);
  for (const customer of [1, 2, 3]) {
    await session.query(`INSERT INTO ${table} VALUES ('${tick}/${customer}')`);
    if (customer === 2) await reach('work', fate);
  }
  await reach('commit', fate);
  const committed = session.query('COMMIT');
  if (fate.dies === 'committing') setImmediate(() => process.kill(process.pid, 'SIGKILL'));
  await committed;
  await reach('committed', fate);
}

@Injectable()
class Jobs {
  @Cron(expression, { name: 'nightly', timeZone: 'UTC' })
  @SchedulerLock({ name: 'nightly', job: 'nightly' })
  async nightly(): Promise<void> {
    const { tick, attempt, fencingToken } = currentLock();
    const told = new Promise<Fate>((resolve) => (letFate = resolve));
    await parent.send({ type: 'job-started', tick, attempt, fencingToken });
    const fate = await told;
    const session = await connect();
    try {
      await reach('begin', fate);
      await invoice(session, tick, fate);
    } catch (error) {
      await session.query('ROLLBACK').catch(() => undefined);
      throw error;
    } finally {
      await session.end();
    }
  }
}

@Module({ imports: [ScheduleModule.forRoot(), SchedulerLockModule.forRoot(options)], providers: [Jobs] })
class AppModule {}

childMain(async (channel) => {
  parent = channel;
  parent.on('fate', (message) => letFate(message as unknown as Fate));
  parent.on('go', () => goOn());
  parent.on('end', () => goOn());
  const app = await createApp(AppModule);
  app.get(SchedulerLockEvents).on((event) => {
    const { error } = event as { readonly error?: { readonly code?: unknown } };
    void parent.send({
      ...JSON.parse(JSON.stringify(event)),
      type: `event:${kindOf(event)}`,
      code: error?.code,
    });
  });
  parent.on('run', () => void app.get(SchedulerRegistry).getCronJob('nightly').fireOnTick());
  closeOnDemand(parent, app, store);
  await parent.send({ type: 'ready' });
});
