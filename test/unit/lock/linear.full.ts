import { countWork } from './support/count-work.js';
import { describe, expect, it } from '@jest/globals';
import { LockRunner } from '../../../lib/lock/lock-runner.js';
import { MemoryLockStore } from '../../../lib/stores/memory/memory-lock.store.js';
import { Harness, type StartedJob } from './harness.js';
import { brokenConnection, notConnected, silence } from './scripted-store.js';

/** What happens to this many calls, each of a lock of its own. */
type Scenario = (app: Harness, names: readonly string[]) => Promise<void>;

const startAll = (app: Harness, names: readonly string[]): StartedJob[] =>
  names.map((name) => app.launch(name));

/** The work for so many calls, per call. */
async function workPerCall(calls: number, scenario: Scenario): Promise<number> {
  const app = new Harness();
  const names = Array.from({ length: calls }, (_, i) => `import-${i}`);
  const work = await countWork(() => scenario(app, names));
  expect(work).toBeGreaterThan(calls);
  return work / calls;
}

const SCENARIOS: readonly [string, Scenario][] = [
  [
    'attempts that are not answered in time, and their releases neither, until the store is back',
    async (app, names) => {
      app.store.breakDown(silence);
      startAll(app, names);
      await app.clock.advance(120_000);
      app.store.recover();
      app.store.announce();
      await app.clock.advance(60_000);
    },
  ],
  [
    'attempts whose connection breaks, and whose releases find nothing',
    async (app, names) => {
      app.store.always('acquire', brokenConnection);
      startAll(app, names);
      await app.clock.advance(60_000);
    },
  ],
  [
    'jobs that end while the store is away',
    async (app, names) => {
      const jobs = startAll(app, names);
      await app.clock.advance(0);
      app.store.breakDown(notConnected);
      for (const job of jobs) job.end();
      await app.clock.advance(120_000);
      app.store.recover();
      await app.clock.advance(60_000);
    },
  ],
  [
    'jobs that lose their leases, and end then',
    async (app, names) => {
      const jobs = startAll(app, names);
      await app.clock.advance(0);
      app.store.breakDown(notConnected);
      await app.clock.advance(60_000);
      app.store.recover();
      for (const job of jobs) job.end();
      await app.clock.advance(60_000);
    },
  ],
  [
    'calls that wait in line, one after another',
    async (app, names) => {
      const { clock } = app;
      const store = new MemoryLockStore({ clock });
      const runner = new LockRunner(store, 'here', clock, () => undefined, 2_000);
      for (const name of names) {
        await store.acquire({ name, token: name, ttl: 100, holder: 'there' });
        const waits = runner.run(app.call(name, { wait: 1_000 }), () => 'ran');
        await clock.advance(200);
        expect(await waits).toEqual({ ran: true, value: 'ran' });
      }
    },
  ],
  [
    'calls that a shutdown finds unanswered',
    async (app, names) => {
      app.store.breakDown(silence);
      startAll(app, names);
      await app.clock.advance(60_000);
      const closed = app.runner.shutdown(1_000);
      await app.clock.advance(10_000);
      await closed;
    },
  ],
];

describe('the work for each of thousands of calls does not grow with their number, with', () => {
  it.each(SCENARIOS)('%s', async (_, scenario) => {
    const [few, many] = [await workPerCall(250, scenario), await workPerCall(2_000, scenario)];
    expect(many / few).toBeLessThan(1.5);
  });
});
