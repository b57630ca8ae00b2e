import 'reflect-metadata';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Injectable, Module, type INestApplicationContext, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { createObserveModule } from '@nestjs/observe';
import { Cron, Interval, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import {
  currentLock,
  MemoryLockStore,
  SchedulerLock,
  SchedulerLockEvents,
  SchedulerLockModule,
  SchedulerLockService,
  type SchedulerLockEvent,
  type SchedulerLockModuleOptions,
} from '../../lib/index.js';
import { until } from '../support/until.js';
import { LogLines } from './app.js';
import { DAY, daily, dieIn, request, runIn } from './tick-support.js';

type Wrap = (instance: unknown) => unknown;

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** A function that is called as `call` says, and looks like the method. */
function dressed(method: object, call: (args: unknown[]) => unknown): object {
  const wrapper = (...args: unknown[]): unknown => call(args);
  for (const key of Reflect.getMetadataKeys(method) as unknown[])
    Reflect.defineMetadata(key, Reflect.getMetadata(key, method), wrapper);
  return wrapper;
}

/** Wraps as libraries do: each method is called on the object behind the proxy. */
const onTarget: Wrap = (instance) => {
  if (!isObject(instance)) return instance;
  const made = new WeakMap<object, object>();
  return new Proxy(instance, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== 'function' || key === 'constructor') return value;
      const method = value as (...args: unknown[]) => unknown;
      const wrapper = made.get(method) ?? dressed(method, (args) => Reflect.apply(method, target, args));
      made.set(method, wrapper);
      return wrapper;
    },
  });
};

/** Methods of classes without `#private` members are called on the proxy. */
const onProxy: Wrap = (instance) => {
  if (!isObject(instance) || instance instanceof Map || /#\w/.test(String(instance.constructor)))
    return instance;
  return new Proxy(instance, {
    get: (target, key, receiver) => Reflect.get(target, key, receiver) as unknown,
  });
};

/** Each look gives another function. */
const anew: Wrap = (instance) => {
  if (!isObject(instance)) return instance;
  return new Proxy(instance, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== 'function' || key === 'constructor') return value;
      return dressed(value, (args) => Reflect.apply(value, target, args));
    },
  });
};

const { ObserveInstrument } = createObserveModule();
const WRAPS: readonly (readonly [by: string, wrap: Wrap])[] = [
  ['NestJS Observe', (instance) => ObserveInstrument?.instanceDecorator(instance)],
  ['proxies that call methods on what is behind them', onTarget],
  ['proxies that call methods on themselves', onProxy],
];

interface Started {
  readonly app: INestApplicationContext;
  readonly events: SchedulerLockEvent[];
  readonly logs: LogLines;
  fire(name: string): Promise<void>;
}

const open = new Set<INestApplicationContext>();
afterEach(async () => {
  jest.restoreAllMocks();
  for (const app of open) await app.close();
  open.clear();
});

async function start(
  wrap: Wrap,
  jobs: readonly Type<object>[],
  store: MemoryLockStore,
  options: SchedulerLockModuleOptions = {},
): Promise<Started> {
  const events: SchedulerLockEvent[] = [];
  const logs = new LogLines();
  @Module({
    imports: [ScheduleModule.forRoot(), SchedulerLockModule.forRoot({ store, ...options })],
    providers: [
      ...jobs,
      {
        provide: 'LISTENER',
        inject: [SchedulerLockEvents],
        useFactory: (told: SchedulerLockEvents) => told.on((event) => void events.push(event)),
      },
    ],
  })
  class App {}
  const app = await NestFactory.createApplicationContext(App, {
    logger: logs,
    abortOnError: false,
    instrument: { instanceDecorator: wrap },
  });
  open.add(app);
  const fire = async (name: string): Promise<void> => {
    const before = events.length;
    await app.get(SchedulerRegistry, { strict: false }).getCronJob(name).fireOnTick();
    await until(() => events.slice(before).some(({ type }) => type === 'skipped' || type === 'released'), {
      message: `${name} to run or to be skipped`,
    });
  };
  return { app, events, logs, fire };
}

const skips = ({ events }: Started): string[] =>
  events.flatMap((event) => (event.type === 'skipped' ? [event.reason] : []));
const warnings = ({ logs }: Started): string[] => logs.own.filter((line) => /^(warn|error|fatal)/.test(line));

