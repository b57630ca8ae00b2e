import { afterEach, describe, expect, it } from '@jest/globals';
import { type RunOptions, SchedulerLockConfigError, SchedulerLockService } from '../../lib/index.js';
import { closeApps, NotedStore, startApp } from './app.js';

afterEach(closeApps);

const INTRO = 'nestjs-scheduler-lock is misconfigured: ';
const CALL = 'Call run(name, job) or run(name, options, job). Nothing was run.';
const job = async () => undefined;

type Run = (...args: unknown[]) => Promise<unknown>;

async function startLocks() {
  const store = new NotedStore();
  const app = await startApp([], { store });
  return { store, locks: app.get(SchedulerLockService) };
}

describe('a call of run()', () => {
  it.each<[what: string, args: unknown[], problem: string]>([
    ['without a function', ['x'], `run("x"): there is no function to run, but undefined. ${CALL}`],
    [
      'with options and no function',
      ['x', { ttl: '1m' }],
      `run("x"): there is no function to run, but an object of class Object. ${CALL}`,
    ],
    ['with text for a function', ['x', {}, 'y'], `run("x"): there is no function to run, but 'y'. ${CALL}`],
    [
      'with the function before the options',
      ['x', job, { ttl: '1m' }],
      `run("x"): there is no function to run, but an object of class Object. ${CALL}`,
    ],
    [
      'with a function for a name',
      [job],
      `run((function)): there is no function to run, but undefined. ${CALL}`,
    ],
    [
      'with options that are a duration',
      ['x', '1m', job],
      "lock \"x\": '1m' is given where its options go, such as { ttl: '10m' }.",
    ],
    [
      'with options that are null',
      ['x', null, job],
      'lock "x": null is given where its options go, such as { ttl: \'10m\' }.',
    ],
    [
      'with onSkip',
      ['x', { onSkip: 'throw' }, job],
      'lock "x": onSkip: there is no such option here. There are job, history, tick, signal, ttl, heartbeat, timeout, atLeast, wait, priority, enabled, onStoreError.',
    ],
    [
      'with catchUp',
      ['x', { catchUp: '1h' }, job],
      'lock "x": catchUp: there is no such option here. There are job, history, tick, signal, ttl, heartbeat, timeout, atLeast, wait, priority, enabled, onStoreError.',
    ],
    [
      'with a misspelt option',
      ['x', { timeOut: '1h' }, job],
      'lock "x": timeOut: there is no such option here. Did you mean `timeout`?',
    ],
  ])('%s rejects before anything is taken', async (_what, args, problem) => {
    const { store, locks } = await startLocks();
    const error: unknown = await (locks.run.bind(locks) as Run)(...args).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SchedulerLockConfigError);
    expect((error as Error).message).toBe(INTRO + problem);
    expect(store.calls).toEqual(['init']);
  });

  it('may leave its options undefined', async () => {
    const { locks } = await startLocks();
    const run = locks.run.bind(locks) as Run;
    expect(await run('x', undefined, () => 1)).toEqual({ ran: true, value: 1 });
  });
});

it('a call of acquire() with a function rejects before anything is taken', async () => {
  const { store, locks } = await startLocks();
  await expect(locks.acquire('x', job as RunOptions)).rejects.toThrow(
    `${INTRO}lock "x": a function is given where its options go, such as { ttl: '10m' }.`,
  );
  expect(store.calls).toEqual(['init']);
});
