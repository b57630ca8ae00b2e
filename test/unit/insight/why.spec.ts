import { describe, expect, test } from '@jest/globals';
import type { JobFacts } from '../../../lib/insight/facts.js';
import type { WhyCause } from '../../../lib/insight/types.js';
import { why, whyUnknown } from '../../../lib/insight/why.js';
import { at, by, BY_HAND, facts, INTERVAL, JOB, lastNight, miss, run, tonight } from './support/facts.js';

const BERLIN = { ...JOB, timeZone: 'Europe/Berlin' };
const OFF = { ...JOB, enabled: false };
const T = at('03:00');
const lock = { name: 'invoices', time: at('03:10'), state: 'free', jobs: [] } as const;
const export_ = run(at('02:55'), { job: 'Invoices.export', instance: 'api-2', endedAt: at('03:03') });
const gone = by('api-1', { state: 'gone', seenAt: at('02:58:10') });
const all = (reason: string, more: object = {}): JobFacts['misses'] =>
  ['api-1', 'api-2', 'api-3'].map((instance) => miss(instance, reason, more));
const poll = (more: Partial<JobFacts> = {}): JobFacts =>
  facts({ known: INTERVAL, knownBy: [by('api-1', {}, INTERVAL)], time: at('03:20'), ...more });
const resend = (more: Partial<JobFacts> = {}): JobFacts =>
  facts({ known: BY_HAND, knownBy: [by('api-1', {}, BY_HAND)], ...more });

type Case = [
  what: string,
  facts: JobFacts,
  at: number | undefined,
  cause: WhyCause['cause'],
  sentence: string,
];

