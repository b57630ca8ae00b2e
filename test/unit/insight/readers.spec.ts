import { describe, expect, test } from '@jest/globals';
import type { ControlAct, HistoryEntry } from '../../../lib/contract/history-store.js';
import type { SchedulerLockEvent } from '../../../lib/contract/events/events.js';
import { StoreUnavailableError } from '../../../lib/base/errors.js';
import type { JobStatus, RunInfo } from '../../../lib/insight/types.js';
import { Measurements } from '../../../lib/show/metrics/measurements.js';
import { at, BY_HAND, INTERVAL, JOB } from './support/facts.js';
import {
  type Answers,
  ask,
  CAUSES,
  dissenting,
  gauge,
  type Pattern,
  probe,
  READERS,
} from './support/readers.js';
import { entry, FakeStore, instance, lockInfo } from './support/store.js';

/*
 * Each pattern of facts through all seven readers: `status`, the list of jobs, `why`, the event `overdue`, health, the gauges and the page. The first
 * three and the page ask the store; the others are those of an instance `probe`, which has just started, or was up at the tick and was refused.
 */

const T = at('03:00');
const YESTERDAY = at('03:00', 21);
const OFF = { ...JOB, enabled: false };
const STOPPED = { ...JOB, stopped: true as const };
/** A run that hangs where the probe is. */
const hangs: RunInfo = {
  lock: 'invoices',
  job: JOB.job,
  instance: 'probe',
  fencingToken: T * 1_000,
  startedAt: T,
  tick: T,
  outcome: 'running',
  hung: true,
};
const MISS = {
  type: 'miss',
  lock: 'invoices',
  job: JOB.job,
  tick: T,
  instance: 'api-1',
  at: at('03:01'),
  count: 1,
} as const;
const withoutTick = ({ tick: _tick, ...run }: RunInfo): RunInfo => run;
const BERLIN = { ...JOB, timeZone: 'Europe/Berlin' };

const REFUSED = new StoreUnavailableError('It has no column data.', {
  outcome: 'not-applied',
  refused: true,
});
const started = (tick: number, more: object = {}) =>
  lockInfo({ jobs: [{ job: JOB.job, tick, attempt: 1, outcome: 'completed', ...more }] });
const held = (since: number) =>
  lockInfo({
    state: 'held',
    holder: 'api-1',
    job: JOB.job,
    fencingToken: since * 1_000,
    jobs: [{ job: JOB.job, tick: since, attempt: 1 }],
  });
const ANNA = { actor: 'anna', reason: 'the provider is down', until: at('05:00') };
const PAUSED = { ...ANNA, id: at('02:30') * 1_000, since: at('02:30') };
/** The entry of what a person did, who is no job. */
const act = (since: number, by: ControlAct): HistoryEntry => {
  const { job: _job, ...rest } = entry(since, { by, outcome: 'interrupted', at: since });
  return rest;
};
const [api1, lastNight] = [instance('api-1'), entry(YESTERDAY, { tick: YESTERDAY, attempt: 1 })];
const ranYesterday = { locks: [started(YESTERDAY)], entries: [lastNight] };

