import type { Beat, InstanceRecord, KnownJob } from '../../../lib/contract/history-store.js';
import { answers, check, show } from '../../../lib/testing/port/assert.js';
import type { CaseDefinition } from './case.js';
import { history } from './history-moves.js';
import { HOUR, type Kit } from './kit.js';

const JOBS: readonly KnownJob[] = [
  {
    job: 'Jobs.é"\'%',
    lock: 'a',
    kind: 'cron',
    schedule: '0 3 * * *',
    timeZone: 'UTC',
    enabled: true,
    overdue: 60_000,
  },
  { job: 'Jobs.often', kind: 'interval', interval: 5_000, enabled: false, overdue: false },
];

const beat = (kit: Kit, fields: Partial<Beat> = {}): Beat =>
  Object.freeze({
    instance: kit.name('instance'),
    startedAt: 1_760_000_000_000,
    every: 30_000,
    leads: [],
    catalogue: kit.name('catalogue'),
    left: false,
    ...fields,
  });

/** An instance of this case: there may be others on the same server. The answer must have it once. */
async function instance(kit: Kit, id: string): Promise<InstanceRecord> {
  const all = await history(kit).instances();
  const [found, twice] = all.filter((each) => each.instance === id);
  check(
    found !== undefined && twice === undefined,
    () => `instances should show ${show(id)} once, but got ${show(all)}`,
  );
  return found;
}

/** Rule 18: which instances there are. */
export const registryCases: readonly CaseDefinition[] = [
  {
    rule: '18.1',
    sentence: 'a list of jobs has to come once, from any instance',
    needs: ['history'],
    async run(kit) {
      const tells = (fields: Partial<Beat>) => history(kit).beat(beat(kit, fields));
      answers(await tells({}), { known: false }, 'a beat with an unknown list of jobs');
      answers(await tells({ jobs: JOBS }), { known: true }, 'a beat that brings its list of jobs');
      const other = kit.name('other');
      answers(await tells({ instance: other }), { known: true }, 'a beat of another instance with that list');
      for (const { jobs } of [await instance(kit, other), await instance(kit, kit.name('instance'))])
        check(
          text(jobs) === text(JOBS),
          () => `instances should tell the jobs ${show(JOBS)}, but got ${show(jobs)}`,
        );
      answers(
        await tells({ catalogue: kit.name('new') }),
        { known: false },
        'a beat with a new list of jobs',
      );
    },
  },
  {
    rule: '18.1',
    sentence: 'a brief beat is kept over one of the same instance with the same list of jobs',
    needs: ['history'],
    async run(kit) {
      const tells = (fields: Partial<Beat>) => history(kit).beat(beat(kit, fields));
      const refused = async (fields: Partial<Beat>, what: string): Promise<void> =>
        answers(
          await tells({ ...fields, brief: true }),
          { known: false, time: undefined },
          `a brief beat ${what}`,
        );
      await refused({}, 'where nothing is known');
      await tells({ jobs: JOBS, every: 5_000 });
      await refused({ instance: kit.name('other') }, 'of an instance that is not known');
      await refused({ catalogue: kit.name('new'), every: 7_000 }, 'with a new list of jobs');
      answers(await instance(kit, kit.name('instance')), { left: false, every: 5_000 }, 'instances');
      const kept = await tells({ brief: true, left: true });
      answers(kept, { known: true, time: undefined }, 'a brief beat');
      const { jobs, ...facts } = await instance(kit, kit.name('instance'));
      answers(facts, { left: true, every: 30_000 }, 'instances');
      check(
        text(jobs) === text(JOBS),
        () => `instances should tell the jobs ${show(JOBS)}, but got ${show(jobs)}`,
      );
      const all = await history(kit).instances();
      check(
        all.every(({ instance: id }) => id !== kit.name('other')),
        () => `${show(all)} has a refused instance`,
      );
    },
  },
  {
    rule: '18.1',
    sentence: 'an instance is listed once, as of its last beat',
    needs: ['history'],
    async run(kit) {
      const first = beat(kit, { jobs: JOBS });
      await history(kit).beat(first);
      const absent = { version: undefined, clockOffset: undefined, left: false };
      answers(await instance(kit, first.instance), absent, 'instances');
      const { catalogue, ...second } = beat(kit, {
        every: 10_000,
        withTicks: true,
        application: '@shop/api',
        version: '1.2 "é"',
        clockOffset: -15,
        leads: ['main'],
        stopped: [1],
        added: { 0: 1_750_000_000_000 },
        left: true,
      });
      await history(kit).beat({ ...second, catalogue });
      const found = await instance(kit, first.instance);
      const facts = Object.fromEntries(Object.entries(found).filter(([key]) => Object.hasOwn(second, key)));
      check(
        text(facts) === text(second),
        () => `instances should tell the last beat ${show(second)}, but got ${show(found)}`,
      );
    },
  },
  {
    rule: '18.2',
    sentence:
      "an instance is listed with the time when it was seen, and with the store's time, which goes on",
    needs: ['history'],
    async run(kit) {
      const { time = NaN } = await history(kit).beat(beat(kit, { jobs: JOBS }));
      const { seenAt } = await instance(kit, kit.name('instance'));
      check(
        Math.abs(seenAt - time) < HOUR,
        () => `an instance should be seen when its beat was answered (${time}), but was at ${seenAt}`,
      );
      await kit.until('the time that instances tell should go on', async () => {
        const later = await instance(kit, kit.name('instance'));
        return later.time > seenAt && later.seenAt === seenAt;
      });
    },
  },
  {
    rule: '18.2',
    sentence: 'the times of instances are those of the store, whatever their own clocks say',
    needs: ['history', 'skewInstanceClock'],
    async run(kit) {
      const { time: before = NaN } = await history(kit).beat(beat(kit, { jobs: JOBS }));
      await kit.skewInstanceClock(2 * HOUR);
      try {
        const { time: after = NaN } = await history(kit).beat(beat(kit));
        const { seenAt, time } = await instance(kit, kit.name('instance'));
        const ahead = [after, seenAt, time].map((each) => each - before);
        check(
          ahead.every((ms) => ms < HOUR),
          () => `the times should be about the same, but the later ones are ${show(ahead)} ms ahead`,
        );
      } finally {
        await kit.skewInstanceClock(0);
      }
    },
  },
];

/** For comparisons: a store may keep fields in another order. */
function text(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    item !== null && typeof item === 'object' && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}