const cases: Case[] = [
  [
    'its run',
    facts({ runs: [tonight()] }),
    T,
    'ran',
    'The tick of 2026-11-22 03:00:00Z ran on api-1: started at 03:00:00Z, completed after 12 s.',
  ],
  [
    'its second run of a tick',
    facts({ runs: [tonight({ attempt: 2, fencingToken: 9e15 }), tonight({ outcome: 'interrupted' })] }),
    T,
    'ran',
    'The tick of 2026-11-22 03:00:00Z ran on api-1, for the second time: started at 03:00:00Z, completed after 12 s.',
  ],
  [
    'a run that failed, without credentials',
    facts({ runs: [tonight({ outcome: 'failed', error: 'connect redis://:secret@cache:6379 refused.' })] }),
    T,
    'ran',
    'The tick of 2026-11-22 03:00:00Z ran on api-1: started at 03:00:00Z, failed after 12 s (connect redis://***@cache:6379 refused).',
  ],
  [
    'a run that passed its timeout',
    facts({ runs: [tonight({ outcome: 'timed-out', duration: 300_000 })] }),
    T,
    'ran',
    'The tick of 2026-11-22 03:00:00Z ran on api-1: started at 03:00:00Z, went past its timeout, and ended after 5 min.',
  ],
  [
    'the run of an older tick',
    facts({ runs: [tonight(), lastNight] }),
    at('03:00', 21),
    'ran',
    'The tick of 2026-11-21 03:00:00Z ran on api-1: started at 03:00:00Z, completed after 12 s.',
  ],
  [
    'a run by hand in the minute that is asked for',
    facts({ runs: [run(at('02:10:07'))] }),
    at('02:10'),
    'ran',
    'It ran on api-1: started by hand at 2026-11-22 02:10:07Z, completed after 12 s.',
  ],
  [
    'a start of which only the lock knows',
    facts({ lock: { ...lock, jobs: [{ job: JOB.job, tick: T, outcome: 'failed' }] } }),
    T,
    'unknown',
    'The tick of 2026-11-22 03:00:00Z was started (failed), but nothing more is known of its run.',
  ],
  [
    'a run that goes on',
    facts({ time: at('03:00:40'), runs: [tonight({ outcome: 'running' })] }),
    undefined,
    'running',
    'It is running on api-1 since 03:00:00Z, for 40 s now.',
  ],
  [
    'runs that hang, each on its instance',
    facts({
      time: at('05:00'),
      runs: [
        tonight({ outcome: 'running', hung: true }),
        run(at('03:00', 21), { instance: 'api-2', outcome: 'running', hung: true }),
      ],
    }),
    undefined,
    'hung',
    'It hangs on api-1, api-2: a run that began at 2026-11-22 03:00:00Z, 2 h ago, goes on past its `timeout` or without its lock. An instance on which it hangs starts no other run of it until it is restarted.',
  ],
  [
    'a run of an older tick that hangs',
    facts({ runs: [lastNight, tonight({ outcome: 'running', hung: true })] }),
    T,
    'hung',
    'It hangs on api-1: a run that began at 2026-11-22 03:00:00Z, 10 min ago, goes on past its `timeout` or without its lock. An instance on which it hangs starts no other run of it until it is restarted.',
  ],
  [
    'a clock that is ahead',
    facts({ knownBy: [by('api-1', { clockOffset: -3_600_000 })], misses: [miss('api-1', 'clock-skew')] }),
    undefined,
    'missed',
    'Nobody started the tick of 2026-11-22 03:00:00Z. On api-1, the clock was ahead of that of the store, which refuses ticks that are yet to come; either clock may be the wrong one.',
  ],
  [
    'clocks that are behind',
    facts({ knownBy: [by('api-1', { clockOffset: 1_800_000 })], runs: [lastNight] }),
    undefined,
    'clocks-behind',
    'Its ticks come 30 min late: the clock of api-1 is behind that of the store by so much. Either clock may be the wrong one.',
  ],
  [
    'two zones in one fleet, before anything has gone wrong',
    facts({ runs: [tonight()], knownBy: [by('api-1'), by('api-2', {}, BERLIN)] }),
    undefined,
    'schedules-differ',
    'The instances do not agree when it runs: 0 3 * * * UTC on api-1; 0 3 * * * Europe/Berlin on api-2.',
  ],
  [
    'a worker that has died, and those that only know the job',
    facts({
      knownBy: [
        by('web-1', {}, OFF),
        by('web-2', {}, OFF),
        by('worker-1', { state: 'gone', seenAt: at('02:58:10') }),
      ],
      runs: [lastNight],
      misses: [miss('web-1', 'disabled'), miss('web-2', 'disabled')],
    }),
    undefined,
    'no-instance',
    'No instance that may run it was up at 2026-11-22 03:00:00Z: worker-1 was the last one, and was last seen at 02:58:10Z; none has come since.',
  ],
  [
    'a tick of the schedule of then, which a deploy has changed',
    facts({
      known: { ...JOB, schedule: '0 4 * * *' },
      knownBy: [
        by('api-2', { startedAt: at('03:05') }, { ...JOB, schedule: '0 4 * * *' }),
        by('api-1', { state: 'left', seenAt: at('03:06') }),
      ],
      runs: [lastNight],
    }),
    T,
    'unknown',
    'Nobody is known to have started the tick of 2026-11-22 03:00:00Z, and no instance has told why. Look at the log of those that were up then: api-1.',
  ],
  [
    'a tick of which nothing was dropped',
    facts({ since: undefined as never, knownBy: [by('api-1')], runs: [tonight(), lastNight] }),
    at('03:00', 20),
    'no-instance',
    'No instance that may run it was up at 2026-11-20 03:00:00Z: the next one started at 2026-11-21 12:00:00Z.',
  ],
  [
    'a store that did not answer since',
    facts({ asOf: at('02:59'), runs: [lastNight] }),
    undefined,
    'unknown',
    'It is not known whether anybody has started the tick of 2026-11-22 03:00:00Z: the store has not answered since.',
  ],
  [
    'a store that has never answered',
    facts({ asOf: undefined as never, runs: [] }),
    undefined,
    'unknown',
    'Nothing is known of it yet: the store has not answered this instance.',
  ],
  [
    'a run that was interrupted',
    facts({ knownBy: [by('api-1', { state: 'gone' })], runs: [tonight({ outcome: 'interrupted' })] }),
    T,
    'interrupted',
    'The tick of 2026-11-22 03:00:00Z ran on api-1: started at 03:00:00Z, and was interrupted: the instance died, froze, or lost the store. How far the run got is not known.',
  ],
  [
    'a run that was interrupted of an instance that is up: it may hang there, which is not told yet',
    facts({ runs: [tonight({ outcome: 'interrupted' })] }),
    T,
    'interrupted',
    'The tick of 2026-11-22 03:00:00Z ran on api-1: started at 03:00:00Z, and its lease has ended by itself: the instance died, froze, or lost the store; or the run goes on, which its instance tells within two minutes. How far the run got is not known.',
  ],
  [
    'a run that was aborted',
    facts({ runs: [tonight({ outcome: 'aborted', error: 'LockShutdownError' })] }),
    T,
    'interrupted',
    'The tick of 2026-11-22 03:00:00Z ran on api-1: started at 03:00:00Z, aborted after 12 s, as the instance was shutting down or had lost the lock (LockShutdownError).',
  ],
  [
    'an earlier run that goes on',
    facts({ runs: [run(at('03:00', 21), { tick: at('03:00', 21), outcome: 'running' })] }),
    undefined,
    'overrun',
    'Nobody started the tick of 2026-11-22 03:00:00Z: an earlier run of the job was still going on, on api-1 since 2026-11-21 03:00:00Z.',
  ],
  [
    'an earlier run that went on then',
    facts({ runs: [run(at('02:50'), { endedAt: at('03:02') })] }),
    T,
    'overrun',
    'Nobody started the tick of 2026-11-22 03:00:00Z: an earlier run of the job was still going on, on api-1 from 02:50:00Z to 03:02:00Z.',
  ],
  [
    'the lease of an earlier run that was interrupted',
    facts({
      runs: [run(at('02:50'), { tick: at('02:50'), outcome: 'interrupted' })],
      misses: all('held', { holder: 'api-1' }),
    }),
    T,
    'overrun',
    'Nobody started the tick of 2026-11-22 03:00:00Z: its lock was still taken for an earlier run of the job, which was interrupted, on api-1 since 02:50:00Z.',
  ],
  [
    'another job that had the lock',
    facts({ others: [export_] }),
    T,
    'lock-taken',
    'Nobody started the tick of 2026-11-22 03:00:00Z: its lock invoices was taken by the job Invoices.export, on api-2 from 02:55:00Z to 03:03:00Z.',
  ],
  [
    'another job that still has the lock',
    facts({
      others: [run(at('02:55'), { job: 'Invoices.export', outcome: 'running' })],
      misses: all('held', { holder: 'api-1' }),
    }),
    T,
    'lock-taken',
    'Nobody started the tick of 2026-11-22 03:00:00Z: its lock invoices was taken by the job Invoices.export, on api-1 since 02:55:00Z.',
  ],
  [
    'the lease of another job that was interrupted',
    facts({
      others: [run(at('02:55'), { job: 'Invoices.export', outcome: 'interrupted' })],
      misses: all('held', { holder: 'api-1' }),
    }),
    T,
    'lock-taken',
    'Nobody started the tick of 2026-11-22 03:00:00Z: its lock invoices was taken by the job Invoices.export, on api-1 since 02:55:00Z.',
  ],
  [
    'an instance that had the lock',
    facts({ misses: all('held', { holder: 'worker-9' }) }),
    T,
    'lock-taken',
    'Nobody started the tick of 2026-11-22 03:00:00Z: its lock invoices was taken by worker-9.',
  ],
  [
    'a lock that somebody else had',
    facts({ misses: all('held') }),
    T,
    'lock-taken',
    'Nobody started the tick of 2026-11-22 03:00:00Z: its lock invoices was taken by somebody who is not known: perhaps another client of the store.',
  ],
  [
    'a lock that is kept by atLeast',
    facts({ runs: [run(at('02:58'))], misses: all('cooling-down') }),
    T,
    'lock-taken',
    'Nobody started the tick of 2026-11-22 03:00:00Z: its lock invoices was still kept by `atLeast` of the job Invoices.send, which ran on api-1 from 02:58:00Z to 02:58:12Z.',
  ],
  [
    'a store that was away',
    facts({ misses: all('store-unavailable', { count: 2, since: at('02:58:10') }) }),
    T,
    'store-away',
    'Nobody started the tick of 2026-11-22 03:00:00Z: the store was away from 02:58:10Z to 03:04:02Z on api-1, api-2, api-3.',
  ],
  [
    'a store that was away, by an instance whose clock is half an hour behind',
    facts({
      time: at('03:40'),
      knownBy: [by('api-1', { clockOffset: 1_800_000 })],
      misses: [miss('api-1', 'store-unavailable', { since: T + 20, until: at('03:00:05') })],
    }),
    T,
    'store-away',
    'Nobody started the tick of 2026-11-22 03:00:00Z: the store was away from 03:30:00Z to 03:30:05Z on api-1.',
  ],
  [
    'a store that was away for two, while another job ran',
    facts({ misses: all('store-unavailable').slice(1), others: [export_] }),
    T,
    'store-away',
    'Nobody started the tick of 2026-11-22 03:00:00Z: the store was away from 03:00:00Z to 03:04:02Z on api-2, api-3.',
  ],
  [
    'a store that was away for the leader, and says nothing of the others',
    facts({ misses: [miss('api-1', 'store-unavailable'), miss('api-2', 'not-leader')] }),
    T,
    'store-away',
    'Nobody started the tick of 2026-11-22 03:00:00Z: the store was away from 03:00:00Z to 03:04:02Z on api-1.',
  ],
  [
    'a store that was away for several ticks',
    facts({
      time: at('03:10', 24),
      knownBy: facts().knownBy,
      misses: [
        miss('api-1', 'store-unavailable', {
          tick: at('03:00', 24),
          count: 3,
          since: T + 20,
          until: at('03:05', 24),
        }),
      ],
    }),
    T,
    'store-away',
    'Nobody started the tick of 2026-11-22 03:00:00Z: the store was away from 03:00:00Z to 2026-11-24 03:05:00Z on api-1.',
  ],
  [
    'what kept each instance from it',
    facts({
      misses: [
        miss('api-1', 'not-fired'),
        miss('api-2', 'shutting-down', { count: 2 }),
        miss('api-3', 'store-unavailable'),
      ],
    }),
    T,
    'missed',
    'Nobody started the tick of 2026-11-22 03:00:00Z. On api-1, the scheduler did not call the job: it was stopped, or too busy. On api-2, the instance was shutting down (2 times in a row). On api-3, the store failed, or did not answer.',
  ],
  [
    'no instance between two',
    facts({ knownBy: [by('api-9', { startedAt: at('03:05') }), gone] }),
    T,
    'no-instance',
    'No instance that may run it was up at 2026-11-22 03:00:00Z: api-1 was the last one, and was last seen at 02:58:10Z; the next one started at 03:05:00Z.',
  ],
  [
    'no instance any more',
    facts({ knownBy: [gone] }),
    undefined,
    'no-instance',
    'No instance that may run it was up at 2026-11-22 03:00:00Z: api-1 was the last one, and was last seen at 02:58:10Z; none has come since.',
  ],
  [
    'no instance for a tick to come',
    facts({ knownBy: [gone] }),
    at('03:00', 23),
    'no-instance',
    'No instance that may run it is up: api-1 was the last one, and was last seen at 2026-11-22 02:58:10Z; none has come since.',
  ],
  [
    'no instance before the first that is remembered',
    facts({ knownBy: [by('api-9', { startedAt: at('03:05') })] }),
    T,
    'no-instance',
    'No instance that may run it was up at 2026-11-22 03:00:00Z: the next one started at 03:05:00Z.',
  ],
  [
    'a job that is off on all',
    facts({ known: OFF, knownBy: [by('api-1', {}, OFF), by('api-2', {}, OFF)] }),
    undefined,
    'off',
    'It is switched off (`enabled: false`) on api-1, api-2.',
  ],
  [
    'a job that was off on all that are gone by now',
    facts({
      known: OFF,
      knownBy: [by('api-1', { state: 'gone' }, OFF), by('api-2', { state: 'gone' }, OFF)],
    }),
    undefined,
    'off',
    'It is switched off (`enabled: false`) on api-1, api-2.',
  ],
  [
    'a job that is off on the only one',
    facts({ known: OFF, knownBy: [by('api-1', {}, OFF)] }),
    T,
    'off',
    'It is switched off (`enabled: false`) on api-1.',
  ],
  [
    'a job that a deploy has switched off',
    facts({
      known: OFF,
      knownBy: [
        by('web-1', {}, OFF),
        by('worker-2', { state: 'left', seenAt: at('02:50') }),
        by('worker-1', { state: 'gone', seenAt: at('02:00') }),
      ],
    }),
    undefined,
    'off',
    'It is switched off (`enabled: false`) on web-1.',
  ],
  [
    'two zones in one fleet',
    facts({ knownBy: [by('api-1'), by('api-2', {}, BERLIN), by('api-3', {}, BERLIN)] }),
    at('02:00'),
    'schedules-differ',
    'Nobody started the tick of 2026-11-22 02:00:00Z, and the instances do not agree when it runs: 0 3 * * * UTC on api-1; 0 3 * * * Europe/Berlin on api-2, api-3.',
  ],
  [
    'another zone on all that were up, if the one that agreed has died',
    facts({ knownBy: [by('api-3', { startedAt: at('03:05') }), by('api-2', {}, BERLIN), gone] }),
    T,
    'unknown',
    'Nobody is known to have started the tick of 2026-11-22 03:00:00Z, and no instance has told why. Look at the log of those that were up then: api-2.',
  ],
  [
    'a fleet that runs in another zone',
    facts({ runs: [tonight()] }),
    at('02:00'),
    'not-a-tick',
    'It has no tick at 2026-11-22 02:00:00Z: its schedule is 0 3 * * * UTC on api-1, api-2, api-3. Before: 2026-11-21 03:00:00Z; after: 2026-11-22 03:00:00Z.',
  ],
  [
    'the same without the package cron: nobody guesses',
    facts({ runs: [tonight(), lastNight], ticks: () => undefined }),
    at('02:00'),
    'unknown',
    'Nobody is known to have started the tick of 2026-11-22 02:00:00Z, and no instance has told why. Look at the log of those that were up then: api-1, api-2, api-3.',
  ],
  [
    'a time that is no tick of two schedules',
    facts({ knownBy: [by('api-1'), by('api-2', {}, BERLIN)] }),
    at('05:00'),
    'not-a-tick',
    'It has no tick at 2026-11-22 05:00:00Z: its schedule is 0 3 * * * UTC on api-1; 0 3 * * * Europe/Berlin on api-2. Before: 2026-11-22 03:00:00Z; after: 2026-11-23 02:00:00Z.',
  ],
  [
    'a tick that may still be started',
    facts({ time: at('03:00:20') }),
    T,
    'pending',
    'The tick of 2026-11-22 03:00:00Z has not been started yet, and counts as overdue from 03:01:00Z on.',
  ],
  [
    'the same, of a job that is never overdue',
    facts({ time: at('03:00:20'), known: { ...JOB, overdue: false } }),
    T,
    'pending',
    'The tick of 2026-11-22 03:00:00Z has not been started yet.',
  ],
  [
    'a tick to come',
    facts({ runs: [lastNight] }),
    at('03:00', 23),
    'pending',
    'The tick of 2026-11-23 03:00:00Z is yet to come.',
  ],
  [
    'the first tick of a new job',
    facts({ knownBy: [by('api-1', { startedAt: at('03:05') })] }),
    undefined,
    'pending',
    'The tick of 2026-11-23 03:00:00Z is yet to come.',
  ],
  [
    'a tick that is too old',
    facts({ runs: [tonight()], since: at('03:00', 10) }),
    at('03:00', 9),
    'too-old',
    'Nobody knows any more what became of the tick of 2026-11-09 03:00:00Z: what came before 2026-11-10 03:00:00Z may have been dropped.',
  ],
  [
    'a tick before the first instance',
    facts({ since: undefined as never }),
    at('03:00', 9),
    'too-old',
    'Nobody knows any more what became of the tick of 2026-11-09 03:00:00Z: what came before 2026-11-15 03:10:00Z may have been dropped.',
  ],
  [
    'a tick of which nobody knows',
    facts({ runs: [lastNight] }),
    T,
    'unknown',
    'Nobody is known to have started the tick of 2026-11-22 03:00:00Z, and no instance has told why. Look at the log of those that were up then: api-1, api-2, api-3.',
  ],
  [
    'a lock that is made from arguments',
    facts({ known: { ...JOB, lock: undefined as never } }),
    T,
    'unknown',
    'The name of its lock is made from the arguments of each call, so its runs are not kept.',
  ],
  [
    'a job without dates',
    facts({ ticks: () => undefined }),
    undefined,
    'unknown',
    'It is not known when it should run: that takes `@nestjs/schedule` beside this program, or in the folder in which it was started, and a schedule that its `cron` can read.',
  ],
  [
    'the last run of an interval',
    poll({ runs: [run(at('03:15'))] }),
    undefined,
    'ran',
    'It ran on api-1: started at 2026-11-22 03:15:00Z, completed after 12 s.',
  ],
  [
    'an older run of an interval',
    poll({ runs: [run(at('03:15')), run(at('03:05'))] }),
    at('03:07'),
    'ran',
    'It ran on api-1: started at 2026-11-22 03:05:00Z, completed after 12 s.',
  ],
  [
    'a job whose schedule was changed since its tick',
    facts({
      known: { ...JOB, schedule: '0 6 * * *' },
      knownBy: [
        by('api-2', { startedAt: at('03:05') }, { ...JOB, schedule: '0 6 * * *' }),
        by('api-1', { state: 'left', seenAt: at('03:06') }),
      ],
      runs: [tonight()],
    }),
    undefined,
    'ran',
    'The tick of 2026-11-22 03:00:00Z ran on api-1: started at 03:00:00Z, completed after 12 s.',
  ],
  [
    'a tick that ran without its lock',
    facts({ runs: [lastNight], misses: [miss('api-1', 'unlocked'), miss('api-2', 'store-unavailable')] }),
    undefined,
    'unlocked',
    "The tick of 2026-11-22 03:00:00Z ran without its lock on api-1, as the store did not answer (`onStoreError: 'run'`). Nothing more is known of that run.",
  ],
  [
    'a missed tick that somebody has made up for',
    facts({ runs: [run(at('03:02')), lastNight], misses: all('not-fired') }),
    T,
    'missed',
    'Nobody started the tick of 2026-11-22 03:00:00Z. On api-1, api-2, api-3, the scheduler did not call the job: it was stopped, or too busy. ' +
      'It ran on api-1: started by hand at 03:02:00Z, completed after 12 s.',
  ],
  [
    'an interval that is overdue',
    poll({
      time: at('03:40'),
      runs: [run(at('03:15'))],
      misses: all('store-unavailable', { tick: at('03:25'), until: at('03:30') }),
    }),
    undefined,
    'store-away',
    'Nobody started the run that was due at 2026-11-22 03:25:00Z: the store was away from 03:25:00Z to 03:30:00Z on api-1, api-2, api-3.',
  ],
  [
    'an interval that is overdue after a run that was longer, of which the instances tell by its date in the store',
    poll({
      time: at('03:40'),
      runs: [run(at('03:05'), { endedAt: at('03:22') })],
      misses: all('store-unavailable', { tick: at('03:15'), at: at('03:36'), until: at('03:36') }),
    }),
    undefined,
    'store-away',
    'Nobody started the run that was due at 2026-11-22 03:32:00Z: the store was away from 03:32:00Z to 03:36:00Z on api-1, api-2, api-3.',
  ],
  [
    'an interval that was missed',
    poll({ runs: [run(at('03:18')), run(at('02:30'))], misses: all('not-fired', { tick: at('02:40') }) }),
    at('02:45'),
    'missed',
    'Nobody started the run that was due at 2026-11-22 02:40:00Z. On api-1, api-2, api-3, the scheduler did not call the job: it was stopped, or too busy.',
  ],
  [
    'an interval that was missed before it ever ran',
    poll({ misses: all('not-fired', { tick: at('02:40') }) }),
    at('02:45'),
    'missed',
    'Nobody started the run that was due at 2026-11-22 02:40:00Z. On api-1, api-2, api-3, the scheduler did not call the job: it was stopped, or too busy.',
  ],
  [
    'an interval of which nobody knows',
    poll({ runs: [run(at('03:18')), run(at('02:30'))] }),
    at('02:45'),
    'unknown',
    'Nobody is known to have started the run that was due at 2026-11-22 02:40:00Z, and no instance has told why. Look at the log of those that were up then: api-1.',
  ],
  [
    'an interval that may still be started',
    poll({ runs: [run(at('03:09:40'))] }),
    at('03:25'),
    'pending',
    'The run that was due at 2026-11-22 03:19:40Z has not been started yet, and counts as overdue from 03:20:40Z on.',
  ],
  [
    'a tick that came while it was paused',
    facts({
      runs: [lastNight],
      pauses: [
        {
          lock: 'invoices',
          actor: 'anna@ops',
          reason: 'the provider is down',
          since: at('02:30'),
          until: at('03:05'),
        },
      ],
    }),
    at('03:00'),
    'paused',
    'Nobody started the tick of 2026-11-22 03:00:00Z: its lock invoices was paused by anna@ops from 2026-11-22 02:30:00Z to 2026-11-22 03:05:00Z (the provider is down).',
  ],
  [
    'a tick in a pause that was resumed, and another one a second later',
    facts({
      runs: [lastNight],
      pauses: [
        { lock: 'invoices', actor: 'anna@ops', since: at('03:00:01'), until: at('03:05') },
        { lock: 'invoices', actor: 'anna@ops', since: at('02:30'), until: at('03:00') },
      ],
    }),
    at('03:00'),
    'paused',
    'Nobody started the tick of 2026-11-22 03:00:00Z: its lock invoices was paused by anna@ops from 2026-11-22 02:30:00Z to 2026-11-22 03:00:00Z.',
  ],
  [
    'a run that a person has asked for',
    resend({
      runs: [
        run(at('02:15'), {
          trigger: 'control',
          by: { action: 'run', actor: 'anna@ops', reason: 'it was lost' },
        }),
      ],
    }),
    undefined,
    'ran',
    'It ran on api-1: started by anna@ops (it was lost) at 2026-11-22 02:15:00Z, completed after 12 s.',
  ],
  [
    'the last run by hand',
    resend({ runs: [run(at('02:15'))] }),
    undefined,
    'ran',
    'It ran on api-1: started by hand at 2026-11-22 02:15:00Z, completed after 12 s.',
  ],
  [
    'a run by hand between two ticks, asked for at its very millisecond',
    facts({ runs: [run(at('03:02:07')), lastNight] }),
    at('03:02:07'),
    'ran',
    'It ran on api-1: started by hand at 2026-11-22 03:02:07Z, completed after 12 s.',
  ],
  [
    'a run by hand in a minute',
    resend({ runs: [run(at('02:15:20'))] }),
    at('02:15'),
    'ran',
    'It ran on api-1: started by hand at 2026-11-22 02:15:20Z, completed after 12 s.',
  ],
  [
    'no run by hand in a minute',
    resend({ runs: [run(at('02:15'))] }),
    at('02:40'),
    'unknown',
    'It has no schedule: it runs when it is called. No run is known of that time.',
  ],
  [
    'no run by hand at all',
    resend(),
    undefined,
    'unknown',
    'It has no schedule: it runs when it is called. No run is known of that time.',
  ],
];