const patterns: Record<string, Pattern> = {
  'its tick was started': {
    status: 'ok',
    store: { instances: [api1], locks: [started(T)], entries: [entry(T, { tick: T }), lastNight] },
  },
  'the last run of the instance that asks failed, and another instance has run its tick since': {
    status: 'ok',
    failed: true,
    store: { instances: [api1], locks: [started(T)], entries: [entry(T, { tick: T }), lastNight] },
  },
  'a run of the job went on when its tick came': {
    status: 'ok',
    store: {
      instances: [api1],
      locks: [started(YESTERDAY)],
      entries: [entry(at('02:59'), { at: at('03:01'), duration: 120_000 }), lastNight],
    },
  },
  'its tick came while its lock was kept by atLeast': {
    status: 'ok',
    own: { ...JOB, atLeast: 2 * 3_600_000 },
    store: {
      instances: [instance('api-1', { jobs: [{ ...JOB, atLeast: 2 * 3_600_000 }] })],
      locks: [started(YESTERDAY)],
      entries: [entry(at('02:00'), { at: at('02:01') }), lastNight],
    },
  },
  'its tick came when its lock was kept by atLeast no longer': {
    status: 'overdue',
    tick: T,
    own: { ...JOB, atLeast: 1_800_000 },
    store: {
      instances: [instance('api-1', { jobs: [{ ...JOB, atLeast: 1_800_000 }] })],
      locks: [started(YESTERDAY)],
      entries: [entry(at('02:00'), { at: at('02:01') }), lastNight],
    },
  },
  'it is never overdue': {
    status: 'ok',
    own: { ...JOB, overdue: false },
    store: { instances: [instance('api-1', { jobs: [{ ...JOB, overdue: false }] })], ...ranYesterday },
  },
  'nobody started its tick': { status: 'overdue', tick: T, store: { instances: [api1], ...ranYesterday } },
  'nobody started its tick, and the clock of this instance is behind': {
    status: 'overdue',
    tick: T,
    clockOffset: 1_800_000,
    store: { instances: [api1], ...ranYesterday },
  },
  'nobody started its tick, and a run that somebody began since has completed': {
    status: 'ok',
    store: {
      instances: [api1],
      locks: [started(YESTERDAY)],
      entries: [entry(at('03:02'), { at: at('03:03') }), lastNight],
    },
  },
  'nobody started its tick, and a run that somebody began since has failed': {
    status: 'overdue',
    tick: T,
    store: {
      instances: [api1],
      locks: [started(YESTERDAY)],
      entries: [entry(at('03:02'), { at: at('03:03'), outcome: 'failed' }), lastNight],
    },
  },
  'an interval did not run, and a run that somebody began since has completed': {
    status: 'ok',
    own: INTERVAL,
    store: {
      instances: [instance('api-1', { jobs: [INTERVAL] })],
      locks: [lockInfo({ name: 'poll', jobs: [{ job: INTERVAL.job, due: at('03:05') }] })],
      entries: [entry(at('03:08'), { lock: 'poll', job: INTERVAL.job, at: at('03:09') })],
    },
  },
  'its tick ran without its lock, as the store was away': {
    status: 'ok',
    store: {
      instances: [api1],
      locks: [started(YESTERDAY)],
      entries: [{ ...MISS, reason: 'unlocked' }, lastNight],
    },
  },
  'its lock was renamed since its tick': {
    status: 'new',
    own: { ...JOB, lock: 'billing' },
    store: {
      instances: [instance('api-0', { left: true, seenAt: at('03:05') })],
      locks: [started(T)],
      entries: [entry(T, { tick: T }), lastNight],
    },
  },
  'nobody started its very first tick': { status: 'overdue', tick: T, store: { instances: [api1] } },
  'all were down when its tick came': {
    status: 'overdue',
    tick: T,
    store: { instances: [instance('api-1', { left: true, seenAt: at('02:50') })], ...ranYesterday },
  },
  'the only one on which it is on has died': {
    status: 'overdue',
    tick: T,
    own: OFF,
    store: {
      instances: [instance('web-1', { jobs: [OFF] }), instance('worker-1', { seenAt: at('02:50') })],
      ...ranYesterday,
    },
  },
  'the only one that was up has another zone, and the one that agreed has died': {
    status: 'overdue',
    tick: T,
    store: {
      instances: [
        instance('api-0', { startedAt: at('12:00', 20), jobs: [BERLIN] }),
        instance('api-1', { startedAt: at('12:00', 20), seenAt: at('02:50') }),
      ],
      ...ranYesterday,
    },
  },
  'the only one has restarted under its id since its tick': {
    status: 'overdue',
    tick: T,
    store: { instances: [], ...ranYesterday },
  },
  'its tick was missed after a run that was interrupted': {
    status: 'overdue',
    tick: T,
    store: {
      instances: [api1],
      locks: [started(YESTERDAY, { outcome: undefined })],
      entries: [entry(YESTERDAY, { tick: YESTERDAY, attempt: 1, outcome: 'interrupted' })],
    },
  },
  'an interval did not run': {
    status: 'overdue',
    tick: at('03:05'),
    own: INTERVAL,
    store: {
      instances: [instance('api-1', { jobs: [INTERVAL] })],
      locks: [lockInfo({ name: 'poll', jobs: [{ job: INTERVAL.job, due: at('03:05') }] })],
    },
  },
  'its last run was interrupted': {
    status: 'interrupted',
    store: {
      instances: [api1],
      locks: [{ ...held(T), state: 'free', interrupted: true }],
      entries: [lastNight],
    },
  },
  'a deploy has aborted its last run': {
    status: 'interrupted',
    store: {
      instances: [api1],
      locks: [started(T, { outcome: 'aborted' })],
      entries: [entry(T, { tick: T, attempt: 1, outcome: 'aborted', error: 'LockShutdownError' }), lastNight],
    },
  },
  'its last run failed': {
    status: 'failing',
    store: { instances: [api1], locks: [started(T, { outcome: 'failed' })], entries: [lastNight] },
  },
  'its last run completed, and reported too little': {
    status: 'hollow',
    store: {
      instances: [api1],
      locks: [started(T, { outcome: 'hollow' })],
      entries: [
        entry(T, {
          tick: T,
          attempt: 1,
          outcome: 'hollow',
          shortfall: 'reported 0 invoices; expected at least 1',
        }),
        lastNight,
      ],
    },
  },
  'its last run failed, and is tried again in a minute': {
    status: 'ok',
    store: {
      instances: [api1],
      locks: [started(T, { outcome: 'failed', retryAt: at('03:11') })],
      entries: [entry(T, { tick: T, attempt: 1, outcome: 'failed' }), lastNight],
    },
  },
  'its last run failed, and nobody has tried it again': {
    status: 'failing',
    store: {
      instances: [api1],
      locks: [started(T, { outcome: 'failed', retryAt: at('03:08') })],
      entries: [entry(T, { tick: T, attempt: 1, outcome: 'failed' }), lastNight],
    },
  },
  'it is paused': {
    status: 'paused',
    store: {
      instances: [api1],
      locks: [{ ...started(YESTERDAY), paused: PAUSED }],
      entries: [lastNight],
    },
  },
  'its tick came while it was paused': {
    status: 'ok',
    store: {
      instances: [api1],
      locks: [started(YESTERDAY)],
      entries: [
        act(at('03:05'), { action: 'resume', actor: 'bob' }),
        act(at('02:30'), { action: 'pause', ...ANNA }),
        lastNight,
      ],
    },
  },
  'it is running': {
    status: 'running',
    store: { instances: [api1], locks: [held(T)], entries: [lastNight] },
  },
  'it runs since last night': { status: 'overrun', store: { instances: [api1], locks: [held(YESTERDAY)] } },
  'it hangs, and its lease is over': {
    status: 'hung',
    store: {
      instances: [instance('api-1', { hung: [{ job: JOB.job, fencingToken: T * 1_000, tick: T }] })],
      locks: [{ ...held(T), state: 'free', interrupted: true }],
      entries: [lastNight],
    },
  },
  'it hangs here, and is never overdue': {
    status: 'hung',
    own: { ...JOB, overdue: false },
    runs: [hangs],
    store: { instances: [], locks: [{ ...held(T), state: 'free', interrupted: true }], entries: [lastNight] },
  },
  'it hangs here, and is called by hand': {
    status: 'hung',
    own: BY_HAND,
    runs: [{ ...withoutTick(hangs), job: BY_HAND.job, lock: 'resend' }],
    store: { instances: [] },
  },
  'it is called by hand, and well': { status: 'new', own: BY_HAND, store: { instances: [] } },
  'the holder of its last run was killed, and another instance survives': {
    status: 'interrupted',
    store: {
      instances: [api1, instance('api-0', { seenAt: at('03:00:20') })],
      locks: [{ ...held(T), holder: 'api-0', state: 'free', interrupted: true }],
      entries: [lastNight],
    },
  },
  'its last run was killed, and it is never overdue': {
    status: 'interrupted',
    own: { ...JOB, overdue: false },
    store: {
      instances: [instance('api-1', { jobs: [{ ...JOB, overdue: false }] })],
      locks: [{ ...held(T), state: 'free', interrupted: true }],
      entries: [lastNight],
    },
  },
  'it is stopped here, and nobody else has started its tick': {
    status: 'overdue',
    tick: T,
    own: STOPPED,
    store: { instances: [api1], ...ranYesterday },
  },
  'it is stopped here, and another one has started its tick': {
    status: 'ok',
    own: STOPPED,
    store: { instances: [api1], locks: [started(T)], entries: [entry(T, { tick: T }), lastNight] },
  },
  'it is stopped everywhere': {
    status: 'off',
    own: STOPPED,
    store: { instances: [instance('api-1', { jobs: [STOPPED] })], ...ranYesterday },
  },
  'it was paused before an outage, and its tick came in both': {
    status: 'paused',
    store: {
      instances: [api1],
      locks: [{ ...started(YESTERDAY), paused: PAUSED }],
      entries: [{ ...MISS, reason: 'store-unavailable', since: T, until: at('03:00:05') }, lastNight],
    },
  },
  'it is off everywhere': {
    status: 'off',
    own: OFF,
    store: { instances: [instance('api-1', { jobs: [OFF] })], ...ranYesterday },
  },
  'a deploy has switched it off': {
    status: 'off',
    own: OFF,
    store: { instances: [instance('api-1', { left: true, seenAt: at('02:50') })], ...ranYesterday },
  },
  'the one that ran it died, another replaced it, and a deploy has switched it off': {
    status: 'off',
    own: OFF,
    store: {
      instances: [
        instance('worker-2', { left: true, seenAt: at('02:50'), startedAt: at('12:05', 21) }),
        instance('worker-1', { seenAt: at('12:00', 21), startedAt: at('12:00', 20) }),
      ],
      ...ranYesterday,
    },
  },
  'the one that ran it last died, though another has left before': {
    status: 'overdue',
    tick: T,
    own: OFF,
    store: {
      instances: [
        instance('worker-2', { seenAt: at('02:50'), startedAt: at('12:05', 21) }),
        instance('worker-1', { left: true, seenAt: at('12:00', 21), startedAt: at('12:00', 20) }),
      ],
      ...ranYesterday,
    },
  },
  'two that are up do not agree on the zone': {
    status: 'disagree',
    store: {
      instances: [instance('api-1', { jobs: [BERLIN], startedAt: at('03:05') })],
      locks: [started(T)],
      entries: [entry(T, { tick: T })],
    },
  },
  'the clocks of all are behind': {
    status: 'disagree',
    clockOffset: 1_800_000,
    store: { instances: [instance('api-1', { clockOffset: 1_800_000 })], ...ranYesterday },
  },
  'nobody started its tick, and an instance whose clock is behind tells': {
    status: 'overdue',
    tick: T,
    own: OFF,
    clockOffset: 1_800_000,
    store: { instances: [api1], ...ranYesterday },
  },
  'it is new': { status: 'new', store: { instances: [] } },
  'the store refuses to tell of its runs': {
    status: 'unknown',
    store: { instances: [api1], locks: [started(T)], refusal: REFUSED },
  },
};

