import { expect, test } from '@jest/globals';
import type { JobFacts } from '../../../lib/insight/facts.js';
import { failuresOf, judge } from '../../../lib/insight/judgement.js';
import type { PauseInfo } from '../../../lib/insight/types.js';
import { at, by, BY_HAND, facts, INTERVAL, JOB, lastNight, run, tonight } from './support/facts.js';

type Expected = ReturnType<typeof judge>['status'];

const lockWith = (job: object): NonNullable<JobFacts['lock']> => ({
  name: 'invoices',
  time: at('03:10'),
  state: 'free',
  jobs: [{ job: 'Invoices.send', ...job }],
});

/** As long as a test wants, from 02:30 on. */
const pausedLock = (expiresIn = 3_600_000): NonNullable<JobFacts['lock']> => ({
  ...lockWith({ tick: at('03:00', 21), outcome: 'completed' }),
  time: at('03:05'),
  paused: {
    id: 1,
    actor: 'anna',
    reason: 'the provider is down',
    since: at('02:30'),
    until: at('03:05') + expiresIn,
  },
});

const pause = (since: string, until: string): PauseInfo => ({
  lock: 'invoices',
  actor: 'anna',
  since: at(since),
  until: at(until),
});

const gone = { state: 'gone', seenAt: at('02:00') } as const;
const off = { ...JOB, enabled: false };
const poll = (more: Partial<JobFacts> = {}): JobFacts =>
  facts({ known: INTERVAL, knownBy: [by('api-1', { startedAt: at('03:00') }, INTERVAL)], ...more });

