import { describe, expect, test } from '@jest/globals';
import { at, instance, job, miss, NOW, run, storeOf, type Told } from './support/fleet.js';
import { TestShell } from './support/shell.js';

const REFRESH = 'RefreshJobs.refresh';
const SEND = 'InvoiceJobs.send';
const daily = job(SEND, { schedule: '0 3 * * *', timeZone: 'America/New_York' });

/** One job runs, one was missed, one is fine. */
const fleet: Told = {
  instances: [
    instance('api-1:1:aa', [job(REFRESH), daily, job('Ok.job')], {}),
    instance('api-2:1:bb', [job(REFRESH), daily, job('Ok.job')], {
      startedAt: at(8),
      clockOffset: 4_000,
      leads: ['feed'],
    }),
  ],
  entries: [
    run(SEND, at(9) - 86_400_000),
    miss(SEND, at(9), { reason: 'store-unavailable', count: 3, since: at(8, 58) }),
    run('Ok.job', at(12, 20)),
    run('Ok.job', at(12, 10), { outcome: 'failed', error: 'no\u001b[31m luck' }),
  ],
  locks: [
    {
      name: REFRESH,
      time: NOW,
      state: 'held',
      holder: 'api-1:1:aa',
      since: at(12, 20, 1),
      expiresIn: 45_000,
      fencingToken: at(12, 20, 1) * 1_000,
      job: REFRESH,
      jobs: [{ job: REFRESH, tick: at(12, 20), attempt: 1 }],
    },
    {
      name: SEND,
      time: NOW,
      state: 'free',
      jobs: [{ job: SEND, tick: at(9) - 86_400_000, attempt: 1, outcome: 'completed' }],
    },
    {
      name: 'Ok.job',
      time: NOW,
      state: 'free',
      jobs: [{ job: 'Ok.job', tick: at(12, 20), attempt: 1, outcome: 'completed' }],
    },
  ],
};

const shellOf = (told: Told = fleet): TestShell => new TestShell(storeOf(told));
const documentOf = (shell: TestShell): unknown => JSON.parse(shell.out);