describe('a person reads of a job', () => {
  test.each(cases)('%s', (_what, known, time, cause, sentence) => {
    const answer = why(known, time);
    expect([answer.cause, answer.sentence]).toEqual([cause, sentence]);
    expect(answer.job).toBe(known.known.job);
  });
});

test('the cases are of every cause', () => {
  const CAUSES: Record<WhyCause['cause'], true> = {
    ran: true,
    running: true,
    interrupted: true,
    overrun: true,
    'lock-taken': true,
    'store-away': true,
    missed: true,
    unlocked: true,
    hung: true,
    'clocks-behind': true,
    'no-instance': true,
    off: true,
    paused: true,
    'schedules-differ': true,
    'not-a-tick': true,
    pending: true,
    'unknown-job': true,
    'too-old': true,
    unknown: true,
  };
  const tested = new Set(cases.map(([, , , cause]) => cause)).add('unknown-job');
  expect([...tested].sort()).toEqual(Object.keys(CAUSES).sort());
});

describe('a job that nobody knows', () => {
  const jobs = ['Invoices.poll', 'Invoices.send', 'Reports.send'];

  test.each([
    ['Invoice.send', ['Invoices.send'], 'No instance knows a job Invoice.send. Did you mean Invoices.send?'],
    [
      'send',
      ['Invoices.send', 'Reports.send'],
      'No instance knows a job send. Did you mean Invoices.send or Reports.send?',
    ],
    [
      'backup',
      jobs,
      'No instance knows a job backup. Known jobs: Invoices.poll, Invoices.send, Reports.send.',
    ],
  ])('%s', (job, near, sentence) => {
    expect(whyUnknown(job, jobs)).toEqual({ job, cause: 'unknown-job', jobs: near, sentence });
  });

  test('among none', () => {
    expect(whyUnknown('backup', []).sentence).toBe('No instance knows a job backup. Known jobs: none yet.');
  });
});

