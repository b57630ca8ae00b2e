import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Board } from '../../../../lib/show/board/board.js';
import { Fleet, HOUR, MINUTE, NOW } from '../../../board/support/fleet.js';
import { boardOf, partOf, textOf } from './support/viewed.js';
import { misplaced } from './support/markup.js';

let fleet: Fleet;
let board: Board;

beforeEach(async () => {
  fleet = new Fleet();
  board = boardOf(fleet);
  await fleet.to(NOW - HOUR);
  await fleet.beat({ instance: 'worker-1', version: '1.0.0', startedAt: NOW - HOUR });
});

const shown = async (id: string, query = ''): Promise<string> => {
  // Past the time for which one answer of the store serves all.
  await fleet.clock.advance(3_000);
  return textOf(await partOf(board, id, query));
};

describe('the lease of a run', () => {
  const lease = { name: 'ExportJobs.warehouse', token: 'it', ttl: HOUR, holder: 'worker-1' };

  test('that nobody was seen to renew is held, and not called renewed', async () => {
    await fleet.store.acquire({ ...lease, job: 'ExportJobs.warehouse', history: true });
    expect(await shown('running')).toContain('worker-1 is up held, 60 min left');
    expect(await shown('running')).toMatch(/is up held, 59.9 min left *$/);
    await fleet.clock.advance(2 * MINUTE);
    expect(await shown('running')).toMatch(/gives no sign of life held, 57.9 min left *$/);
  });

  test('is not called renewed for the lease of another lock with the same fencing token', async () => {
    const job = 'SearchJobs.reindex';
    const other = { name: job, job, token: 'other', ttl: 30 * MINUTE, holder: 'worker-1', history: true };
    const grants = [
      await fleet.store.acquire({ ...lease, job: 'ExportJobs.warehouse', history: true }),
      await fleet.store.acquire(other),
    ];
    const [one, two] = grants.map((grant) => grant.acquired && grant.fencingToken);
    expect(one).toBe(two);
    await shown('running');
    expect(await shown('running')).not.toContain('renewed');
  });

  test('that was renewed between two looks is renewed, since the look before', async () => {
    const grant = await fleet.store.acquire({ ...lease, job: 'ExportJobs.warehouse', history: true });
    expect(await shown('running')).not.toContain('renewed');
    await fleet.clock.advance(7_000);
    await fleet.store.extend([{ ...lease, fencingToken: grant.acquired ? grant.fencingToken : 0 }]);
    expect(await shown('running')).toContain('held, 60 min left, renewed in the last 10 s');
    expect(await shown('running')).toContain('held, 59.9 min left, renewed in the last 13 s');
  });
});

describe('an outage whose end nobody has told', () => {
  const FROM = NOW - 50 * MINUTE;
  const LAST = NOW - 40 * MINUTE;
  beforeEach(async () => {
    await fleet.to(LAST + MINUTE);
    await fleet.miss('RefreshJobs.refresh', LAST, 'worker-1', 'store-unavailable', { since: FROM });
    await fleet.to(NOW);
  });

  test('is drawn to the last time at which it is known to have gone on, and says so', async () => {
    expect(await shown('outages')).toContain(
      '19:27:30 not told: it still went on at 19:37:30 at least 10 min worker-1',
    );
    const widths = async (id: string): Promise<string[]> =>
      [...(await partOf(board, id, 'hours=1')).matchAll(/<rect class="outage"[^>]* width="([\d.]+)%"/g)].map(
        ([, width = '']) => width,
      );
    // Ten minutes of an hour.
    expect(await widths('outages')).toEqual(['16.67']);
    expect(await widths('changes')).toEqual(['16.67']);
    expect(await shown('changes')).toContain(
      'The store was away on worker-1: ticks of RefreshJobs.refresh were missed. Nobody has told when it came back',
    );
  });
});

test('an outage has its end when all who told of it tell of that, too', async () => {
  const [since, until] = [NOW - 50 * MINUTE, NOW - 38 * MINUTE];
  await fleet.to(NOW);
  for (const job of ['RefreshJobs.refresh', 'CleanupJobs.sweep'])
    await fleet.miss(job, NOW - 40 * MINUTE, 'worker-1', 'store-unavailable', { since, until });
  expect(await shown('outages')).toContain('19:27:30 19:39:30 12 min worker-1');
});

test('the fencing token of a lock that is held is shown: with it, one can break the lease', async () => {
  const grant = await fleet.store.acquire({
    name: 'ExportJobs.warehouse',
    token: 'it',
    ttl: HOUR,
    holder: 'worker-1',
  });
  if (!grant.acquired) throw new Error('not acquired');
  expect(await shown('locks')).toContain(String(grant.fencingToken));
});

test('the next fires of a job that is paused say so, and until when', async () => {
  const job = 'PriceJobs.poll';
  expect(await shown('fires', `job=${job}`)).toContain('more than 24 times');
  expect(await shown('fires', `job=${job}`)).not.toContain('paused');
  const length = NOW + HOUR - fleet.clock.now();
  await fleet.store.pause(job, { id: 1, actor: 'ada', reason: 'migration', length });
  expect(await shown('fires', `job=${job}`)).toContain('paused until 21:17:30');
});

test('who looks for a job keeps the zone and the hours', async () => {
  await fleet.clock.advance(3_000);
  const html = await partOf(board, 'jobs', 'hours=24&zone=Europe/Berlin');
  const kept = [...html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)];
  expect(kept.map(([, name, value]) => `${name}=${value}`).sort()).toEqual([
    'hours=24',
    'zone=Europe/Berlin',
  ]);
});

describe('switches', () => {
  const part = async (job: string): Promise<string> => {
    await fleet.clock.advance(3_000);
    const html = await partOf(board, 'switches', `job=${job}`);
    expect(misplaced(html)).toEqual([]);
    return html;
  };

  test('a pause lasts a week unless somebody chooses another time', async () => {
    const options = [...(await part('RefreshJobs.refresh')).matchAll(/<option([^>]*)>(\w+)/g)];
    expect(options.map(([, selected, length]) => `${length}${selected}`)).toEqual([
      '1h',
      '4h',
      '1d',
      '7d selected',
      '30d',
    ]);
  });

  test('a resume has a reason', async () => {
    await fleet.store.pause('RefreshJobs.refresh', {
      id: 1,
      actor: 'ada',
      reason: 'migration',
      length: HOUR,
    });
    const [, form = ''] =
      /<form[^>]*resume"[^>]*>(.*?)<\/form>/s.exec(await part('RefreshJobs.refresh')) ?? [];
    expect(form).toContain('name="reason"');
  });

  test('a dead letter is put back by its id, or all of them', async () => {
    await fleet.dead('WebhookJobs.deliver', 12);
    const html = await part('WebhookJobs.deliver');
    expect(textOf(html)).toContain('Put back all 12 dead');
    const ids = [...html.matchAll(/<input type="hidden" name="id" value="([^"]*)"/g)].map(([, id]) => id);
    expect(ids).toHaveLength(10);
    expect(new Set(ids).size).toBe(10);
    expect(textOf(html)).toContain('2 more: npx nestjs-scheduler-lock locks --json lists them');
  });
});
