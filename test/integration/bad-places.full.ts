import { afterEach, describe, expect, it } from '@jest/globals';
import { Inject, Injectable, Module, Scope, type Provider } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { Cron, Interval, Timeout } from '@nestjs/schedule';
import { type Duration, SchedulerLock, SchedulerLockModule } from '../../lib/index.js';
import { closeApps, startApp, startModule, startFailure as failure } from './app.js';
import { locksOnly } from '../support/locks-only.js';

const INTRO = 'nestjs-scheduler-lock is misconfigured';

afterEach(closeApps);

describe('a place where a lock cannot work', () => {
  it('is refused when the module is imported twice', async () => {
    @Module({ imports: [SchedulerLockModule.forRoot({ store: 'memory', ttl: '2m' })] })
    class Feature {}
    expect(
      await failure(startModule({ imports: [SchedulerLockModule.forRoot({ store: 'memory' }), Feature] })),
    ).toBe(
      `${INTRO}: SchedulerLockModule: it is imported more than once. Call forRoot() or forRootAsync() once, in the root module.`,
    );
  });

  const COME_AND_GO =
    '@SchedulerLock() on a request-scoped or transient provider (it is so by itself, or by what it injects). Its instances come and go, and the scheduler does not fire their methods. Move the method to a provider with the default scope.';

  it.each([
    ['request', Scope.REQUEST],
    ['transient', Scope.TRANSIENT],
  ])('is refused on a provider of the scope %s', async (_name, scope) => {
    @Injectable({ scope })
    class Jobs {
      @SchedulerLock()
      async report() {}
    }
    expect(await failure(startApp([Jobs]))).toBe(`${INTRO}: Jobs.report: ${COME_AND_GO}`);
  });

  it('is refused on a provider that is request-scoped by what it injects, an inherited method included', async () => {
    class Base {
      @SchedulerLock()
      async report() {}
    }
    @Injectable()
    class Jobs extends Base {
      constructor(@Inject(REQUEST) readonly request: unknown) {
        super();
      }
    }
    expect(await failure(startApp([Jobs]))).toBe(`${INTRO}: Jobs.report: ${COME_AND_GO}`);
  });

  it('is refused on intervals and timeouts that are longer than the timers of Node, which would fire without a pause', async () => {
    @Injectable()
    class Jobs {
      @Interval(30 * 86_400_000)
      @SchedulerLock()
      async monthly() {}
      @SchedulerLock()
      @Timeout(2_147_483_648)
      async once() {}
      @Interval(2_147_483_647)
      @SchedulerLock()
      async longest() {}
    }
    const why = 'is given more than the timers of Node keep, 24.8 days: it would fire at once. Use @Cron().';
    expect(await failure(startApp([Jobs]))).toBe(
      `${INTRO}, 2 problems:\n  - Jobs.monthly: @Interval() ${why}\n  - Jobs.once: @Timeout() ${why}`,
    );
  });

  it('is refused when two classes of one name make two jobs of one default name', async () => {
    const make = (): new () => object => {
      @Injectable()
      class Jobs {
        @SchedulerLock()
        async report() {}
      }
      return Jobs;
    };
    const [first, second] = [make(), make()];
    expect(await failure(startApp([first, second]))).toBe(
      `${INTRO}: Jobs.report: job: "Jobs.report" is the job of another class of this name already, and they would share their ticks. ` +
        'Give one of them a `job` (and a `name`) of its own.',
    );
  });

  it('is refused when two classes of one name make one job of two locks, as mixins do', async () => {
    const make = (name: string): new () => object => {
      @Injectable()
      class Jobs {
        @SchedulerLock({ name })
        async report() {}
      }
      return Jobs;
    };
    expect(await failure(startApp([make('invoices'), make('orders')]))).toBe(
      `${INTRO}: Jobs.report: job: "Jobs.report" is the job of another class of this name already, and they would share their ticks. ` +
        'Give one of them a `job` (and a `name`) of its own.',
    );
  });

  it.each([
    ['of one class', 'Jobs', 'Jobs'],
    ['of two classes', 'Jobs', 'Others'],
  ])('is refused when two methods %s have one explicit job', async (_, first, second) => {
    const make = (name: string, key: string): new () => object => {
      const Class = { [name]: class {} }[name] as new () => object;
      const descriptor = { value: async () => undefined, configurable: true, writable: true };
      SchedulerLock({ job: 'billing', name: key })(Class.prototype as object, key, descriptor);
      Object.defineProperty(Class.prototype, key, descriptor);
      return Class;
    };
    const Jobs = make(first, 'send');
    const providers: Provider[] = [{ provide: 'A', useClass: Jobs }];
    if (second !== first) providers.push(make(second, 'remind'));
    else {
      const descriptor = { value: async () => undefined, configurable: true, writable: true };
      SchedulerLock({ job: 'billing' })(Jobs.prototype as object, 'remind', descriptor);
      Object.defineProperty(Jobs.prototype, 'remind', descriptor);
    }
    expect(await failure(startApp(providers))).toBe(
      `${INTRO}: ${second}.remind: job: "billing" is the job of ${first}.send already, and they would share their ticks. Give one of them a \`job\` (and a \`name\`) of its own.`,
    );
  });

  it('is refused when an explicit job is the default one of another method', async () => {
    @Injectable()
    class Jobs {
      @SchedulerLock()
      async report() {}
      @SchedulerLock({ job: 'Jobs.report', name: 'other' })
      async other() {}
    }
    expect(await failure(startApp([Jobs]))).toContain(
      'Jobs.other: job: "Jobs.report" is the job of Jobs.report',
    );
  });

  it('is refused when two classes inherit a method with an explicit job, but not for instances and overrides of one', async () => {
    class Base {
      @SchedulerLock({ job: 'billing' })
      async send() {}
    }
    @Injectable()
    class Invoices extends Base {
      @SchedulerLock({ job: 'billing' })
      override async send() {
        await super.send();
      }
    }
    @Injectable()
    class Orders extends Base {}
    await startApp([Invoices, { provide: 'SECOND', useClass: Invoices }]);
    expect(await failure(startApp([Invoices, Orders]))).toContain(
      'Orders.send: job: "billing" is the job of Invoices.send already',
    );
  });

  it('is refused on a method that has one already, when the class is defined', () => {
    expect(() => {
      class Jobs {
        @SchedulerLock('outer')
        @Cron('0 3 * * *')
        @SchedulerLock('inner')
        async report() {}
      }
      return Jobs;
    }).toThrow(`${INTRO}: @SchedulerLock() on Jobs.report: it is there twice. Leave one of them out.`);
  });

  it('is told once for a provider with aliases', async () => {
    @Injectable()
    class Jobs {
      @SchedulerLock({ ttl: 1 })
      async report() {}
    }
    expect(await failure(startApp([Jobs, { provide: 'ALIAS', useExisting: Jobs }]))).toBe(
      `${INTRO}: Jobs.report: ttl: 1 is out of range. Give 100 ms to 30 days.`,
    );
  });

  it('is refused on a static method, an accessor, a property and a class, when the class is defined', () => {
    const lock = SchedulerLock() as unknown as (...target: unknown[]) => void;
    class Jobs {
      static all() {}
      get next() {
        return 1;
      }
      report() {}
    }
    const at = (target: object, key: string) => () =>
      lock(target, key, Object.getOwnPropertyDescriptor(target, key));
    expect(at(Jobs, 'all')).toThrow(
      `${INTRO}: @SchedulerLock() on Jobs.all: static methods cannot be locked, as Nest does not manage them. Make it an instance method.`,
    );
    expect(at(Jobs.prototype, 'next')).toThrow(
      `${INTRO}: @SchedulerLock() on Jobs.next: accessors cannot be locked. Make it a method.`,
    );
    expect(at(Jobs.prototype, 'missing')).toThrow(
      `${INTRO}: @SchedulerLock() on Jobs.missing: only methods can be locked, and this is a property. Make it a method: async missing() { … }.`,
    );
    expect(() => lock(Jobs)).toThrow(
      `${INTRO}: @SchedulerLock() on the class Jobs: put it on the method that is to be locked.`,
    );
    expect(at(Jobs.prototype, 'report')).not.toThrow();
  });

  it('is refused on a generator method, when the class is defined', () => {
    const refusal = (name: string) =>
      `${INTRO}: @SchedulerLock() on Jobs.${name}: a generator does its work for whoever iterates over it, without the lock. ` +
      'Make it an async method that iterates inside.';
    const decorate: MethodDecorator = SchedulerLock();
    expect(() => {
      class Jobs {
        @decorate
        *report() {
          yield 1;
        }
      }
      void Jobs;
    }).toThrow(refusal('report'));
    expect(() => {
      class Jobs {
        @decorate
        async *stream() {
          yield 1;
        }
      }
      void Jobs;
    }).toThrow(refusal('stream'));
  });

  it('opens no connection', async () => {
    let opened = false;
    const store = {
      ...locksOnly,
      init: async () => void (opened = true),
      acquire: () => Promise.reject(new Error('never')),
      extend: () => Promise.reject(new Error('never')),
      release: () => Promise.reject(new Error('never')),
    };
    expect(await failure(startApp([], { store, ttl: 'bad' as Duration }))).toContain("ttl: 'bad'");
    expect(opened).toBe(false);
  });
});
