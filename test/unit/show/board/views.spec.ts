import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Board } from '../../../../lib/show/board/board.js';
import type { KnownJob } from '../../../../lib/contract/history-store.js';
import { StoreUnavailableError } from '../../../../lib/base/errors.js';
import { Fleet, HOUR, JOBS, MINUTE, NOW } from '../../../board/support/fleet.js';
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

/** The marks of a class, each as its attributes and its tooltip. */
async function marks(kind: string, query = 'hours=6'): Promise<string[]> {
  await fleet.clock.advance(3_000);
  const html = await partOf(board, 'jobs', query);
  const found = html.matchAll(new RegExp(`<(?:rect|path) class="${kind}"[^>]*>`, 'g'));
  return [...found].map(([mark]) => mark);
}
const titles = async (query = 'hours=6'): Promise<string[]> => {
  await fleet.clock.advance(3_000);
  return [...(await partOf(board, 'jobs', query)).matchAll(/<title>([^<]*)</g)].map(
    ([, title = '']) => title,
  );
};

describe('the strip of a job', () => {
  const lease = { name: 'ExportJobs.warehouse', token: 'it', ttl: HOUR, holder: 'worker-1' };

  test('has a bar for each run: how it went, for how long, and where, is its tooltip', async () => {
    const end = await fleet.start('ExportJobs.warehouse', NOW - HOUR, 'worker-1');
    await fleet.clock.advance(12 * MINUTE);
    await end('failed', 12 * MINUTE, 'SMTP 421');
    expect(await marks('run failed')).toHaveLength(2);
    expect(await titles()).toContain('today 19:17:30: failed after 12 min on worker-1\nSMTP 421');
  });

  test('has a bar also for a run of no time at all: a browser draws nothing that has no width', async () => {
    const end = await fleet.start('ExportJobs.warehouse', NOW - HOUR, 'worker-1');
    await end('failed', 0);
    const [, width = ''] = / width="([\d.]+)%"/.exec((await marks('run failed', 'hours=168'))[0] ?? '') ?? [];
    expect(Number(width)).toBeGreaterThan(0);
  });

  test('has a bar that goes on to the line of now', async () => {
    await fleet.store.acquire({ ...lease, job: 'ExportJobs.warehouse', history: true });
    await fleet.clock.advance(20 * MINUTE);
    // Six hours of eight have passed at the line of now: 20 minutes and 3 seconds of eight hours.
    const [bar = ''] = await marks('run running', 'hours=6&find=Export');
    const [, x = '', width = ''] = / x="([\d.]+)%" width="([\d.]+)%"/.exec(bar) ?? [];
    expect(Number(x) + Number(width)).toBeCloseTo(75, 1);
    expect(Number(width)).toBeCloseTo((20.05 / 480) * 100, 1);
  });

  test('has the tick that nobody started, with what instances have noted, and a link to the answer', async () => {
    const tick = NOW - 40 * MINUTE;
    await fleet.to(NOW - 30 * MINUTE);
    await fleet.miss('RefreshJobs.refresh', tick, 'worker-1', 'store-unavailable', {
      count: 3,
      since: tick - HOUR,
    });
    expect(await titles()).toContain(
      'today 19:37:30: nobody started this tick\nstore-unavailable on worker-1, 3 in a row',
    );
    const html = await partOf(board, 'jobs', 'hours=6');
    expect(html).toContain(`href="?job=RefreshJobs.refresh&amp;at=${tick}&amp;hours=6"`);
  });

  test('has its pause, also what of it is to come, and no date before its end', async () => {
    const job = 'PriceJobs.poll';
    const dates = async (): Promise<number> => (await marks('next', `hours=6&find=${job}`)).length;
    const before = await dates();
    await fleet.store.pause(job, { id: 1, actor: 'ada', reason: 'migration', length: HOUR });
    expect(await titles(`hours=6&find=${job}`)).toContainEqual(
      expect.stringMatching(/^Paused by ada today [\d:]+–today [\d:]+: migration$/),
    );
    expect(await dates()).toBeLessThan(before - 1);
    expect(textOf(await partOf(board, 'jobs', `find=${job}`))).toContain('paused since today');
  });

  test('of a job with very many runs has cells, of which each has the colour of its worst run', async () => {
    for (let n = 70; n > 0; n--) {
      await fleet.to(NOW - n * MINUTE * 0.8);
      const end = await fleet.start('SearchJobs.reindex', NOW - n * MINUTE, 'worker-1');
      await fleet.clock.advance(1_000);
      await end(n === 40 ? 'failed' : 'completed', 1_000);
    }
    const query = 'hours=6&find=Search';
    const found = [...(await marks('run completed', query)), ...(await marks('run failed', query))];
    expect(found.length).toBeGreaterThan(5);
    expect(found.length).toBeLessThan(40);
    expect(await titles(query)).toContainEqual(expect.stringMatching(/^\d+ runs from .*1 failed/));
  });

  test('does not say that there was no run before those that were read', async () => {
    const run = async (count: number): Promise<string> => {
      for (let n = 0; n < count; n++) {
        const end = await fleet.start('CleanupJobs.sweep', undefined, 'worker-1');
        await fleet.clock.advance(100);
        await end('completed', 10);
      }
      board = boardOf(fleet);
      return partOf(board, 'jobs', 'hours=6&find=Cleanup');
    };
    expect(await run(5)).not.toContain('class="unread"');
    const html = await run(20);
    expect(html).toContain('class="unread"');
    expect(html).toContain('Older runs than today 19:17:30 are not shown here');
  });
});

