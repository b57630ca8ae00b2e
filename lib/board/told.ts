import type {
  BreakResult,
  NobodyHas,
  PauseResult,
  RedeliverResult,
  ResumeResult,
  RunNowResult,
} from '../control/types.js';
import { timesIn } from '../insight/times.js';
import { displayName } from '../lock-name.js';

/** What became of a switch. */
export type Result = PauseResult | ResumeResult | BreakResult | RunNowResult | RedeliverResult;

type Of<R extends Result['result']> = Extract<Result, { readonly result: R }>;

const show = timesIn();
const by = (holder: string | undefined): string => (holder === undefined ? 'somebody' : displayName(holder));
const pausedBy = ({ pause: { actor, reason, until } }: Pick<Of<'paused'>, 'pause'>): string =>
  `paused by ${actor} until ${show(until)}${reason === undefined ? '' : ` (${reason})`}`;

/** A sentence for each, and the status of its answer. The compiler checks that none is missing. */
const TOLD: { readonly [R in Result['result']]: readonly [status: number, say: (result: Of<R>) => string] } =
  {
    paused: [200, (result) => `It is ${pausedBy(result)}.`],
    'paused-already': [409, (result) => `Nothing was changed: it is ${pausedBy(result)}.`],
    resumed: [
      200,
      () => 'It is resumed. Nothing is made up but what `catchUp` says, and calls that were queued.',
    ],
    'not-paused': [409, () => 'Nothing was changed: it is not paused.'],
    broken: [
      200,
      ({ holder }) =>
        `The lease of ${by(holder)} is over. Its job may still run: its signal aborts at its next heartbeat.`,
    ],
    gone: [
      409,
      ({ holder }) =>
        `Nothing was changed: that lease is over${holder === undefined ? '' : `, and ${by(holder)} has the lock`}.`,
    ],
    'is-pause': [
      409,
      (result) => `Nothing was changed: that is no run, it is ${pausedBy(result)}. Resume it.`,
    ],
    started: [
      200,
      ({ instance, fencingToken, outcome, pausedAgain }) => {
        const on = `on ${by(instance)}, with fencing token ${fencingToken}`;
        const pause =
          pausedAgain === undefined ? '' : ` It is ${pausedAgain ? 'paused again' : 'not paused any more'}.`;
        return (outcome === undefined ? `It runs ${on}.` : `It ran ${on}: ${outcome}.`) + pause;
      },
    ],
    held: [
      409,
      ({ lock, holder }) => `Nothing was changed: the lock ${displayName(lock)} is held by ${by(holder)}.`,
    ],
    queued: [
      200,
      ({ holder }) =>
        `It is queued${holder === undefined ? '' : ` behind ${by(holder)}`}: an instance that has the job runs it.`,
    ],
    skipped: [409, ({ reason }) => `It did not run: ${reason}.`],
    'nobody-has-it': [
      404,
      ({ job, why }: NobodyHas) => why ?? `No instance that is up has the job ${displayName(job)}.`,
    ],
    redelivered: [
      200,
      ({ count }) => `${count} ${count === 1 ? 'dead letter was' : 'dead letters were'} put back.`,
    ],
  };

export const told = (result: Result): string =>
  (TOLD[result.result][1] as (result: Result) => string)(result);

/** A call that found its job paused was not carried out. */
export function statusOf(result: Result): number {
  if (result.result === 'paused' && !('jobs' in result)) return 409;
  return TOLD[result.result][0];
}
