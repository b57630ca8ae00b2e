import { formatDuration } from '../../base/duration.js';
import { names } from '../phrases.js';
import type { PauseInfo } from '../types.js';
import { displayName } from '../../base/lock-name.js';
import { given } from '../../base/shared.js';
import { counted } from '../../base/wording.js';
import { unknownJobSentence } from '../sentence.js';
import type { ControlSwitches } from './control.js';
import type { PauseResult } from './types.js';

/** What became of a switch. */
export type Result = Awaited<ReturnType<ControlSwitches[keyof ControlSwitches]>>;

type Of<R extends Result['result']> = Extract<Result, { readonly result: R }>;

/** Shows a time, epoch milliseconds. */
type Shown = (time: number) => string;

/** What became of a switch, for people and for programs. */
export interface Report {
  /** A sentence. */
  readonly sentence: string;
  /** What to do in the shell. */
  readonly hint?: string;
  /** Of HTTP. */
  readonly status: 200 | 404 | 409;
  /** Of the shell: 0 done, 1 not done, 2 it cannot work. */
  readonly code: 0 | 1 | 2;
}

const done = (sentence: string, code: 0 | 1 = 0): Report => ({ sentence, status: 200, code });
const notDone = (sentence: string, hint?: string): Report => ({
  sentence,
  ...given({ hint }),
  status: 409,
  code: 1,
});
const unchanged = (why: string, hint?: string): Report => notDone(`Nothing was changed: ${why}.`, hint);

/** The compiler checks that none is missing. */
const TOLD: { readonly [R in Result['result']]: (result: Of<R>, shown: Shown) => Report } = {
  // A call that found its job paused was not carried out.
  paused: (result, shown) =>
    'jobs' in result
      ? done(
          `Done: ${about(result)} is paused by ${result.pause.actor} until ${shown(result.pause.until)}.${goesOn(result)}`,
        )
      : notDone(
          `Not started: it is ${pausedBy(result, shown)}.`,
          '--through-pause runs it once all the same.',
        ),
  'paused-already': (result, shown) =>
    unchanged(`${about(result)} is ${pausedBy(result, shown)}. Resume it first`),
  resumed: (result, shown) =>
    done(
      `It is resumed: ${about(result)} was ${pausedBy(result, shown)}. Nothing is made up but what \`catchUp\` says, and calls that were queued.`,
    ),
  'not-paused': ({ lock }) => unchanged(`the lock ${displayName(lock)} is not paused`),
  broken: ({ holder }) =>
    done(
      `Ended the lease of ${by(holder)}. Its job may still run: its signal aborts at its next heartbeat, and another instance may start the job before that.`,
    ),
  gone: ({ lock, held, holder, fencingToken }) => {
    if (held !== true) return unchanged(`nobody has the lock ${displayName(lock)} any more`);
    const token = fencingToken === undefined ? '' : `, with fencing token ${fencingToken}`;
    return unchanged(`that lease is over, and ${heldBy({ lock, holder })} by now${token}`);
  },
  started: ({ instance, fencingToken, outcome, error }) => {
    const on = `on ${by(instance)}, with fencing token ${fencingToken}`;
    const end = `${outcome}${error === undefined ? '' : ` (${error})`}`;
    const isFine = outcome === undefined || outcome === 'completed';
    return done(outcome === undefined ? `It runs ${on}.` : `It ran ${on}: ${end}.`, isFine ? 0 : 1);
  },
  held: (result) => unchanged(heldBy(result), 'Give --wait more time, or look with `locks`.'),
  queued: ({ holder }) => ({
    ...done(
      `Queued${holder === undefined ? '' : `, behind ${by(holder)}`}: it runs when its lock is free and an instance has taken it.`,
    ),
    hint: '`runs` shows it then.',
  }),
  skipped: ({ reason }) => notDone(`Not started: ${reason}.`),
  'nobody-has-it': ({ job, jobs, why }) => ({
    sentence:
      why === undefined ? unknownJobSentence(job, jobs, false) : `Nobody can run ${displayName(job)}: ${why}`,
    status: 404,
    code: 2,
  }),
  forgotten: ({ job }) => done(`Forgotten: ${displayName(job)} is shown again when an instance guards it.`),
  guarded: ({ job, instances }) =>
    unchanged(`${displayName(job)} is guarded on ${names(instances)}. Remove it there first`),
  redelivered: ({ lock, count }) =>
    count === 0
      ? notDone(`There is no such dead letter of the lock ${displayName(lock)}.`)
      : done(`Put ${counted(count, 'dead letter')} of the lock ${displayName(lock)} back.`),
};

/** @param shown shows a time */
export const told = (result: Result, shown: Shown): Report =>
  (TOLD[result.result] as (result: Result, shown: Shown) => Report)(result, shown);

const by = (holder: string | undefined): string => (holder === undefined ? 'somebody' : displayName(holder));

const heldBy = ({ lock, holder }: { lock: string; holder?: string | undefined }): string =>
  `${by(holder)} has the lock ${displayName(lock)}`;

const goesOn = ({ running }: Extract<PauseResult, { readonly result: 'paused' }>): string =>
  running === undefined ? '' : ` The run of ${by(running.holder)} goes on.`;

/** The lock of a pause, with the jobs that it stops, unless that is the one of this name. */
function about({ pause: { lock }, jobs }: Pick<Of<'paused-already'>, 'pause' | 'jobs'>): string {
  const names = jobs.map(displayName).join(', ');
  if (jobs.length === 0) return `the lock ${displayName(lock)}, which no instance has a job for,`;
  return jobs.length === 1 ? names : `the lock ${displayName(lock)}, and with it ${names},`;
}

/** How long it still lasts, by the store's clock: the one of this machine may be wrong. */
function pausedBy({ pause, time }: { pause: PauseInfo; time: number }, shown: Shown): string {
  const { actor, reason, since, until } = pause;
  const why = reason === undefined ? '' : ` (${reason})`;
  return `paused by ${actor}${why} since ${shown(since)}, for ${formatDuration(Math.max(0, until - time))} more`;
}

type Request = Readonly<Record<string, unknown>>;

/** Uses a switch. Hands on what was given, also what cannot work: the switch says what is wrong with it. */
export const used = (
  control: ControlSwitches,
  does: keyof ControlSwitches,
  request: Request,
): Promise<Result> => (control[does] as (request: Request) => Promise<Result>).call(control, request);
