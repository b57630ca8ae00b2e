import { MemoryLockStore } from '../../../lib/index.js';
import { ManualClock } from '../../../lib/testing/index.js';
import type { KnownJob, RunRecord } from '../../../lib/contract/history-store.js';
import type { ReleaseOutcome } from '../../../lib/contract/lock-store.js';

/*
 * A fleet with every kind of event in its last hours, on a clock of its own: the same each time, so that pictures of it are, too.
 */

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
/** A Saturday, in the night before the clocks of Europe go back. */
export const NOW = Date.UTC(2026, 9, 24, 20, 17, 30);

const KEPT = { count: 100, age: 30 * 24 * HOUR };
const TTL = 30_000;

/** A name that would be harmful if it were not escaped. */
export const HOSTILE = '<img src=x onerror="document.title=1">\'&quot;';

const cron = (job: string, schedule: string, timeZone = 'UTC', more: Partial<KnownJob> = {}): KnownJob => ({
  job,
  lock: job,
  kind: 'cron',
  schedule,
  timeZone,
  enabled: true,
  overdue: MINUTE,
  ...more,
});

export const JOBS: readonly KnownJob[] = [
  cron('InvoiceJobs.send', '0 * * * *', 'Europe/Berlin'),
  cron('RefreshJobs.refresh', '*/10 * * * *'),
  cron('CleanupJobs.sweep', '*/5 * * * *'),
  cron('ReportJobs.nightly', '0 3 * * *', 'Europe/Berlin'),
  cron('ExportJobs.warehouse', '45 * * * *'),
  cron('MailJobs.digest', '30 6 * * *', 'Europe/Berlin'),
  cron('SearchJobs.reindex', '15 * * * *'),
  cron('LegacyJobs.sync', '0 4 * * *', 'UTC', { enabled: false }),
  cron('ArchiveJobs.compress', '20 * * * *'),
  {
    job: 'PriceJobs.poll',
    lock: 'PriceJobs.poll',
    kind: 'interval',
    interval: 15 * MINUTE,
    enabled: true,
    overdue: MINUTE,
  },
  {
    job: 'WebhookJobs.deliver',
    lock: 'WebhookJobs.deliver',
    kind: 'hand',
    enabled: true,
    takesCalls: true,
    overdue: false,
  },
];

export interface Member {
  readonly instance: string;
  readonly version: string;
  readonly application?: string;
  readonly startedAt: number;
  readonly clockOffset?: number;
  readonly leads?: readonly string[];
  readonly jobs?: readonly KnownJob[];
  readonly left?: boolean;
}

/** What a run reports, and what is missing in it. */
type Said = Pick<RunRecord, 'report' | 'shortfall'>;

/** Its store, and its clock: both stand at {@link NOW} in the end. */
export class Fleet {
  readonly clock = new ManualClock(NOW - 6 * HOUR);
  readonly store = new MemoryLockStore({ clock: this.clock });
  #drawn = 0;

  async to(time: number): Promise<void> {
    if (time > this.clock.now()) await this.clock.advance(time - this.clock.now());
  }

  async beat(member: Member): Promise<void> {
    const { instance, version, startedAt, clockOffset = 3, leads = [], jobs = JOBS, left = false } = member;
    const { application } = member;
    const catalogue = JSON.stringify(jobs);
    await this.store.history.beat({
      ...(application !== undefined && { application }),
      instance,
      version,
      startedAt,
      clockOffset,
      leads,
      left,
      every: 30_000,
      kept: KEPT,
      catalogue,
      jobs,
    });
  }