describe('status', () => {
  test('shows what needs attention first, and exits with 1', async () => {
    const shell = shellOf();
    expect(await shell.inBerlin('status')).toBe(1);
    expect(shell.lines.slice(0, 4)).toEqual([
      'Redis db:6379, 2 instances up, 2026-11-22 12:20:31+01:00',
      '1 of 3 jobs needs attention, 1 fine, 1 running.',
      '',
      'JOB                  STATE    SCHEDULE                    LAST                       NEXT       WHY',
    ]);
    expect(shell.lines[4]).toMatch(
      /^InvoiceJobs.send     overdue  0 3 \* \* \* America\/New_York  Sat 09:00 completed 12 s   Mon 09:00  Nobody started the tick of 2026-11-22 09:00:00\+01:00.*store/,
    );
    expect(shell.lines.slice(5)).toEqual([
      'RefreshJobs.refresh  running  */10 * * * *                12:20:01 api-1:1:aa, 30 s  12:30',
      'Ok.job               ok       */10 * * * *                12:20 completed 12 s       12:30',
    ]);
    expect({ err: shell.err, open: shell.open }).toEqual({ err: '', open: 0 });
  });

  test('and every other command is by the clock of the store, whatever that of this machine says', async () => {
    for (const command of ['status', 'runs', 'locks', 'instances', 'why RefreshJobs.refresh']) {
      const [here, right] = [shellOf(), shellOf()];
      here.now = NOW + 86_400_000;
      await here.inBerlin(...command.split(' '));
      await right.inBerlin(...command.split(' '));
      expect(here.out).toBe(right.out);
    }
  });

  test('counts the instances that are not up any more: `instances` lists them', async () => {
    const jobs = [...(fleet.instances?.[0]?.jobs ?? [])];
    const gone = Array.from({ length: 300 }, (_, n) =>
      instance(`old-${n}`, jobs, { seenAt: at(3), left: n >= 100 }),
    );
    const shell = shellOf({ ...fleet, instances: [...(fleet.instances ?? []), ...gone] });
    await shell.run('status', '--json');
    expect(documentOf(shell)).toMatchObject({ up: 2, gone: 100, left: 100 });
    expect(shell.out).not.toContain('old-');
  });

  test('exits with 0 if nothing does', async () => {
    const shell = shellOf({ ...fleet, instances: [instance('api-1:1:aa', [job('Ok.job')])] });
    expect(await shell.inBerlin('status')).toBe(0);
    expect(shell.lines.at(-1)).toMatch(/^Ok.job  ok/);
  });

  test('counts failures in a row', async () => {
    const failed = { outcome: 'failed' as const, error: 'no mail server' };
    const shell = shellOf({
      ...fleet,
      instances: [instance('api-1:1:aa', [job('Ok.job')])],
      entries: [run('Ok.job', at(12, 20), failed), run('Ok.job', at(12, 10), failed)],
    });
    expect(await shell.inBerlin('status')).toBe(1);
    expect(shell.lines.at(-1)).toMatch(/failing ×2 .*no mail server/);
    const many = shellOf({
      ...fleet,
      instances: [instance('api-1:1:aa', [job('Ok.job')])],
      entries: Array.from({ length: 20 }, (_, n) => run('Ok.job', at(12, 20) - n * 60_000, failed)),
    });
    await many.inBerlin('status');
    expect(many.lines.at(-1)).toMatch(/failing ×20\+ /);
  });

  test('says since when nobody is up, and exits with 1', async () => {
    const [one, two] = fleet.instances ?? [];
    const gone = [one, two].flatMap((each, index) =>
      each === undefined ? [] : [{ ...each, seenAt: at(3, 12 - index) }],
    );
    const shell = shellOf({ ...fleet, instances: gone });
    expect(await shell.inBerlin('status')).toBe(1);
    expect(shell.lines[0]).toContain('0 instances up');
    expect(shell.lines[1]).toBe(
      'No instance is up since today 03:12: the last one was api-1:1:aa, and gives no sign of life any more. What should run now does not.',
    );
    shell.out = '';
    await shell.run('status', '--json');
    expect(documentOf(shell)).toMatchObject({ up: 0, attention: true, nobodySince: at(3, 12) });
  });

  test('says that the last instance was shut down', async () => {
    const shell = shellOf({ instances: [instance('api-1:1:aa', [], { left: true, seenAt: at(11) })] });
    expect(await shell.inBerlin('status')).toBe(1);
    expect(shell.lines[1]).toMatch(
      /^No instance is up since today 11:00: the last one was api-1:1:aa, and was shut down\./,
    );
  });

  test('asks whether it is the right store if no instance was ever seen', async () => {
    const shell = shellOf({});
    expect(await shell.run('status')).toBe(1);
    expect(shell.lines[1]).toBe(
      'No instance has been seen in the last 7 days with the key prefix scheduler. For another one: --key-prefix, --key, or --config.',
    );
  });

  test('says that no job is known', async () => {
    const shell = shellOf({ instances: [instance('api-1:1:aa', [])] });
    expect(await shell.run('status')).toBe(0);
    expect(shell.lines[1]).toBe('No job is known.');
  });

  test('--json is one document, with times as numbers', async () => {
    const shell = shellOf();
    expect(await shell.run('status', '--json')).toBe(1);
    expect(documentOf(shell)).toEqual({
      store: 'Redis db:6379',
      time: NOW,
      up: 2,
      gone: 0,
      left: 0,
      attention: true,
      unreadable: { instances: 0, runs: 0, parts: [] },
      jobs: [
        expect.objectContaining({
          job: SEND,
          status: 'overdue',
          attention: true,
          overdue: at(9),
          next: at(33),
          why: expect.objectContaining({ cause: expect.any(String), sentence: expect.any(String) }),
        }),
        expect.objectContaining({
          job: REFRESH,
          status: 'running',
          last: expect.objectContaining({ startedAt: at(12, 20, 1), outcome: 'running' }),
        }),
        expect.objectContaining({ job: 'Ok.job', status: 'ok', instances: ['api-1:1:aa', 'api-2:1:bb'] }),
      ],
    });
  });

  test('fits the terminal by shortening only why, which stands whole below; in colours unless NO_COLOR says not to', async () => {
    const shell = shellOf();
    shell.terminal = { columns: 120, rows: 40 };
    shell.env['NO_COLOR'] = '1';
    await shell.inBerlin('status');
    expect(shell.lines[4]).toHaveLength(120);
    expect(shell.lines[4]).toMatch(/InvoiceJobs.send .*…$/);
    expect(shell.lines.slice(-2)).toEqual([
      '',
      expect.stringMatching(/^InvoiceJobs.send: Nobody started .*\.$/),
    ]);
    expect(shell.out).not.toContain('\u001b');
    delete shell.env['NO_COLOR'];
    shell.out = '';
    await shell.inBerlin('status');
    expect(shell.out).toContain('\u001b[31moverdue\u001b[39m');
  });
});