const cases: [what: string, facts: JobFacts, status: Expected, attention: boolean][] = [
  ['a job that ran is ok', facts({ runs: [tonight(), lastNight] }), 'ok', false],
  ['a tick in its grace is not overdue', facts({ time: at('03:00:30'), runs: [lastNight] }), 'ok', false],
  ['a run that goes on', facts({ runs: [tonight({ outcome: 'running' }), lastNight] }), 'running', false],
  [
    'a run that goes on past the next tick, in its grace',
    facts({
      time: at('03:00:30'),
      runs: [run(at('03:00', 21), { tick: at('03:00', 21), outcome: 'running' })],
    }),
    'overrun',
    false,
  ],
  [
    'a run that goes on past the next tick and its grace',
    facts({ runs: [run(at('03:00', 21), { tick: at('03:00', 21), outcome: 'running' })] }),
    'overrun',
    true,
  ],
  ['a run by hand past a tick', facts({ runs: [run(at('02:50'), { outcome: 'running' })] }), 'overrun', true],
  [
    'a run that catches up with an old tick is not overrun by those before it',
    facts({ runs: [run(at('03:05'), { tick: at('03:00', 20), outcome: 'running' })] }),
    'running',
    false,
  ],
  [
    'an interval that runs longer than itself',
    poll({ runs: [run(at('02:50'), { outcome: 'running' })] }),
    'overrun',
    true,
  ],
  [
    'its last run was interrupted',
    facts({ runs: [tonight({ outcome: 'interrupted' })] }),
    'interrupted',
    true,
  ],
  ['its last run was aborted', facts({ runs: [tonight({ outcome: 'aborted' })] }), 'interrupted', true],
  ['nobody started its tick', facts({ runs: [lastNight] }), 'overdue', true],
  ['nobody has ever started it', facts(), 'overdue', true],
  ['nobody is up', facts({ runs: [lastNight], knownBy: [by('api-1', gone)] }), 'overdue', true],
  [
    'a tick is not overdue if its lock remembers a start',
    facts({ lock: lockWith({ tick: at('03:00') }) }),
    'ok',
    false,
  ],
  [
    'that start has failed',
    facts({ lock: lockWith({ tick: at('03:00'), outcome: 'failed' }) }),
    'failing',
    true,
  ],
  ['nor if a newer one was started', facts({ runs: [run(at('03:05'), { tick: at('03:05') })] }), 'ok', false],
  [
    'nor if the job was running when it came',
    facts({ runs: [run(at('02:59'), { endedAt: at('03:01') }), lastNight] }),
    'ok',
    false,
  ],
  [
    'nor if no instance knew the schedule then',
    facts({ runs: [lastNight], knownBy: [by('api-1', { startedAt: at('03:05') })] }),
    'ok',
    false,
  ],
  [
    'nor if the job was made at run time after it',
    facts({ knownBy: [by('api-1', { startedAt: at('03:00:01') })] }),
    'new',
    false,
  ],
  [
    'nor if another schedule was known then',
    facts({
      runs: [lastNight],
      knownBy: [
        by('api-2', { startedAt: at('03:05') }),
        by('api-1', { state: 'left', seenAt: at('03:06') }, { ...JOB, schedule: '0 4 * * *' }),
      ],
    }),
    'ok',
    false,
  ],
  [
    'an instance that has left knew it',
    facts({
      runs: [lastNight],
      knownBy: [by('api-2', { startedAt: at('03:05') }), by('api-1', { state: 'left', seenAt: at('03:04') })],
    }),
    'overdue',
    true,
  ],
  ['nor if it never is', facts({ known: { ...JOB, overdue: false }, runs: [lastNight] }), 'ok', false],
  ['an interval that is due', poll({ time: at('03:20'), runs: [run(at('03:05'))] }), 'overdue', true],
  ['an interval in its time', poll({ runs: [run(at('03:05'))] }), 'ok', false],
  ['an interval that has never run', poll({ time: at('03:20') }), 'overdue', true],
  ['an interval that has just come', poll({ time: at('03:09') }), 'new', false],
  ['its last run failed', facts({ runs: [tonight({ outcome: 'failed' })] }), 'failing', true],
  ['its last run passed its timeout', facts({ runs: [tonight({ outcome: 'timed-out' })] }), 'failing', true],
  ['it is paused', facts({ runs: [lastNight], lock: pausedLock() }), 'paused', false],
  [
    'it is paused, and its last run failed',
    facts({ runs: [tonight({ outcome: 'failed' })], lock: pausedLock() }),
    'paused',
    false,
  ],
  [
    'a run goes on, and its lock is paused',
    facts({ runs: [tonight({ outcome: 'running' })], lock: pausedLock() }),
    'running',
    false,
  ],
  ['a pause that is over by now', facts({ runs: [lastNight], lock: pausedLock(1_000) }), 'overdue', true],
  ['a pause that ends now', facts({ runs: [lastNight], lock: pausedLock(300_000) }), 'overdue', true],
  [
    'its tick came while it was paused',
    facts({ runs: [lastNight], pauses: [pause('02:00', '03:05')] }),
    'ok',
    false,
  ],
  [
    'its tick came behind a pause',
    facts({ runs: [lastNight], pauses: [pause('02:00', '02:59')] }),
    'overdue',
    true,
  ],
  [
    'its tick came before a pause',
    facts({ runs: [lastNight], pauses: [pause('03:00:10', '03:05')] }),
    'overdue',
    true,
  ],
  [
    'an interval that was due while it ran, until one interval after that',
    poll({ time: at('03:20'), runs: [run(at('02:50'), { endedAt: at('03:10') })] }),
    'ok',
    false,
  ],
  [
    'the same, when it should have run by now',
    poll({ time: at('03:21'), runs: [run(at('02:50'), { endedAt: at('03:10') })] }),
    'overdue',
    true,
  ],
  [
    'an interval that was off everywhere when it was due, until one interval after that',
    poll({ time: at('03:20'), runs: [run(at('02:50'))], offUntil: at('03:10') }),
    'ok',
    false,
  ],
  [
    'the same, when it should have run since',
    poll({ time: at('03:21'), runs: [run(at('02:50'))], offUntil: at('03:10') }),
    'overdue',
    true,
  ],
  [
    'an interval that was due while it was paused, one interval after that',
    poll({ time: at('03:20'), runs: [run(at('02:50'))], pauses: [pause('02:55', '03:15')] }),
    'ok',
    false,
  ],
  [
    'the same, at the end of its grace',
    poll({ time: at('03:26'), runs: [run(at('02:50'))], pauses: [pause('02:55', '03:15')] }),
    'overdue',
    true,
  ],
  [
    'the same, when it should have run by now',
    poll({ time: at('03:27'), runs: [run(at('02:50'))], pauses: [pause('02:55', '03:15')] }),
    'overdue',
    true,
  ],
  [
    'an interval that was due in a pause, which was ended and begun again: one interval after the last',
    poll({
      time: at('03:30'),
      runs: [run(at('02:50'))],
      pauses: [pause('03:05', '03:25'), pause('02:55', '03:05')],
    }),
    'ok',
    false,
  ],
  [
    'the same, when it should have run by now',
    poll({
      time: at('03:37'),
      runs: [run(at('02:50'))],
      pauses: [pause('03:05', '03:25'), pause('02:55', '03:05')],
    }),
    'overdue',
    true,
  ],
  [
    'an interval of no length, as only another program could note it, that was paused when it was due',
    poll({
      known: { ...INTERVAL, interval: 0 },
      runs: [run(at('02:50'))],
      pauses: [pause('02:40', '02:51')],
    }),
    'ok',
    false,
  ],
  ['it is switched off everywhere', facts({ known: off, knownBy: [by('api-1', {}, off)] }), 'off', false],
  [
    'it is switched off wherever it is up',
    facts({
      known: off,
      knownBy: [by('api-2', { startedAt: at('01:00') }, off), by('api-1', { ...gone, state: 'left' })],
      runs: [lastNight],
    }),
    'off',
    false,
  ],
  [
    'no tick has come since it is known',
    facts({ knownBy: [by('api-1', { startedAt: at('03:05') })] }),
    'new',
    false,
  ],
  [
    'none of its dates is known',
    facts({ ticks: () => undefined, runs: [run(at('03:00', 1))] }),
    'unknown',
    false,
  ],
  [
    'a run past the next tick, of a job that is never overdue',
    facts({
      known: { ...JOB, overdue: false },
      runs: [run(at('03:00', 21), { tick: at('03:00', 21), outcome: 'running' })],
    }),
    'overrun',
    false,
  ],
  [
    'an interval that is due later, as the store says',
    poll({
      time: at('03:20'),
      runs: [run(at('03:05'))],
      lock: {
        name: 'poll',
        time: at('03:20'),
        state: 'free',
        jobs: [{ job: INTERVAL.job, due: at('03:21') }],
      },
    }),
    'ok',
    false,
  ],
  [
    'a job by hand that never ran',
    facts({ known: BY_HAND, knownBy: [by('api-1', {}, BY_HAND)] }),
    'new',
    false,
  ],
  [
    'a job by hand that ran',
    facts({ known: BY_HAND, knownBy: [by('api-1', {}, BY_HAND)], runs: [run(at('03:00', 1))] }),
    'ok',
    false,
  ],
  [
    'the only instance on which it is on has died: the others can only look on',
    facts({ known: off, knownBy: [by('web-1', {}, off), by('worker-1', gone)], runs: [lastNight] }),
    'overdue',
    true,
  ],
  [
    'a run that should be over goes on, though another instance has run the job since',
    facts({ runs: [tonight(), run(at('03:00', 21), { outcome: 'running', hung: true })] }),
    'hung',
    true,
  ],
  [
    'a run hangs of a job that is never overdue',
    facts({ known: { ...JOB, overdue: false }, runs: [tonight({ outcome: 'running', hung: true })] }),
    'hung',
    true,
  ],
  [
    'a tick that was missed after a run that was interrupted',
    facts({ runs: [run(at('03:00', 21), { tick: at('03:00', 21), outcome: 'interrupted' })] }),
    'overdue',
    true,
  ],
  [
    'an instance has restarted under its id after the tick, and the job ran before',
    facts({ knownBy: [by('api-1', { startedAt: at('03:05') })], lock: lockWith({ tick: at('03:00', 21) }) }),
    'overdue',
    true,
  ],
  [
    'the same, but the job ran by another schedule then',
    facts({ knownBy: [by('api-1', { startedAt: at('03:05') })], lock: lockWith({ tick: at('04:00', 21) }) }),
    'ok',
    false,
  ],
  [
    'the clock of all is behind by less than the time since the tick, and the run is late',
    facts({ knownBy: [by('api-1', { clockOffset: 300_000 })], runs: [lastNight] }),
    'overdue',
    true,
  ],
  [
    'the clock of all is behind: the tick is yet to come, and that is worth a look',
    facts({ knownBy: [by('api-1', { clockOffset: 1_800_000 })], runs: [lastNight] }),
    'disagree',
    true,
  ],
  [
    'the clock of one is behind, which keeps nobody from running it',
    facts({ knownBy: [by('api-1', { clockOffset: 1_800_000 }), by('api-2')], runs: [tonight()] }),
    'ok',
    false,
  ],
  [
    'two that are up do not agree on the zone',
    facts({
      runs: [tonight()],
      knownBy: [by('api-1'), by('api-2', {}, { ...JOB, timeZone: 'Europe/Berlin' })],
    }),
    'disagree',
    true,
  ],
  [
    'one that was shut down has another schedule',
    facts({
      runs: [tonight()],
      knownBy: [by('api-1'), by('api-2', { state: 'left' }, { ...JOB, timeZone: 'Europe/Berlin' })],
    }),
    'ok',
    false,
  ],
  ['the store has not been asked yet', facts({ asOf: undefined as never }), 'unknown', false],
  [
    'the store has not answered since the tick',
    facts({ asOf: at('03:00:59'), runs: [lastNight] }),
    'unknown',
    false,
  ],
  [
    'this instance has seen by itself that the tick was started',
    facts({ asOf: at('03:00', 21), runs: [lastNight], seen: { tick: at('03:00') } }),
    'ok',
    false,
  ],
  [
    'what failed is older than a start that this instance has seen',
    facts({ runs: [run(at('03:00', 21), { outcome: 'failed' })], seen: { tick: at('03:00') } }),
    'ok',
    false,
  ],
  [
    'the run of that start was here, and failed',
    facts({ runs: [lastNight], seen: { tick: at('03:00'), outcome: 'failed' } }),
    'failing',
    true,
  ],
  [
    'nobody can know the runs of a lock that is made from arguments',
    facts({ known: { ...JOB, lock: undefined as never } }),
    'unknown',
    false,
  ],
];