  /** A run of a job, from its tick on. @param ends how, after how long; `undefined`: it goes on, or nobody hears of it any more */
  async start(
    job: string,
    tick: number | undefined,
    holder: string,
  ): Promise<(outcome: ReleaseOutcome, duration: number, error?: string, said?: Said) => Promise<void>> {
    const token = `${job} ${this.#drawn++}`;
    const known = JOBS.find((each) => each.job === job);
    const lease = {
      name: known?.lock ?? job,
      token,
      ttl: TTL,
      holder,
      job,
      ...(tick !== undefined && { tick }),
    };
    const start = tick === undefined ? {} : { schedule: `${known?.schedule} (${known?.timeZone})`, rerun: 1 };
    const grant = await this.store.acquire({ ...lease, ...start, maxClockSkew: MINUTE, history: true });
    if (!grant.acquired) throw new Error(`${job}: ${grant.reason}`);
    if (grant.interrupted !== undefined)
      await this.store.history.interrupted({ ...grant.interrupted, name: lease.name, kept: KEPT });
    const { fencingToken, attempt = 1 } = grant;
    return async (outcome, duration, error, said) => {
      const record = {
        kept: KEPT,
        duration,
        traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
        ...(error !== undefined && { error }),
        ...said,
      };
      await this.store.release({ ...lease, fencingToken, attempt }, { outcome, record });
    };
  }

  /** Queued calls whose run failed. */
  async dead(job: string, count: number): Promise<void> {
    const lease = { name: job, token: `dead ${job} ${this.#drawn++}`, ttl: TTL, holder: 'worker-1', job };
    const takes = [{ job, ttl: TTL }];
    const { queuedCalls } = this.store;
    for (let n = 0; n < count; n++) {
      const id = `00000000-0000-4000-9000-${String(n).padStart(12, '0')}`;
      await queuedCalls.enqueue({ name: job, id, job, args: '[]', priority: 0, max: 100, redeliver: 1 });
    }
    const grant = await this.store.acquire({ ...lease, history: true });
    if (!grant.acquired) throw new Error(`${job}: ${grant.reason}`);
    const end = { outcome: 'failed', record: { kept: KEPT, duration: 80 } } as const;
    let ref = { ...lease, fencingToken: grant.fencingToken };
    for (let n = 0; n <= count; n++) {
      const found = await queuedCalls.next(ref, { takes, ...(n > 0 && end) });
      if (found.queuedCall !== undefined)
        ref = { ...ref, fencingToken: found.fencingToken, queuedCall: found.queuedCall.id } as typeof ref;
    }
    await this.store.release(ref, { outcome: 'abandoned' });
  }

  async miss(
    job: string,
    tick: number,
    instance: string,
    reason: string,
    more: { since?: number; until?: number; count?: number } = {},
  ): Promise<void> {
    const { count = 1, ...times } = more;
    await this.store.history.miss({
      name: job,
      job,
      instance,
      kept: KEPT,
      tick,
      reason,
      count,
      late: true,
      ...times,
    });
  }
}

const OLD = '1.4.2';
const NEW = '1.5.0';
/** The deploy has changed one schedule. */
const OLD_JOBS = JOBS.map((job) => (job.job === 'MailJobs.digest' ? { ...job, schedule: '0 7 * * *' } : job));

const at = (minutes: number): number => NOW - minutes * MINUTE;
const DEPLOY = at(95);

/** What each instance says of itself, as long as it is there. */
const MEMBERS: Readonly<Record<string, Member>> = {
  'api-6c4f-old1': { instance: 'api-6c4f-old1', version: OLD, startedAt: at(340), jobs: OLD_JOBS },
  'worker-2': { instance: 'worker-2', version: OLD, startedAt: at(338), jobs: OLD_JOBS },
  'api-7f9c-x2kq': { instance: 'api-7f9c-x2kq', version: NEW, startedAt: DEPLOY, leads: ['reports'] },
  'api-7f9c-m8vd': { instance: 'api-7f9c-m8vd', version: NEW, startedAt: DEPLOY + MINUTE },
  'worker-1': {
    instance: 'worker-1',
    version: OLD,
    startedAt: at(330) - 2_400,
    clockOffset: 2_400,
    jobs: OLD_JOBS,
  },
};

interface Event {
  readonly at: number;
  happens(fleet: Fleet): Promise<unknown>;
}

/** A run that is over. */
function run(
  job: string,
  tick: number,
  holder: string,
  duration: number,
  [outcome, error]: readonly [ReleaseOutcome, string?] = ['completed'],
): Event[] {
  let end: Awaited<ReturnType<Fleet['start']>>;
  return [
    { at: tick + 40, happens: async (fleet) => (end = await fleet.start(job, tick, holder)) },
    { at: tick + 40 + duration, happens: () => end(outcome, duration, error) },
  ];
}