describe('behind all strips', () => {
  const FROM = NOW - 50 * MINUTE;
  const LAST = NOW - 40 * MINUTE;
  const axis = async (): Promise<string> => {
    await fleet.clock.advance(3_000);
    return /<svg class="axis".*?<\/svg>\s*<\/th>/s.exec(await partOf(board, 'jobs', 'hours=6'))?.[0] ?? '';
  };

  test('is an outage of the store, to the last time at which it is known to have gone on', async () => {
    await fleet.to(LAST + MINUTE);
    await fleet.miss('RefreshJobs.refresh', LAST, 'worker-1', 'store-unavailable', { since: FROM });
    await fleet.to(NOW);
    expect(await axis()).toContain(
      'The store was away today 19:27:30–19:37:30, or longer: nobody has told when',
    );
    // Ten minutes of eight hours.
    expect(await axis()).toMatch(/<rect class="outage" x="[\d.]+%" width="2.08%"/);
  });

  test('is an outage of just now: there is no room for its name beside "now", but its band has the tooltip', async () => {
    const tick = NOW - 2 * MINUTE;
    await fleet.to(NOW - MINUTE);
    await fleet.miss('RefreshJobs.refresh', tick, 'worker-1', 'store-unavailable', { until: NOW - MINUTE });
    const html = await axis();
    expect(html).not.toContain('>store away<');
    expect(html).toContain('The store was away today 20:15:30–20:16:30<');
  });

  test('is an outage by the clock of the store, as the offset of who noted it says', async () => {
    await fleet.beat({ instance: 'worker-1', version: '1.0.0', startedAt: NOW - HOUR, clockOffset: MINUTE });
    await fleet.to(NOW);
    const times = { since: NOW - 50 * MINUTE, until: NOW - 38 * MINUTE };
    await fleet.miss('RefreshJobs.refresh', NOW - 40 * MINUTE, 'worker-1', 'store-unavailable', times);
    expect(await axis()).toContain('The store was away today 19:28:30–19:40:30<');
  });

  test('is a deploy: another version, with what it has changed of the jobs', async () => {
    await fleet.to(NOW - 20 * MINUTE);
    const jobs = JOBS.map((job) => (job.job === 'MailJobs.digest' ? { ...job, schedule: '0 7 * * *' } : job));
    const started = { instance: 'worker-2', version: '1.1.0', startedAt: NOW - 20 * MINUTE, clockOffset: 0 };
    await fleet.beat({ ...started, jobs });
    const text = await axis();
    expect(text).toContain('today 19:57:30: version 1.1.0 after 1.0.0, first on worker-2');
    expect(text).toContain('MailJobs.digest: 0 7 * * * Europe/Berlin instead of 30 6 * * * Europe/Berlin');
    expect(await partOf(board, 'jobs', 'hours=6&find=Mail')).toContain('class="change"');
    expect(await partOf(board, 'jobs', 'hours=6&find=Search')).not.toContain('class="change"');
  });

  test('is no deploy if more instances of one version start, with either of two lists of jobs', async () => {
    const off = JOBS.map((job) => ({ ...job, enabled: false }));
    for (const [n, jobs] of [off, JOBS, off, JOBS].entries())
      await fleet.beat({ instance: `more-${n}`, version: '1.0.0', startedAt: NOW - HOUR + n * 1_000, jobs });
    // The first that has them switched off is one.
    expect((await axis()).match(/<line class="deploy"/g)).toHaveLength(1);
  });
});