describe.each(WRAPS)('beside %s', (_, wrap) => {
  test('a job runs once for each tick over the fleet, and its start warns of nothing', async () => {
    const { expression, tick } = daily();
    const ticks: (number | undefined)[] = [];
    @Injectable()
    class Nightly {
      @Cron(expression, { name: 'nightly', timeZone: 'UTC' })
      @SchedulerLock()
      async run(): Promise<void> {
        ticks.push(currentLock().tick);
      }
    }
    const store = new MemoryLockStore();
    const [one, other] = [await start(wrap, [Nightly], store), await start(wrap, [Nightly], store)];
    await one.fire('nightly');
    await other.fire('nightly');
    expect(ticks).toEqual([tick]);
    expect(skips(other)).toEqual(['already-ran']);
    expect([...warnings(one), ...warnings(other)]).toEqual([]);
  });

  test('a job of a class with private members runs, with its tick', async () => {
    const { expression, tick } = daily();
    const ticks: (number | undefined)[] = [];
    @Injectable()
    class Nightly {
      readonly #ticks = ticks;
      @Cron(expression, { name: 'nightly', timeZone: 'UTC' })
      @SchedulerLock()
      async run(): Promise<void> {
        this.#ticks.push(currentLock().tick);
      }
    }
    const one = await start(wrap, [Nightly], new MemoryLockStore());
    await one.fire('nightly');
    expect(ticks).toEqual([tick]);
  });

  test('a tick that nobody ran is caught up at the start, and one of a holder that died is run again', async () => {
    const { expression, tick } = daily();
    const runs: string[] = [];
    @Injectable()
    class Nightly {
      @Cron(expression, { name: 'missed', timeZone: 'UTC' })
      @SchedulerLock({ name: 'missed', job: 'missed', catchUp: '1h' })
      async missed(): Promise<void> {
        runs.push(`missed ${currentLock().tick === tick}`);
      }
      @Cron(expression, { name: 'died', timeZone: 'UTC' })
      @SchedulerLock({ name: 'died', job: 'died', ttl: '1s', rerun: 1 })
      async died(): Promise<void> {
        runs.push(`died ${currentLock().attempt}`);
      }
    }
    const store = new MemoryLockStore();
    await runIn(store, request('missed', tick - DAY));
    await dieIn(store, request('died', tick));
    await start(wrap, [Nightly], store);
    await until(() => runs.length >= 2, { message: () => `two runs, not ${runs.join()}` });
    expect(runs.toSorted()).toEqual(['died 2', 'missed true']);
  });

  test('calls by hand run through the lock: from outside, from the object itself, and from its constructor', async () => {
    const held: string[] = [];
    @Injectable()
    class Mails {
      readonly fromConstructor = (): Promise<void> => this.send();
      @SchedulerLock('mails')
      async send(): Promise<void> {
        held.push(currentLock().name);
      }
      async twice(): Promise<void> {
        await this.send();
        await this.send();
      }
    }
    const { app } = await start(wrap, [Mails], new MemoryLockStore());
    const mails = app.get(Mails);
    await mails.send();
    await mails.twice();
    await mails.fromConstructor();
    expect(held).toEqual(['mails', 'mails', 'mails', 'mails']);
  });

  test('an interval runs once over the fleet, and a job is made at run time, with its ticks', async () => {
    const runs: string[] = [];
    @Injectable()
    class Often {
      @Interval('often', 200)
      @SchedulerLock()
      async run(): Promise<void> {
        runs.push('often');
      }
    }
    const one = await start(wrap, [Often], new MemoryLockStore());
    const locks = one.app.get(SchedulerLockService);
    const ticks: (number | undefined)[] = [];
    locks.cron('made', '* * * * * *', {}, async () => void ticks.push(currentLock().tick));
    locks.interval('made often', 200, {}, async () => void runs.push('made often'));
    expect(() => locks.cron('wrong', 'never', {}, async () => undefined)).toThrow('cron cannot make a job');
    const registry = one.app.get(SchedulerRegistry, { strict: false });
    expect([...registry.getCronJobs().keys()]).toEqual(['made']);
    await until(() => new Set(runs).size === 2 && ticks.length > 0);
    expect(ticks.map((tick) => (tick ?? Number.NaN) % 1_000)).toEqual(ticks.map(() => 0));
    expect(warnings(one)).toEqual([]);
  });

  test('an alias of a provider fires its job twice, and it runs once, with its tick', async () => {
    const { expression, tick } = daily();
    const ticks: (number | undefined)[] = [];
    @Injectable()
    class Nightly {
      @Cron(expression, { timeZone: 'UTC' })
      @SchedulerLock()
      async run(): Promise<void> {
        ticks.push(currentLock().tick);
      }
    }
    const aliases = [
      { provide: 'ALIAS', useExisting: Nightly },
      { provide: 'FACTORY', inject: [Nightly], useFactory: (jobs: Nightly) => jobs },
    ] as unknown as Type<object>[];
    const one = await start(wrap, [Nightly, ...aliases], new MemoryLockStore());
    const fired = [...one.app.get(SchedulerRegistry, { strict: false }).getCronJobs().values()];
    for (const job of fired) void job.fireOnTick();
    await until(() => skips(one).length + ticks.length >= 3);
    expect({ fired: fired.length, ticks, skips: skips(one).length }).toEqual({
      fired: 3,
      ticks: [tick],
      skips: 2,
    });
    expect(warnings(one)).toEqual([]);
  });

  test('a spy on the class or on the provider is still called', async () => {
    const { expression } = daily();
    @Injectable()
    class Nightly {
      runs = 0;
      @Cron(expression, { name: 'nightly', timeZone: 'UTC' })
      @SchedulerLock()
      async run(): Promise<void> {
        this.runs++;
      }
    }
    const { app } = await start(wrap, [Nightly], new MemoryLockStore());
    const nightly = app.get(Nightly);
    const onClass = jest.spyOn(Nightly.prototype, 'run');
    await nightly.run();
    expect(onClass).toHaveBeenCalledTimes(1);
    jest.spyOn(nightly, 'run');
    await nightly.run();
    expect(nightly.runs).toBe(2);
  });

  test('what was bound is free again for another application when this one is closed', async () => {
    @Injectable()
    class Mails {
      @SchedulerLock()
      async send(): Promise<string> {
        return currentLock().name;
      }
    }
    const mails = new Mails();
    const provider = { provide: Mails, useFactory: () => mails } as unknown as Type<object>;
    const { app } = await start(wrap, [provider], new MemoryLockStore());
    await expect(start(wrap, [provider], new MemoryLockStore())).rejects.toThrow('already bound');
    await app.close();
    open.delete(app);
    const again = await start(wrap, [provider], new MemoryLockStore());
    expect(await again.app.get(Mails).send()).toBe('Mails.send');
    expect(Object.keys(mails)).toEqual([]);
  });
});

