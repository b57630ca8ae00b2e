import { describe, expect, it } from '@jest/globals';
import { SchedulerLock } from '../../../../lib/index.js';

/*
 * What the compiler says is the test: `npm run check` fails if one of these lines compiles and should not,
 * because then its `@ts-expect-error` has nothing to expect.
 */
class Jobs {
  @SchedulerLock()
  async promise() {
    return 1;
  }
  @SchedulerLock('name')
  nothing(): void {}
  @SchedulerLock({ name: (id: string) => id })
  async exactly(_id: string) {}
  @SchedulerLock({ name: (id: string) => id })
  async more(_id: string, _rest: { pages: number }, ..._others: number[]) {}
  @SchedulerLock({ name: (id: string, page = 0) => `${id}-${page}` })
  async optional(_id: string, _page?: number) {}
  @SchedulerLock({ name: () => 'fixed' })
  async none(_id: string) {}
  // @ts-expect-error its callers would get a promise instead of the number
  @SchedulerLock()
  plain(): number {
    return 1;
  }
  // @ts-expect-error the name is made of a string, and the method is called with a number
  @SchedulerLock({ name: (id: string) => id })
  async other(_id: number) {}
  // @ts-expect-error no option of this name
  @SchedulerLock({ name: 'x', heartBeat: '3m' })
  async typo() {}
}

describe('the type of @SchedulerLock()', () => {
  it('compiles on methods that return a promise or nothing, with a name made of their first arguments', () => {
    expect(Object.getOwnPropertyNames(Jobs.prototype)).toHaveLength(10);
  });
});
