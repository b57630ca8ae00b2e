import type { LockInfo } from '../../../lib/contract/lock-info.js';
import { answers, check, show } from '../../../lib/testing/port/assert.js';
import type { CaseDefinition } from './case.js';
import { checkExpiry, HOUR, type Kit, SHORT } from './kit.js';

const TICK = 1_760_000_000_000;

/** The answer of inspect about one lock. There may be locks of other tests on the same server. */
async function info(kit: Kit, name: string): Promise<LockInfo> {
  const infos = (await kit.store.inspect?.()) ?? [];
  const [found, twice] = infos.filter((each) => each.name === name);
  check(
    found !== undefined,
    () => `inspect should show ${show(name)}, but shows ${show(infos.map((each) => each.name))}`,
  );
  check(
    twice === undefined,
    () => `inspect should show ${show(name)} once, but shows ${show([found, twice])}`,
  );
  return found;
}

/** Rule 9: looking without touching. */
export const inspectCases: readonly CaseDefinition[] = [
  {
    rule: '9.1',
    sentence: 'inspect shows who holds a lock, since when, for how long, and with which fencing token',
    needs: ['inspects'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      const { holder, fencingToken } = lease;
      const held = await info(kit, lease.name);
      answers(held, { state: 'held', holder, fencingToken }, 'inspect of a held lock');
      checkExpiry({ acquired: false, reason: 'held', ...held }, lease.ttl, 'inspect of a held lock');
      check(
        (held.since ?? 0) > 0,
        () => `since should be when the lease began, but is ${String(held.since)}`,
      );
      await kit.stillHeld(lease, 'after inspect');
    },
  },
  {
    rule: '9.1',
    sentence: 'inspect distinguishes kept, held and free locks',
    needs: ['inspects'],
    async run(kit) {
      const kept = await kit.take(kit.name('kept'));
      await kit.store.release(kept, { keepFor: HOUR });
      answers(
        await info(kit, kept.name),
        { state: 'cooling-down', holder: kept.holder },
        'inspect of a kept lock',
      );
      const released = await kit.take(kit.name('released'));
      await kit.store.release(released);
      const free = { state: 'free', expiresIn: undefined };
      answers(await info(kit, released.name), free, 'inspect of a released lock');
      const expired = await kit.take(kit.name('expired'), { ttl: SHORT });
      const [next] = await kit.takeExpired(expired.name, `after a lease of ${SHORT} ms`);
      answers(
        await info(kit, expired.name),
        { state: 'held', holder: next?.holder },
        'inspect of a lock taken over',
      );
    },
  },
  {
    rule: '9.1',
    sentence: 'inspect shows the last tick of each job and how it ended, or when its interval is due',
    needs: ['inspects'],
    async run(kit) {
      const name = kit.name();
      const quick = await kit.take(name, { job: 'Contract.quick', tick: TICK, schedule: '* * * * *' });
      await kit.store.release(quick, { outcome: 'failed' });
      const interval = await kit.take(name, { job: 'Contract.interval', interval: HOUR });
      await kit.store.release(interval);
      await kit.take(name, { job: 'Contract.slow: é%s', tick: TICK + 1 });
      const { jobs } = await info(kit, name);
      const of = (job: string): object => jobs.find((each) => each.job === job) ?? {};
      answers(
        of('Contract.quick'),
        { tick: TICK, attempt: 1, outcome: 'failed' },
        'inspect of a job that failed',
      );
      const running = { tick: TICK + 1, attempt: 1, outcome: undefined };
      answers(of('Contract.slow: é%s'), running, 'inspect of a job that is running');
      const { due = 0 } = of('Contract.interval') as { due?: number };
      check(
        due > HOUR,
        () => `inspect should tell when an interval is due, but says ${show(of('Contract.interval'))}`,
      );
    },
  },
  {
    rule: '9.1',
    sentence: 'inspect of some names shows only those locks, and none that the store does not know',
    needs: ['inspects'],
    async run(kit) {
      const [some, other] = [await kit.take(kit.name('some')), await kit.take(kit.name('other'))];
      const infos = (await kit.store.inspect?.([some.name, kit.name('unknown'), some.name])) ?? [];
      const names = infos.map(({ name }) => name);
      check(
        names.length === 1 && names[0] === some.name,
        () => `inspect should show ${show([some.name])} only, but shows ${show(names.sort())}`,
      );
      const nothing = await kit.store.inspect?.([]);
      check(
        nothing?.length === 0,
        () => `inspect of no names should tell nothing, but tells ${show(nothing)}`,
      );
      await kit.stillHeld(other, 'after inspect');
    },
  },
  {
    rule: '9.1',
    sentence: 'inspect shows the time of the store, by which the leases of all locks began',
    needs: ['inspects'],
    async run(kit) {
      const [first, second] = [await kit.take(kit.name('first')), await kit.take(kit.name('second'))];
      const before = await info(kit, first.name);
      await kit.wait(SHORT);
      const after = await info(kit, second.name);
      check(
        before.time >= (before.since ?? Infinity) && after.time > before.time,
        () => `inspect should answer the time, which goes on, but answered ${show([before, after])}`,
      );
    },
  },
];
