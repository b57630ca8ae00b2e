import type { Found } from '../../../lib/nest/bound-job.js';
import { expect, test } from '@jest/globals';
import { Interval } from '@nestjs/schedule';
import { startWarnings } from '../../../lib/nest/start-warnings.js';

const SEVERAL = 'The scheduler fires the same method of several instances: ';

test('a class of which there are several instances is told of by its methods, in the order in which they were found', () => {
  const [Mails, Reports] = [classOf('Mails', 2), classOf('Reports', 1)];
  const found = [
    ...methodsOf(new Mails(), 'Billing'),
    ...methodsOf(new Reports(), 'Billing'),
    ...methodsOf(new Mails(), 'Shop'),
  ];
  const two = '(2 instances, of Billing and Shop)';
  expect(startWarnings(found, true)).toEqual([
    expect.stringContaining(`${SEVERAL}Mails.job0 ${two}, Mails.job1 ${two}. `),
  ]);
});

test('two classes of one name are two classes, and a method that is found twice of one instance has one', () => {
  const overridden = new (classOf('Mails', 1))();
  const found = [
    ...methodsOf(new (classOf('Mails', 1))(), 'Billing'),
    ...methodsOf(overridden, 'Shop'),
    ...methodsOf(overridden, 'Shop'),
  ];
  expect(startWarnings(found, true)).toEqual([]);
});

test('twice as many methods are looked at twice as often, not four times', () => {
  const looks = (methods: number): number => {
    let count = 0;
    const found = methodsOf(new (classOf('Mails', methods))(), 'Billing').map((one) => ({
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

function methodsOf(instance: object, module: string): Found[] {
  const keys = Object.getOwnPropertyNames(Object.getPrototypeOf(instance)).filter((key) =>
    key.startsWith('job'),
  );
  return keys.map((key) => {
    const method: Found['method'] = { key, options: {}, method: () => undefined, guard: () => undefined };
    const bound = { job: `${instance.constructor.name}.${key}` } as Found['bound'];
    return { instance, module, method, bound };
  });
}
