import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { type INestApplicationContext, Module } from '@nestjs/common';
import {
  type AcquiredLock,
  LockNotAcquiredError,
  SchedulerLockModule,
  type SchedulerLockModuleOptions,
  SchedulerLockService,
} from 'nestjs-scheduler-lock';
import { createApp } from '../../faults/children/application.js';
import { openStore, type StoreAddress } from '../../faults/children/open-store.js';
import { childMain, type Parent } from '../../support/child.js';
import { heldUntil, nanoseconds, WitnessFile } from '../witness.js';

/*
 * An instance of a Nest service that shares its locks with ShedLock, set up as docs/stores/shedlock.md says: the other side of ../java.
 * Started by ../stage.ts.
 */

export interface NestOptions {
  readonly who: string;
  readonly witness: string;
  readonly postgres: string;
  readonly mariadb: string;
  readonly redis: string;
  readonly table: string;
  readonly env: string;
}

/** What the parent asks for, and what for. */
export interface Asked {
  readonly type: 'ask';
  readonly id: number;
  readonly command: 'lock' | 'still' | 'unlock' | 'inspect' | 'crowd' | 'end';
  readonly place: string;
  readonly name: string;
  readonly ttl: number;
  readonly atLeast: number;
}

/** What {@link Crowd} takes: the other side is Crowd.java. */
const TTL = 2_000;
const CROWD = [
  { name: 'brief-1', atLeast: 0, most: 3 },
  { name: 'brief-2', atLeast: 0, most: 3 },
  { name: 'least', atLeast: 100, most: 3 },
  { name: 'long', atLeast: 0, most: TTL * 1.5 },
];
const PAUSE = 20;

const options = JSON.parse(process.argv[2] ?? '') as NestOptions;
const witness = new WitnessFile(options.witness, options.who);
const services = new Map<string, SchedulerLockService>();
const held = new Map<string, { lock: AcquiredLock; claim: string; kept: number }>();
const crowd: Promise<void>[] = [];
let over = false;

async function open(place: string, store: StoreAddress, key?: (name: string) => string): Promise<void> {
  const opened = await openStore(store);
  const keyed = key === undefined ? {} : { key };
  const settings = { ...opened.options, ...keyed, instanceId: options.who, insight: false };

  @Module({ imports: [SchedulerLockModule.forRoot(settings as SchedulerLockModuleOptions)] })
  class Instance {}

  const app: INestApplicationContext = await createApp(Instance);
  services.set(place, app.get(SchedulerLockService));
}

function fail(error: unknown): void {
  console.error(error);
  process.exit(1);
}

function serviceOf(place: string): SchedulerLockService {
  const service = services.get(place);
  if (service === undefined) throw new Error(`no place ${place}`);
  return service;
}

/** `atLeast` is left out rather than 0. */
const kept = (atLeast: number): { atLeast?: number } => (atLeast > 0 ? { atLeast } : {});

/** Answers `taken`, or why not. */
async function lock({ place, name, ttl, atLeast }: Asked): Promise<object> {
  const asked = nanoseconds();
  try {
    const taken = await serviceOf(place).acquire(name, { ttl, ...kept(atLeast) });
    const claim = witness.claim();
    witness.write('holds', claim, `${place}/${name}`, heldUntil(asked, ttl));
    held.set(`${place}/${name}`, { lock: taken, claim, kept: heldUntil(asked, atLeast) });
    return { taken: true };
  } catch (error) {
    if (error instanceof LockNotAcquiredError)
      return { taken: false, reason: error.reason, holder: error.holder };
    throw error;
  }
}

function of({ place, name }: Asked): { lock: AcquiredLock; claim: string; kept: number } {
  const one = held.get(`${place}/${name}`);
  if (one === undefined) throw new Error(`${place}/${name} is not held here`);
  return one;
}

/** A busy machine may let a lease run out: then the witness is told nothing more. */
function isHeld(lock: Pick<AcquiredLock, 'assertLocked'>): boolean {
  try {
    lock.assertLocked();
    return true;
  } catch {
    return false;
  }
}

/** Whether the lock is held at this moment, as far as we know: then the witness is told. */
function still({ place, name }: Asked): object {
  const one = held.get(`${place}/${name}`);
  const now = nanoseconds();
  if (one === undefined || !isHeld(one.lock)) return { held: false };
  witness.write('holds', one.claim, `${place}/${name}`, now);
  return { held: true };
}

async function unlock(asked: Asked): Promise<object> {
  const { lock: taken, claim, kept } = of(asked);
  witness.write('ends', claim, `${asked.place}/${asked.name}`, Math.max(nanoseconds(), kept));
  await taken.release();
  return {};
}

async function takeTurns(place: string, { name, atLeast, most }: (typeof CROWD)[number]): Promise<void> {
  while (!over) {
    const asked = nanoseconds();
    await serviceOf(place).run(name, { ttl: TTL, ...kept(atLeast) }, async (lease) => {
      const { signal } = lease;
      const claim = witness.claim();
      const what = `${place}/${name}`;
      witness.write('holds', claim, what, heldUntil(asked, TTL));
      const end = nanoseconds() + Math.random() * most * 1_000_000;
      while (!over && !signal.aborted && nanoseconds() < end) {
        await sleep(most > 10 ? 50 : 1);
        const now = nanoseconds();
        if (isHeld(lease)) witness.write('holds', claim, what, now);
      }
      witness.write('ends', claim, what, Math.max(nanoseconds(), heldUntil(asked, atLeast)));
    });
    await sleep(Math.random() * PAUSE);
  }
}

const COMMANDS: Readonly<Record<Asked['command'], (asked: Asked) => object | Promise<object>>> = {
  lock,
  still,
  unlock,
  inspect: async ({ place }) => ({ infos: await serviceOf(place).inspect() }),
  crowd: () => {
    for (const place of services.keys())
      for (const one of CROWD) crowd.push(takeTurns(place, one).catch(fail));
    return {};
  },
  end: async () => {
    over = true;
    await Promise.all(crowd);
    return {};
  },
};

childMain(async (parent: Parent) => {
  const { postgres, mariadb, redis, table, env } = options;
  await open('postgres', { database: { url: postgres, table } });
  await open('mariadb', { database: { url: mariadb, table } });
  await open('redis', { connection: redis }, (name) => `job-lock:${env}:${name}`);
  parent.on('ask', async (message) => {
    const asked = message as unknown as Asked;
    const answer = await COMMANDS[asked.command](asked);
    await parent.send({ type: 'answer', id: asked.id, ...answer });
  });
  await parent.send({ type: 'ready' });
});