describe('what needs attention', () => {
  const missed = async (jobs: readonly string[], times: object): Promise<void> => {
    for (const job of jobs) await fleet.miss(job, NOW - 60_000 * 7.5, 'worker-1', 'store-unavailable', times);
  };

  const up = (): Promise<void> =>
    fleet.beat({ instance: 'worker-1', version: '1.0.0', startedAt: NOW - HOUR });

  test('stands together by its cause', async () => {
    await fleet.to(NOW);
    await up();
    const jobs = JOBS.filter(({ schedule = '' }) => /^\*|^[\d]+ \* /.test(schedule)).map(({ job }) => job);
    const down = { since: NOW - 50 * MINUTE, until: NOW - 5 * MINUTE };
    for (const job of jobs) {
      await board.page('');
      await missed([job], down);
    }
    const text = await shown('attention');
    expect(text).toContain('The store was away');
    expect(text.match(/The store was away/g)).toHaveLength(1);
    expect(text).toMatch(/\d jobs missed a tick\. +since today/);
  });

  test('is one case if two instances have noted the end of an outage on both sides of a half minute', async () => {
    await fleet.to(NOW);
    await up();
    const jobs = JOBS.filter(({ schedule = '' }) => /^\*|^[\d]+ \* /.test(schedule)).map(({ job }) => job);
    for (const [n, job] of jobs.entries()) {
      await board.page('');
      await missed([job], { since: NOW - 50 * MINUTE, until: NOW - 5 * MINUTE - 100 + (n % 2) * 200 });
    }
    const text = await shown('attention');
    expect(text.match(/the store was away/gi)).toHaveLength(1);
    expect(text).toMatch(/The store was away 19:27:30–20:12:30: 3 jobs missed a tick\./);
  });

  test('is one case if several jobs fail with one error, with the names folded', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const jobs = names.map((job): KnownJob => ({
      job,
      lock: job,
      kind: 'hand',
      enabled: true,
      overdue: false,
    }));
    await fleet.beat({ instance: 'worker-1', version: '1.0.0', startedAt: NOW - HOUR, jobs });
    for (const name of names)
      await (
        await fleet.start(name, undefined, 'worker-1')
      )('failed', 1, 'no table x');
    expect(await shown('attention')).toMatch(
      /5 jobs fail with the same error: no table x since today .* a b c and 2 more d e/,
    );
  });

  test('that begins further back than was read says so, in the count as well', async () => {
    for (let n = 0; n < 25; n++) {
      const end = await fleet.start('InvoiceJobs.send', NOW - HOUR + n * MINUTE, 'worker-1');
      await fleet.clock.advance(MINUTE);
      await end('failed', MINUTE, 'SMTP 421');
      await up();
    }
    expect(await shown('attention')).toMatch(/failing ×20\+ .*since today 19:22:30 at least/);
  });

  test('is not there if nothing does, and then the page says in one sentence that all is well', async () => {
    await fleet.to(NOW - 30_000);
    fleet = new Fleet();
    board = boardOf(fleet);
    await fleet.beat({ instance: 'worker-1', version: '1.0.0', startedAt: fleet.clock.now() });
    const { body } = await board.page('');
    expect(body).not.toContain('id="attention"');
    expect(textOf(await partOf(board, 'verdict'))).toContain('11 jobs: 10 fine, 1 switched off');
  });
});