describe('runs', () => {
  test('shows all runs that are kept, newest first', async () => {
    const shell = shellOf();
    expect(await shell.inBerlin('runs')).toBe(0);
    expect(shell.lines).toEqual([
      'STARTED    JOB                  OUTCOME    TOOK  TICK       INSTANCE    DETAIL',
      '12:20:01   RefreshJobs.refresh  running    30 s  12:20      api-1:1:aa',
      '12:20      Ok.job               completed  12 s  12:20      api-1:1:aa',
      '12:10      Ok.job               failed     12 s  12:10      api-1:1:aa  no [31m luck',
      'Sat 09:00  InvoiceJobs.send     completed  12 s  Sat 09:00  api-1:1:aa',
    ]);
  });

  test('shows what a run has reported, and that it was too little, which is bad', async () => {
    const done = run('Ok.job', at(12, 10), { report: { sent: 120 } });
    const shortfall = 'sent is 0, and at least 1 was expected';
    const hollow = run('Ok.job', at(12, 20), { outcome: 'hollow', report: { sent: 0 }, shortfall });
    const shell = shellOf({ ...fleet, entries: [done, hollow] });
    await shell.inBerlin('runs', 'Ok.job');
    expect(shell.lines[1]).toMatch(/ hollow .* sent is 0, and at least 1 was expected$/);
    expect(shell.lines[2]).toMatch(/ completed .* sent 120$/);
    shell.out = '';
    await shell.inBerlin('runs', 'Ok.job', '--bad');
    expect(shell.lines).toHaveLength(2);
    expect(shell.lines[1]).toContain(' hollow ');
  });

  test('of a job, only the bad ones, only the newest', async () => {
    const shell = shellOf();
    await shell.run('runs', 'Ok.job', '--bad', '--json');
    expect(documentOf(shell)).toEqual([
      {
        lock: 'Ok.job',
        job: 'Ok.job',
        fencingToken: at(12, 10) * 1_000,
        instance: 'api-1:1:aa',
        tick: at(12, 10),
        attempt: 1,
        startedAt: at(12, 10),
        endedAt: at(12, 10, 12),
        duration: 12_000,
        outcome: 'failed',
        trigger: 'schedule',
        error: 'no\u001b[31m luck',
      },
    ]);
    shell.out = '';
    await shell.run('runs', '--limit', '1', '--json');
    expect(documentOf(shell)).toHaveLength(1);
  });

  test('shows what people did between them', async () => {
    const by = { action: 'redeliver', actor: 'anna', reason: 'mended', count: 1 } as const;
    const shell = shellOf({ ...fleet, entries: [run('Ok.job', at(12, 20), { by })] });
    await shell.inBerlin('runs', 'Ok.job');
    expect(shell.lines[1]).toMatch(/Ok\.job +redelivered +by anna +1 dead letter: mended$/);
  });

  test('shows which run of the tick it was', async () => {
    const shell = shellOf({ ...fleet, entries: [run('Ok.job', at(12, 20), { attempt: 2 })] });
    await shell.inBerlin('runs', 'Ok.job');
    expect(shell.lines[1]).toContain('12:20 (run 2)');
  });

  test('says that none is kept', async () => {
    const shell = shellOf({ instances: [instance('api-1:1:aa', [job('New.job')])] });
    expect(await shell.run('runs', 'New.job')).toBe(0);
    expect(await shell.run('runs', 'New.job', '--bad')).toBe(0);
    expect(await shell.run('runs')).toBe(0);
    expect(shell.lines).toEqual([
      'No run is kept of New.job.',
      'No run that went wrong is kept of New.job.',
      'No run is kept.',
    ]);
  });

  test('of a job that nobody knows exits with 2, and names the one that is meant', async () => {
    const shell = shellOf();
    expect(await shell.run('runs', 'Ok.jop')).toBe(2);
    expect(shell.err).toBe('No instance knows a job Ok.jop. Did you mean Ok.job?\n');
    expect({ out: shell.out, open: shell.open }).toEqual({ out: '', open: 0 });
  });
});

