import type { Found } from '../../../lib/nest/bound-job.js';
import { expect, test } from '@jest/globals';
import { Interval } from '@nestjs/schedule';
import { startWarnings } from '../../../lib/nest/start-warnings.js';

test('twice as many methods are looked at twice as often, not four times', () => {
  const looks = (methods: number): number => {
    let count = 0;
    const found = methodsOf(new (classOf('Mails', methods))()).map((one) => ({
      ...one,
      get instance() {
        count += 1;
        return one.instance;
      },
    }));
    expect(startWarnings(found, true)).toEqual([]);
    return count;
  };
  expect(looks(200)).toBe(2 * looks(100));
});

/** A class with so many methods that the scheduler fires. */
function classOf(name: string, methods: number): new () => object {
  const Jobs = { [name]: class {} }[name] as new () => object;
  for (let i = 0; i < methods; i++) {
    const value = async (): Promise<void> => undefined;
    Interval(1_000)(Jobs.prototype as object, `job${i}`, { value });
    Object.defineProperty(Jobs.prototype, `job${i}`, { value });
  }
  return Jobs;
}

function methodsOf(instance: object): Found[] {
  const keys = Object.getOwnPropertyNames(Object.getPrototypeOf(instance)).filter((key) =>
    key.startsWith('job'),
  );
  return keys.map((key) => {
    const method: Found['method'] = { key, options: {}, method: () => undefined, guard: () => undefined };
    const bound = { job: `${instance.constructor.name}.${key}` } as Found['bound'];
    return { instance, method, bound };
  });
}