test.each(cases)('%s', (_what, known, status, attention) => {
  expect(judge(known)).toMatchObject({ status, attention });
});

test('an overdue job tells which tick is overdue', () => {
  expect(judge(facts({ runs: [lastNight] })).tick).toBe(at('03:00'));
  expect(judge(poll({ time: at('03:20'), runs: [run(at('03:05'))] })).tick).toBe(at('03:15'));
});

test('failures in a row are counted up to the last run that completed, without those that were interrupted', () => {
  const outcomes = ['running', 'failed', 'interrupted', 'timed-out', 'completed', 'failed'] as const;
  expect(failuresOf(facts({ runs: outcomes.map((outcome) => tonight({ outcome })) }))).toBe(2);
  expect(failuresOf(facts({ runs: [tonight({ outcome: 'failed' })] }))).toBe(1);
  expect(failuresOf(facts())).toBe(0);
});

const yesterday = run(at('03:00', 21), { tick: at('03:00', 21), outcome: 'running' });
const started = lockWith({ tick: at('03:00'), outcome: 'failed' });
const notAsked = { asOf: undefined as never };

test.each<[what: string, facts: JobFacts, rest: object]>([
  ['nobody has asked yet', facts(notAsked), { reason: 'not-asked' }],
  ['the store has never shown its lock', facts({ ...notAsked, refusal: 'no right' }), { reason: 'refused' }],
  [
    'the store does not show its runs',
    facts({ runs: [tonight()], refusal: 'no right' }),
    { reason: 'refused' },
  ],
  [
    'the facts are older than its grace',
    facts({ asOf: at('03:00:59'), runs: [lastNight] }),
    { reason: 'old-facts', tick: at('03:00') },
  ],
  ['its lock has many names', facts({ known: { ...JOB, lock: undefined as never } }), { reason: 'no-lock' }],
  [
    'its dates are not known',
    facts({ ticks: () => undefined, runs: [run(at('03:00', 1))] }),
    { reason: 'no-dates' },
  ],
  [
    'it is never overdue, and no instance that may run it is up',
    facts({
      known: { ...JOB, overdue: false },
      knownBy: [by('api-1', { state: 'gone' }), by('web-1', {}, off)],
      runs: [lastNight],
    }),
    { reason: 'nobody-up' },
  ],
  [
    'its run goes on',
    facts({ runs: [tonight({ outcome: 'running' })] }),
    { run: tonight({ outcome: 'running' }) },
  ],
  [
    'its run hangs, and is not the newest that goes on',
    facts({ runs: [tonight({ outcome: 'running' }), { ...yesterday, hung: true }] }),
    { run: { ...yesterday, hung: true } },
  ],
  ['its run is overrun', facts({ runs: [yesterday] }), { run: yesterday, tick: at('03:00') }],
  [
    'its run failed',
    facts({ runs: [tonight({ outcome: 'failed' })] }),
    { run: tonight({ outcome: 'failed' }) },
  ],
  [
    'its run was interrupted',
    facts({ runs: [tonight({ outcome: 'interrupted' })] }),
    { run: tonight({ outcome: 'interrupted' }) },
  ],
  ['only its lock knows of the run that failed', facts({ runs: [lastNight], lock: started }), {}],
])('a judgement says on what it rests: %s', (_what, known, rest) => {
  const { status: _status, attention: _attention, disagree: _disagree, ...said } = judge(known);
  expect(said).toEqual(rest);
});

test('a store that does not show a lock, or runs, needs attention', () => {
  const refusal = 'no right';
  expect(judge(facts({ ...notAsked, refusal }))).toMatchObject({ status: 'unknown', attention: true });
  expect(judge(facts({ runs: [tonight()], refusal }))).toMatchObject({ status: 'unknown', attention: true });
  expect(judge(facts({ known: { ...JOB, lock: undefined as never } })).attention).toBe(false);
});