test('a wrapper that makes a function for each look is refused for scheduled jobs, which would run on every instance', async () => {
  class Mails {
    @SchedulerLock('mails')
    async send(): Promise<string> {
      return currentLock().name;
    }
  }
  class Nightly extends Mails {
    @Cron(daily().expression)
    @SchedulerLock()
    async run(): Promise<void> {}
  }
  await expect(start(anew, [Nightly], new MemoryLockStore())).rejects.toThrow(
    'Nightly.run: what wraps its provider makes another function each time the method is looked up',
  );
  const { app } = await start(anew, [Mails], new MemoryLockStore());
  expect(await app.get(Mails).send()).toBe('mails');
});

test('a frozen object is bound; behind a proxy that calls it, its calls are refused', async () => {
  @Injectable()
  class Mails {
    constructor() {
      Object.freeze(this);
    }
    @SchedulerLock()
    async send(): Promise<string> {
      return currentLock().name;
    }
  }
  const plain = await start((instance) => instance, [Mails], new MemoryLockStore());
  expect(await plain.app.get(Mails).send()).toBe('Mails.send');
  expect(warnings(plain)).toEqual([]);
  const { app } = await start(onTarget, [Mails], new MemoryLockStore());
  await expect(app.get(Mails).send()).rejects.toThrow('no SchedulerLockModule has bound it');
});

test('mocks and providers that throw when they are looked at do not stop the start, and nothing of them is bound', async () => {
  class Mails {
    @SchedulerLock()
    async send(): Promise<string> {
      return currentLock().name;
    }
  }
  const answers = jest.fn(() => new Mails());
  const mock = new Proxy(Object.create(Mails.prototype) as object, {
    get: (_, key) => (key === 'constructor' ? Mails : key === 'then' ? undefined : answers),
  });
  // What Nest itself looks for.
  const HOOKS = /^(on|before)[A-Z]|^(then|constructor)$/;
  const throwing = new Proxy(Object.create(null) as object, {
    get: (_, key) => {
      if (HOOKS.test(String(key))) return undefined;
      throw new Error(`nothing is here yet: ${String(key)}`);
    },
  });
  const provide = (value: object) => ({ provide: Symbol('odd'), useFactory: () => value });
  const odd = [provide(mock), provide(throwing)] as unknown as Type<object>[];
  await start((instance) => instance, odd, new MemoryLockStore());
  await expect(new Mails().send()).rejects.toThrow('no SchedulerLockModule has bound it');
});