describe('the time in question', () => {
  const ran = facts({ runs: [tonight(), lastNight] });

  test.each([
    ['a time that is no whole minute means the newest tick before it', at('14:07:33', 21), at('03:00', 21)],
    ['so does one in the minute of a tick', at('03:00:17'), T],
    ['a tick of an older schedule is known by its run', at('01:30'), at('01:30')],
  ])('%s', (_what, asked, tick) => {
    const older = run(at('01:30'), { tick: at('01:30') });
    expect(why({ ...ran, runs: [tonight(), older, lastNight] }, asked)).toMatchObject({ cause: 'ran', tick });
  });

  test('without one, the answer is about the run that the status is about', () => {
    const failed = tonight({ outcome: 'failed' });
    expect(why(facts({ runs: [failed], time: at('04:00') }))).toMatchObject({ cause: 'ran', run: failed });
  });

  test('without one, a tick that may still be started is passed over', () => {
    expect(why(facts({ runs: [lastNight], time: at('03:00:30') }))).toMatchObject({
      cause: 'ran',
      run: lastNight,
    });
  });

  test('without one, of a job of which nobody knows the ticks of its runs it is about the newest run', () => {
    const everyTick = { ...JOB, overdue: false } as const;
    const newest = run(at('03:00:01'));
    expect(
      why(
        facts({
          known: everyTick,
          runs: [newest],
          time: at('03:00:30'),
          knownBy: [by('api-1', {}, everyTick)],
        }),
      ),
    ).toMatchObject({ cause: 'ran', run: newest });
  });

  test('an instance that started after a tick is not to blame for it', () => {
    const late = by('api-2', { startedAt: at('03:05') });
    const gone = by('api-1', { state: 'left', seenAt: at('02:50') });
    expect(why(facts({ knownBy: [late, gone], misses: [miss('api-2', 'not-up')] }), T)).toMatchObject({
      cause: 'no-instance',
      last: 'api-1',
      to: at('03:05'),
    });
  });

  test('schedules are those of all that are up, if nobody was up then', () => {
    const knownBy = [
      by('api-1'),
      by('api-2'),
      by('api-0', { state: 'left', seenAt: at('12:30', 21) }, BERLIN),
    ];
    expect(why(facts({ knownBy }), at('02:00', 20))).toMatchObject({
      cause: 'not-a-tick',
      schedules: [{ schedule: '0 3 * * *', timeZone: 'UTC', instances: ['api-1', 'api-2'] }],
    });
  });

  test('schedules are those of the instances that were up then', () => {
    const left = by(
      'api-0',
      { state: 'left', startedAt: at('00:00', 20), seenAt: at('12:00', 21) },
      { ...JOB, schedule: '0 4 * * *' },
    );
    expect(why(facts({ knownBy: [by('api-1'), left] }), at('03:00', 21))).toMatchObject({
      cause: 'not-a-tick',
      schedules: [{ schedule: '0 4 * * *', timeZone: 'UTC', instances: ['api-0'] }],
      before: at('04:00', 20),
      after: at('04:00', 21),
    });
  });
});

describe('a line that tells of several ticks in a row', () => {
  const away = facts({
    time: at('12:00', 23),
    knownBy: [by('api-1', { startedAt: at('00:00', 1) })],
    misses: [
      miss('api-1', 'store-unavailable', {
        tick: at('03:00', 23),
        count: 2,
        since: at('03:00', 22) + 20,
        at: at('03:01', 23),
      }),
    ],
  });

  test.each([
    ['the newest', at('03:00', 23), 'store-away'],
    ['the first', at('03:00', 22), 'store-away'],
    ['none before', at('03:00', 21), 'unknown'],
  ] as const)('tells of %s', (_what, tick, cause) => {
    expect(why(away, tick).cause).toBe(cause);
  });
});
