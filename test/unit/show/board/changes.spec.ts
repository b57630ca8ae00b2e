import { expect, test } from '@jest/globals';
import { changesOf } from '../../../../lib/show/board/changes.js';
import { lookedAt } from '../../../../lib/show/board/data/looked.js';
import { Insight } from '../../../../lib/insight/insight.js';
import type { KnownJob } from '../../../../lib/contract/history-store.js';
import { Fleet, HOUR, JOBS, MINUTE, NOW } from '../../../board/support/fleet.js';

/** Instances, by the minute in which they start. */
interface Started {
  readonly instance: string;
  readonly version: string;
  readonly jobs: readonly KnownJob[];
  /** Minutes after its start. @default never */
  readonly leaves?: number;
}

const jobs = (more: Partial<KnownJob> = {}): KnownJob[] =>
  JOBS.map((job) => (job.job === 'MailJobs.digest' ? { ...job, ...more } : job));

/** What changed, the oldest first, if one instance after the other starts, a minute apart. */
async function changed(kinds: string, started: readonly Started[]): Promise<string[]> {
  const fleet = new Fleet();
  const begin = NOW - HOUR;
  for (const [n, { instance, version, jobs: known }] of started.entries()) {
    const startedAt = begin + n * MINUTE;
    await fleet.to(startedAt);
    for (const [before, { leaves = Infinity, ...one }] of started.slice(0, n).entries())
      if (n - before <= leaves)
        await fleet.beat({
          ...one,
          clockOffset: 0,
          startedAt: begin + before * MINUTE,
          left: n - before === leaves,
        });
    await fleet.beat({ instance, version, jobs: known, clockOffset: 0, startedAt });
  }
  const looked = await lookedAt(await new Insight(fleet.store).look(200));
  const changes = await changesOf(looked, begin - MINUTE);
  return changes
    .filter(({ kind }) => kinds.includes(kind))
    .reverse()
    .map(({ text }) => text);
}

const OLD = jobs({ schedule: '0 7 * * *' });
const NEW = jobs();

test('a version that comes back is a change like the first one, and so is its schedule', async () => {
  const back: Started[] = [
    { instance: 'a', version: '1.0.0', jobs: OLD },
    { instance: 'b', version: '1.1.0', jobs: NEW },
    { instance: 'c', version: '1.0.0', jobs: OLD },
    { instance: 'd', version: '1.0.0', jobs: OLD },
  ];
  expect(await changed('version', back)).toEqual([
    'Version 1.1.0 after 1.0.0, first on b',
    'Version 1.0.0 after 1.1.0, first on c',
  ]);
  expect(await changed('schedule', back)).toEqual([
    'MailJobs.digest: 30 6 * * * Europe/Berlin after 0 7 * * * Europe/Berlin, first on b',
    'MailJobs.digest: 0 7 * * * Europe/Berlin after 30 6 * * * Europe/Berlin, first on c',
  ]);
});

test('a schedule that comes back without another version is a change, too, if no instance has it any more', async () => {
  const back: Started[] = [
    { instance: 'a', version: '1.0.0', jobs: OLD, leaves: 1 },
    { instance: 'b', version: '1.0.0', jobs: NEW },
    { instance: 'c', version: '1.0.0', jobs: OLD },
  ];
  expect(await changed('schedule', back)).toHaveLength(2);
});

test('instances of one version with different options change nothing when more of them start', async () => {
  const ON = jobs();
  const OFF = jobs({ enabled: false });
  const roles = (version: string): Started[] =>
    [ON, OFF, ON, OFF].map((known, n) => ({ instance: `${version}-${n}`, version, jobs: known }));
  expect(await changed('switch', [...roles('1.0.0'), ...roles('1.1.0')])).toEqual([
    'MailJobs.digest: switched off by its options, first on 1.0.0-1',
  ]);
});