test('the headline counts jobs as the tabs of states do', async () => {
  fleet = new Fleet();
  board = boardOf(fleet);
  await fleet.beat({ instance: 'worker-1', version: '1.0.0', startedAt: fleet.clock.now() });
  await fleet.start('InvoiceJobs.send', fleet.clock.now(), 'worker-1');
  expect(await shown('verdict')).toContain('11 jobs: 9 fine, 1 running, 1 switched off');
  expect(textOf(String((await board.page('')).body))).toMatch(/All 11 +Running 1 +Off 1 +Fine 9/);
});

describe('the tab', () => {
  test('shows trouble', async () => {
    const titleOf = async (): Promise<string> => {
      await fleet.clock.advance(3_000);
      return /<title>(.*?)<\/title>/.exec(String((await board.page('')).body))?.[1] ?? '';
    };
    fleet = new Fleet();
    board = boardOf(fleet);
    await fleet.beat({ instance: 'worker-1', version: '1.0.0', startedAt: fleet.clock.now() });
    expect(await titleOf()).toBe('Jobs');
    const end = await fleet.start('InvoiceJobs.send', fleet.clock.now(), 'worker-1');
    await end('failed', 1);
    expect(await titleOf()).toBe('(1) Jobs');
    fleet.store.history.instances = () => Promise.reject(new Error('away'));
    expect(await titleOf()).toBe('(!) Jobs');
    const text = textOf(await partOf(board, 'verdict'));
    expect(text).toMatch(/No job can start: memory does not answer since today/);
    // A store that refuses to show this may well give locks.
    fleet.store.history.instances = () =>
      Promise.reject(
        new StoreUnavailableError('no right to read', { outcome: 'not-applied', refused: true }),
      );
    expect(await titleOf()).toBe('(!) Jobs');
    expect(textOf(await partOf(board, 'verdict'))).toMatch(/memory has told nothing since today/);
  });
});

describe('the table', () => {
  test('is filtered by state, with counts, by application, and by a part of a name', async () => {
    await fleet.beat({
      instance: 'other-1',
      version: '1.0.0',
      application: 'billing',
      startedAt: NOW - HOUR,
      jobs: [{ ...JOBS[0], job: 'BillJobs.send', lock: 'BillJobs.send' } as KnownJob],
    });
    await fleet.beat({ instance: 'shop-1', version: '1.0.0', application: 'shop', startedAt: NOW - HOUR });
    await fleet.clock.advance(3_000);
    expect(textOf(await partOf(board, 'jobs', 'app=billing'))).toContain('BillJobs.send');
    expect(textOf(await partOf(board, 'jobs', 'app=billing'))).not.toContain('InvoiceJobs.send');
    expect(textOf(await partOf(board, 'jobs', 'find=mail'))).not.toContain('InvoiceJobs.send');
    expect(textOf(await partOf(board, 'jobs', 'state=off'))).toMatch(/LegacyJobs\.sync/);
    const { body } = await board.page('hours=24&zone=Europe/Berlin');
    expect(textOf(String(body))).toMatch(/All 12 Off 1 Fine 11/);
    const kept = [...String(body).matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)];
    expect(kept.map(([, name, value]) => `${name}=${value}`).sort()).toEqual([
      'hours=24',
      'zone=Europe/Berlin',
    ]);
  });
});

