import { afterEach, describe, expect, it } from '@jest/globals';
import { Inject, Injectable, Module, Scope, type Provider } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { SchedulerLock, SchedulerLockModule } from '../../lib/index.js';
import { closeApps, startApp, startModule, startFailure as failure } from './app.js';

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
      `${INTRO}: Jobs.report: two different classes of this name have this method, and both jobs would be "Jobs.report". ` +
        'Give at least one of them a `job` (and a `name`) of its own.',
    );
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

  it('is refused on a class without a name', async () => {
    class Named {
      @SchedulerLock()
      async report() {}
    }
    Object.defineProperty(Named, 'name', { value: '' });
    const anonymous: Provider = { provide: 'ANONYMOUS', useValue: new Named() };
    expect(await failure(startApp([anonymous]))).toBe(
      `${INTRO}: .report: the class has no name, so its jobs have none either. Give \`job\`, and \`name\` if the lock is to be called otherwise.`,
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
      `${INTRO}: @SchedulerLock() on Jobs.missing: only methods can be locked, and this is a property.`,
    );
    expect(() => lock(Jobs)).toThrow(
      `${INTRO}: @SchedulerLock() on the class Jobs: put it on the method that is to be locked.`,
    );
    expect(at(Jobs.prototype, 'report')).not.toThrow();
  });

  it('opens no connection', async () => {
    let opened = false;
    const store = {
      init: async () => void (opened = true),
      acquire: () => Promise.reject(new Error('never')),
      extend: () => Promise.reject(new Error('never')),
      release: () => Promise.reject(new Error('never')),
    };
    expect(await failure(startApp([], { store, ttl: 'bad' }))).toContain("ttl: 'bad'");
    expect(opened).toBe(false);
  });
});