const SMTP = 'SMTP 421: too many connections from 10.0.4.17';
const every = (from: number, to: number, step: number, offset = 0): number[] => {
  const ticks: number[] = [];
  for (let tick = Math.ceil((from - offset) / step) * step + offset; tick <= to; tick += step)
    ticks.push(tick);
  return ticks;
};

const holderAt = (tick: number, n: number): string => {
  if (tick < DEPLOY + 2 * MINUTE) return ['api-6c4f-old1', 'worker-2', 'worker-1'][n % 3] ?? '';
  return ['api-7f9c-x2kq', 'worker-1', 'api-7f9c-m8vd'][n % 3] ?? '';
};

const OUTAGE = { from: at(71), to: at(66) };

function events(): Event[] {
  const away = (tick: number): boolean => tick >= OUTAGE.from && tick <= OUTAGE.to;
  const refresh = every(at(330), at(1), 10 * MINUTE).filter((tick) => !away(tick) && tick !== CRASH);
  const sweep = every(at(330), at(18), 5 * MINUTE).filter((tick) => !away(tick));
  return [
    ...every(at(330), at(2), HOUR).flatMap((tick, n) =>
      tick > at(150)
        ? run('InvoiceJobs.send', tick, holderAt(tick, n), 41_000, ['failed', SMTP])
        : run('InvoiceJobs.send', tick, holderAt(tick, n), 14_000 + n * 1_300),
    ),
    ...refresh.flatMap((tick, n) =>
      run('RefreshJobs.refresh', tick, holderAt(tick, n), 95_000 + (n % 5) * 22_000),
    ),
    ...sweep.flatMap((tick, n) => run('CleanupJobs.sweep', tick, holderAt(tick, n + 1), 20_000)),
    ...every(at(330), at(92), HOUR, 45 * MINUTE).flatMap((tick, n) =>
      run('ExportJobs.warehouse', tick, holderAt(tick, n), 12 * MINUTE + n * 20_000),
    ),
    ...every(at(330), at(70), HOUR, 15 * MINUTE).flatMap((tick, n) =>
      run('SearchJobs.reindex', tick, holderAt(tick, n + 2), 6 * MINUTE),
    ),
    ...every(at(330), at(10), HOUR, 20 * MINUTE).flatMap((tick, n) =>
      run(
        'ArchiveJobs.compress',
        tick,
        holderAt(tick, n),
        9 * MINUTE,
        tick === ARCHIVE ? ['timed-out', 'TimeoutError: no end after 9 min'] : ['completed'],
      ),
    ),
    ...every(at(330), at(1), 15 * MINUTE, 4 * MINUTE).flatMap((time, n) => poll(time, holderAt(time, n + 1))),
    ...crash(),
    { at: OUTAGE.to + 5_000, happens: tellOfOutage },
    ...every(at(329), at(1), MINUTE / 2).map((time): Event => ({
      at: time,
      happens: (fleet) => beats(fleet, time),
    })),
    {
      at: at(14),
      happens: (fleet) =>
        fleet.miss('CleanupJobs.sweep', every(at(18), at(14), 5 * MINUTE)[0] ?? 0, 'worker-1', 'not-fired'),
    },
    { at: at(8), happens: queued },
    ...goingOn(),
  ];
}

/** A run of an interval: it has no tick. */
function poll(time: number, holder: string): Event[] {
  const lease = { name: 'PriceJobs.poll', token: `poll ${time}`, ttl: TTL, holder, job: 'PriceJobs.poll' };
  let fencingToken = 0;
  return [
    {
      at: time,
      happens: async ({ store }) => {
        const grant = await store.acquire({ ...lease, interval: 15 * MINUTE, history: true });
        if (grant.acquired) fencingToken = grant.fencingToken;
      },
    },
    {
      at: time + 7_000,
      happens: ({ store }) =>
        store.release(
          { ...lease, fencingToken },
          { outcome: 'completed', record: { kept: KEPT, duration: 7_000 } },
        ),
    },
  ];
}

const CRASH = Math.floor(at(47) / (10 * MINUTE)) * 10 * MINUTE;
const ARCHIVE = every(at(330), at(10), HOUR, 20 * MINUTE).at(-2);