describe('all seven readers agree', () => {
  test.each(Object.keys(patterns))('%s', async (name) => {
    const pattern = patterns[name]!;
    const answers = await ask(pattern);
    expect({ dissenting: dissenting(answers, pattern), answers }).toEqual({ dissenting: [], answers });
  });

  const REFUSALS = { held: { reason: 'held', expiresIn: 1_000 }, 'cooling-down': { reason: 'cooling-down' } };
  const lived = Object.keys(patterns).flatMap((name) =>
    Object.entries(REFUSALS).map(([reason, refused]) => [name, reason, refused] as const),
  );
  test.each(lived)(
    '%s, and the tick was refused as %s where they are asked',
    async (name, _reason, refused) => {
      const answers = await ask({ ...patterns[name]!, refused });
      // That this instance was up may change what is so: then it does for all.
      const { status = 'unknown', overdue } = answers.status ?? {};
      const agreed = { ...patterns[name]!, status, ...(overdue !== undefined && { tick: overdue }) };
      if (overdue === undefined) delete (agreed as { tick?: number }).tick;
      expect({ dissenting: dissenting(answers, agreed), answers }).toEqual({ dissenting: [], answers });
    },
  );

  test('on every status that an instance can know', () => {
    const seen = new Set(Object.values(patterns).map(({ status }) => status));
    expect(Object.keys(CAUSES).filter((status) => !seen.has(status as JobStatus))).toEqual([]);
  });
});

