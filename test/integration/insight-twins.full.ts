import { afterEach, expect, test } from '@jest/globals';
import { MemoryLockStore } from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/index.js';
import { closeApps, startApp, type TestApp } from './app.js';

afterEach(closeApps);

const instanceId = 'web-1';
/** Longer than all that a process looks for another one. */
const LONG = 300_000;

const warnings = (...apps: TestApp[]): string[] =>
  apps.flatMap(({ logs }) => logs.own.filter((line) => line.includes('instanceId')));

/** Processes with one store and one instance id, whose clocks go on together. */
function processes() {
  const clock = new ManualClock();
  const store = new MemoryLockStore({ clock });
  return {
    start: (id: string = instanceId) => startApp([], { store, clock, instanceId: id }),
    advance: async (time: number) => {
      for (let passed = 0; passed < time; passed += 1_000) await clock.advance(Math.min(1_000, time));
    },
  };
}

test('two live processes with one instance id are told of, once', async () => {
  const { start, advance } = processes();
  const one = await start();
  await advance(LONG);
  const two = await start();
  await advance(LONG);
  expect(warnings(one)).toEqual([]);
  expect(warnings(two)).toEqual([
    expect.stringMatching(
      /^warn: instanceId: another live process is called "web-1" too .*Give each process an instanceId of its own/,
    ),
  ]);
});

test('so are two that start at the same time', async () => {
  const { start, advance } = processes();
  const one = await start();
  await advance(1);
  const apps = [one, await start()];
  await advance(LONG);
  expect(warnings(...apps).length).toBeGreaterThan(0);
});

test('a process that starts anew under its id is not, nor are two with ids of their own', async () => {
  const { start, advance } = processes();
  const one = await start();
  const other = await start('web-2');
  await advance(LONG);
  await one.close();
  const again = await start();
  await advance(LONG);
  expect(warnings(one, other, again)).toEqual([]);
});

test('nor is one that takes the place of a process that was killed, or that ends after it has started', async () => {
  const clocks = [new ManualClock(1_000_000), new ManualClock(1_000_500)] as const;
  const store = new MemoryLockStore({ clock: clocks[1] });
  const one = await startApp([], { store, clock: clocks[0], instanceId });
  const two = await startApp([], { store, clock: clocks[1], instanceId });
  // The first one shows itself once more. After that its clock stands still, as it was killed.
  await clocks[0].advance(30_000);
  for (let passed = 0; passed < LONG; passed += 1_000) await clocks[1].advance(1_000);
  expect(warnings(one, two)).toEqual([]);
});