/** The instance dies in the middle of a run: another one runs the tick again. */
function crash(): Event[] {
  let end: Awaited<ReturnType<Fleet['start']>>;
  return [
    { at: CRASH + 40, happens: (fleet) => fleet.start('RefreshJobs.refresh', CRASH, 'worker-2') },
    {
      at: CRASH + 40 + TTL + 2_000,
      happens: async (fleet) => (end = await fleet.start('RefreshJobs.refresh', CRASH, 'api-7f9c-x2kq')),
    },
    { at: CRASH + 40 + TTL + 92_000, happens: () => end('completed', 90_000) },
  ];
}

async function tellOfOutage(fleet: Fleet): Promise<void> {
  const tick = every(OUTAGE.from, OUTAGE.to, 10 * MINUTE)[0] ?? OUTAGE.from + MINUTE;
  for (const instance of ['api-7f9c-x2kq', 'api-7f9c-m8vd', 'worker-1'])
    for (const job of ['RefreshJobs.refresh', 'CleanupJobs.sweep'])
      await fleet.miss(job, tick, instance, 'store-unavailable', { since: OUTAGE.from, until: OUTAGE.to });
}

async function beats(fleet: Fleet, time: number): Promise<void> {
  for (const member of Object.values(MEMBERS)) {
    if (member.startedAt > time || (time >= OUTAGE.from && time < OUTAGE.to)) continue;
    if (member.instance === 'api-6c4f-old1' && time > DEPLOY + 3 * MINUTE) continue;
    if (member.instance === 'worker-2' && time > CRASH + 10_000) continue;
    const left = member.instance === 'api-6c4f-old1' && time > DEPLOY + 2 * MINUTE;
    await fleet.beat({ ...member, left });
  }
}

async function queued(fleet: Fleet): Promise<void> {
  await (
    await fleet.start('WebhookJobs.deliver', undefined, 'worker-1')
  )('completed', 800);
  for (let n = 0; n < 3; n++)
    await fleet.store.queuedCalls.enqueue({
      name: 'WebhookJobs.deliver',
      id: `00000000-0000-4000-8000-00000000000${n}`,
      job: 'WebhookJobs.deliver',
      args: '[]',
      priority: 0,
      max: 100,
      redeliver: 1,
    });
}

/** One runs as usual, and one far longer than usual. */
function goingOn(): Event[] {
  const export_ = every(at(92), at(1), HOUR, 45 * MINUTE).at(-1) ?? 0;
  return [
    ...hold('ExportJobs.warehouse', export_, 'api-7f9c-m8vd'),
    ...hold('SearchJobs.reindex', every(at(70), at(1), HOUR, 15 * MINUTE).at(-1) ?? 0, 'worker-1'),
  ];
}

/** A run that goes on: its lease is renewed until now. */
function hold(job: string, tick: number, holder: string): Event[] {
  let ref: { name: string; token: string; holder: string; fencingToken: number; ttl: number } | undefined;
  return [
    {
      at: tick + 40,
      happens: async ({ store }) => {
        const known = JOBS.find((each) => each.job === job);
        const lease = { name: job, token: `${job} goes on`, ttl: TTL, holder, job, tick };
        const grant = await store.acquire({
          ...lease,
          schedule: `${known?.schedule} (${known?.timeZone})`,
          rerun: 1,
          maxClockSkew: MINUTE,
          history: true,
        });
        if (!grant.acquired) throw new Error(`${job}: ${grant.reason}`);
        ref = { ...lease, fencingToken: grant.fencingToken };
      },
    },
    ...every(tick + 10_000, NOW, 10_000).map((time): Event => ({
      at: time,
      happens: async ({ store }) => {
        if (ref !== undefined) await store.extend([ref]);
      },
    })),
  ];
}

/** The whole fleet, six hours of it. @param more events besides */
export async function fleet(more: readonly Event[] = []): Promise<Fleet> {
  const made = new Fleet();
  const all = [...events(), ...more].sort((one, other) => one.at - other.at);
  for (const { at: time, happens } of all) {
    await made.to(time);
    await happens(made);
  }
  await made.to(NOW);
  return made;
}