test.each(Object.keys(READERS) as (keyof Answers)[])('one that is broken is found: %s', async (reader) => {
  const [pattern, other] = [patterns['nobody started its tick']!, patterns['its tick was started']!];
  // It says of a job that is overdue what it says of one that is not.
  const broken = { ...(await ask(pattern)), [reader]: (await ask(other))[reader] };
  expect(dissenting(broken, pattern)).toEqual([reader]);
});

test.each(['it is running', 'its last run failed', 'it runs since last night'])(
  'the gauge says that instances disagree, whatever goes first: %s',
  async (name) => {
    const { store, ...pattern } = patterns[name]!;
    const others = [...store.instances!, instance('api-2', { jobs: [BERLIN] })];
    const answers = await ask({ ...pattern, store: { ...store, instances: others } });
    expect(answers.status?.status).toBe(pattern.status);
    expect(gauge(answers, 'disagree')).toBe(1);
    expect(gauge(await ask(patterns[name]!), 'disagree')).toBe(0);
  },
);

test('what is not known is unknown to all that an instance can ask', async () => {
  const pattern = patterns['its tick was started']!;
  const away = { ...(pattern.store as object), instances: [api1] };
  const fake = Object.assign(new FakeStore(), away);
  fake.store.inspect = () => Promise.reject(new Error('away'));
  const events: SchedulerLockEvent[] = [];
  const { clock, watch, health } = probe(fake, {}, events);
  await clock.advance(10_000);
  const answers: Answers = {
    ...(await ask(pattern)),
    events,
    health: (await health.check()).schedulerLock,
    gauges: new Measurements(health).now(),
  };
  expect(dissenting(answers, { ...pattern, status: 'unknown' })).toEqual(['status', 'jobs', 'why', 'page']);
  watch.stop();
});