describe('why', () => {
  test('says it in a sentence; what that rests on is in the document', async () => {
    const shell = shellOf();
    expect(await shell.inBerlin('why', 'Ok.job', '--at', '2026-11-22T12:10')).toBe(0);
    expect(shell.lines).toEqual([
      expect.stringMatching(/^The tick of 2026-11-22 12:10:00\+01:00 .* on api-1:1:aa.*no \[31m luck/),
    ]);
    const json = shellOf();
    await json.inBerlin('why', 'Ok.job', '--at', '2026-11-22T12:10', '--json');
    expect(documentOf(json)).toMatchObject({
      cause: 'ran',
      run: { lock: 'Ok.job', outcome: 'failed', fencingToken: at(12, 10) * 1_000 },
    });
  });

  test('a time without a zone is in that of --zone', async () => {
    const shell = shellOf();
    await shell.run('why', 'Ok.job', '--at', '2026-11-22T11:20', '--zone', 'UTC', '--json');
    expect(documentOf(shell)).toMatchObject({ job: 'Ok.job', tick: at(12, 20), cause: 'ran' });
  });

  test('names what kept each instance', async () => {
    const entries = [
      run(SEND, at(9) - 86_400_000),
      miss(SEND, at(9), { reason: 'not-fired' }),
      miss(SEND, at(9), {
        instance: 'api-2:1:bb',
        reason: 'clock-skew',
        count: 3,
        since: at(8, 58),
        holder: 'x:1:cc',
      }),
    ];
    const shell = shellOf({ ...fleet, entries });
    await shell.inBerlin('why', SEND, '--json');
    expect(documentOf(shell)).toMatchObject({
      cause: 'missed',
      reasons: [
        { instance: 'api-1:1:aa', reason: 'not-fired' },
        { instance: 'api-2:1:bb', reason: 'clock-skew', count: 3, since: at(8, 58), holder: 'x:1:cc' },
      ],
    });
  });

  test('knows by the cron of the folder what is no tick', async () => {
    const shell = shellOf();
    await shell.inBerlin('why', 'Ok.job', '--at', '2026-11-22 12:07', '--json');
    expect(documentOf(shell)).toMatchObject({
      cause: 'not-a-tick',
      before: at(12),
      after: at(12, 10),
      schedules: [{ schedule: '*/10 * * * *', instances: ['api-1:1:aa', 'api-2:1:bb'] }],
    });
  });

  test('of a job that nobody knows exits with 2', async () => {
    const shell = shellOf();
    expect(await shell.run('why', 'Ok.jop')).toBe(2);
    expect(shell.out).toMatch(/No instance knows a job Ok.jop. Did you mean Ok.job/);
  });

  test('at what is no time exits with 2', async () => {
    const shell = shellOf();
    expect(await shell.run('why', 'Ok.job', '--at', 'yesterday')).toBe(2);
    expect(shell.err).toMatch(/^--at: 'yesterday' is no time. Give .*\n$/);
  });
});

describe('instances', () => {
  test('shows who is up, since when, and whose clock is wrong', async () => {
    const gone = instance('old:1:cc', [], {
      seenAt: at(11),
      version: '1.3.0',
      application: 'shop',
      // It was the leader when it died, and leads nothing.
      leads: ['feed'],
    });
    const shell = shellOf({ ...fleet, instances: [...(fleet.instances ?? []), gone] });
    expect(await shell.inBerlin('instances')).toBe(0);
    expect(shell.lines).toEqual([
      'INSTANCE    STATE  STARTED   LAST SEEN  APPLICATION  VERSION  JOBS  CLOCK       LEADS',
      'api-1:1:aa  up     09:00     12:20:26                1.4.0    3',
      'api-2:1:bb  up     08:00:04  12:20:26                1.4.0    3     4 s behind  feed',
      'old:1:cc    gone   09:00     11:00      shop         1.3.0    0',
    ]);
  });

  test('--json has them as Insight does', async () => {
    const shell = shellOf();
    await shell.run('instances', '--json');
    expect(documentOf(shell)).toEqual([
      expect.objectContaining({ instance: 'api-1:1:aa', state: 'up', seenAt: NOW - 5_000 }),
      expect.objectContaining({ instance: 'api-2:1:bb', clockOffset: 4_000, leads: ['feed'] }),
    ]);
  });

  test('says that there are none', async () => {
    const shell = shellOf({});
    expect(await shell.run('instances')).toBe(0);
    expect(shell.out).toMatch(/^No instance has been seen/);
  });
});

describe('locks', () => {
  test('shows all that the store has, by name', async () => {
    const shell = shellOf({
      locks: [
        ...(fleet.locks ?? []),
        { name: 'dead', time: NOW, state: 'free', interrupted: true, queued: 2, jobs: [] },
        { name: 'feed', time: NOW, state: 'held', job: 'FeedJobs.pull', jobs: [] },
      ],
    });
    expect(await shell.inBerlin('locks')).toBe(0);
    expect(shell.lines).toEqual([
      'LOCK                 STATE        SINCE     EXPIRES IN  JOB            FENCING           QUEUED  HOLDER',
      'InvoiceJobs.send     free',
      'Ok.job               free',
      `RefreshJobs.refresh  held         12:20:01  45 s                       ${at(12, 20, 1)}000          api-1:1:aa`,
      'dead                 interrupted                                                         2',
      'feed                 held                               FeedJobs.pull',
    ]);
    shell.out = '';
    await shell.run('locks', '--json');
    expect(documentOf(shell)).toHaveLength(5);
  });

  test.each([
    [
      ['--key-prefix', 'mine'],
      'with the key prefix mine. For another one: --key-prefix, --key, or --config.',
    ],
    [['--key', 'job-lock:*'], 'with the keys job-lock:*. For others: --key-prefix, --key, or --config.'],
    [['--url', 'mysql://db/app'], 'in the table shedlock. For another one: --table, --schema, or --config.'],
    [
      ['--url', 'postgres://db/app', '--table', 'locks', '--schema', 'jobs'],
      'in the table jobs.locks. For another one: --table, --schema, or --config.',
    ],
    [['--config', 'store.js'], 'in the store that --config names.'],
  ])('names the place where there are none, and how to name another one: %s', async (args, where) => {
    const shell = shellOf();
    shell.store = { ...storeOf({}), inspect: () => Promise.resolve([]) };
    expect(await shell.run('locks', ...args)).toBe(0);
    expect(shell.out).toBe(`There are no locks ${where}\n`);
  });
});