test('marks that change the direction of text are shown, not obeyed; what a form sends stays as it is', async () => {
  const job = { ...JOBS[0], job: 'Right\u202eJobs', lock: 'right' } as KnownJob;
  await fleet.beat({ instance: 'worker-1', version: '1.0.0', startedAt: NOW - HOUR, jobs: [...JOBS, job] });
  const end = await fleet.start('InvoiceJobs.send', NOW - HOUR, 'worker-1');
  await end('failed', 1, 'abc\u202efed');
  await fleet.clock.advance(3_000);
  const all = String((await board.page('')).body);
  expect(all).toContain('abc[U+202E]fed');
  expect(all).not.toMatch(/[\u202a-\u202e]/);
  const own = String((await board.page(`job=${encodeURIComponent(job.job)}`)).body);
  expect(own).toContain('value="Right\u202eJobs"');
  expect(own.replaceAll(/value="[^"]*"/g, '')).not.toMatch(/[\u202a-\u202e]/);
});

test('a job that a deploy has removed keeps its page', async () => {
  const end = await fleet.start('SearchJobs.reindex', NOW - HOUR, 'worker-1');
  await end('completed', 1);
  await fleet.beat({ instance: 'worker-1', version: '1.0.0', startedAt: NOW - HOUR, left: true });
  await fleet.clock.advance(MINUTE);
  // Another application has never had it.
  const other = { instance: 'other-1', version: '9.0.0', application: 'other', startedAt: NOW - 30 * MINUTE };
  await fleet.beat({ ...other, jobs: [] });
  const jobs = JOBS.filter((one) => one.job !== 'SearchJobs.reindex');
  await fleet.beat({
    instance: 'worker-2',
    version: '2.1.0',
    startedAt: fleet.clock.now(),
    clockOffset: 0,
    jobs,
  });
  await fleet.clock.advance(3_000);
  expect(await partOf(board, 'jobs')).not.toContain('SearchJobs.reindex');
  const page = await board.page('job=SearchJobs.reindex');
  expect(page.status).toBe(200);
  expect(textOf(String(page.body))).toMatch(
    /A deploy has removed it with version 2\.1\.0 \(today [\d:]+\); it last ran today 19:17:30\./,
  );
  const actions = String(page.body).matchAll(/data-action="([^"]*)"/g);
  expect([...actions].map(([, action]) => action)).toEqual(['api/v1/jobs/forget']);
});

test('what runs have reported is in their tooltips, and in a line of each number', async () => {
  const job = 'ExportJobs.warehouse';
  for (const [n, rows] of [1_200, 0, 900].entries()) {
    const end = await fleet.start(job, NOW - HOUR + n * MINUTE, 'worker-1');
    await fleet.clock.advance(MINUTE);
    const isHollow = rows === 0;
    await end(isHollow ? 'hollow' : 'completed', 1_000, undefined, {
      report: { rows, month: 'May' },
      ...(isHollow && { shortfall: 'rows is 0, and at least 1 was expected' }),
    });
  }
  await fleet.clock.advance(3_000);
  const html = String((await board.page(`job=${job}`)).body);
  const page = textOf(html);
  expect(page).toContain('The last 3 runs reported rows 0 to 1200; the newest is on the right.');
  expect(page).not.toContain('reported month');
  expect(html).toMatch(/<title>[^<]*: completed after 1 s on worker-1, rows 900, month May</);
  expect(html).toMatch(
    /run failed"[^>]*><title>[^<]*: hollow after 1 s on worker-1, rows is 0, and at least 1 was expected, rows 0, month May</,
  );
});

test('an asset of another version is not there', async () => {
  const { body } = await board.page('');
  const [, own = ''] = /\?asset=board\.css&amp;v=([\w-]+)/.exec(String(body)) ?? [];
  expect((await board.page(`asset=board.css&v=${own}`)).status).toBe(200);
  expect((await board.page('asset=board.css&v=other')).status).toBe(404);
  expect((await board.page('asset=board.exe')).status).toBe(404);
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

  test('of a job that missed its tick runs that tick, and says so in the reason, which is on record', async () => {
    const run = async (): Promise<string> =>
      /<form[^>]*jobs\/run"[^>]*>.*?<\/form>/s.exec(await part('RefreshJobs.refresh'))?.[0] ?? '';
    expect(await run()).toContain('>Run now<');
    await fleet.to(NOW - 5 * MINUTE);
    await fleet.beat({ instance: 'worker-1', version: '1.0.0', startedAt: NOW - HOUR });
    expect(await run()).toContain('>Run the missed tick (20:10)<');
    expect(await run()).toContain('value="the missed tick of 2026-10-24 20:10:00Z"');
    const end = await fleet.start('RefreshJobs.refresh', undefined, 'worker-1');
    await end('completed', 1);
    expect(await run()).toContain('>Run now<');
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
    expect(textOf(html)).toContain('Put back dead letters all 12 WebhookJobs.deliver: failed, delivery 1');
    const ids = [...html.matchAll(/<option value="([^"]*)"/g)].map(([, id]) => id);
    expect(ids).toHaveLength(13);
    expect(new Set(ids).size).toBe(13);
  });
});
