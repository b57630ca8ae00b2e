import { formatDuration } from '../duration.js';
import type { PauseInfo } from '../insight/types.js';
import type { ControlSwitches, NobodyHas, RunNowResult, Target } from '../control/types.js';
import { displayName } from '../lock-name.js';
import type { Request } from './arguments.js';
import type { Act, Switch } from './switch-arguments.js';
import { printable } from './table.js';
import type { Times } from '../insight/shown.js';

/** What a switch needs. */
export interface Hand {
  readonly control: ControlSwitches;
  readonly actor: string;
  readonly times: Times;
  readonly say: (line: string) => void;
}

/** The result of a switch: for programs, for people, and whether it was done. */
export interface Done {
  readonly document: unknown;
  readonly line: string;
  readonly code: 0 | 1 | 2;
}

type Do = (act: Act, hand: Hand) => Promise<Done>;

const DONE = 0;
const NOT_DONE = 1;
const CANNOT = 2;

const SWITCHES: Readonly<Record<Switch, Do>> = { pause, resume, break: breakLease, run, redeliver };

/** Carries out a switch. Rejects as the store does. */
export const done = (command: Switch, { act }: Request, hand: Hand): Promise<Done> =>
  SWITCHES[command](act as Act, hand);

const targetOf = ({ name = '', lock }: Act): Target => (lock === undefined ? { job: name } : { lock });

const byOf = ({ reason, as }: Act, { actor }: Hand): { actor: string; reason?: string } => ({
  actor: as ?? actor,
  ...(reason !== undefined && { reason }),
});

async function pause(act: Act, hand: Hand): Promise<Done> {
  const { control, times, say } = hand;
  const document = await control.pause({
    ...targetOf(act),
    ...byOf(act, hand),
    reason: act.reason ?? '',
    ...(act.for !== undefined && { for: act.for }),
    ...(act.wait !== undefined && { wait: act.wait }),
    onWaiting: (holder) => say(printable(`Waiting behind ${displayName(holder ?? 'whoever has it')} …`)),
  });
  switch (document.result) {
    case 'paused':
      return {
        document,
        line: `Paused ${about(document.pause, document.jobs)} until ${times.full(document.pause.until)}.`,
        code: DONE,
      };
    case 'paused-already':
      return {
        document,
        line: `Nothing was changed: ${about(document.pause, document.jobs)} is ${pausedBy(document.pause, times)}. Resume it first.`,
        code: NOT_DONE,
      };
    case 'held':
      return {
        document,
        line: `Not paused: ${heldBy(document.lock, document.holder)}, and goes on. Give --wait more time, or look with \`locks\`.`,
        code: NOT_DONE,
      };
    case 'nobody-has-it':
      return nobody(document);
  }
}

async function resume(act: Act, hand: Hand): Promise<Done> {
  const document = await hand.control.resume({ ...targetOf(act), ...byOf(act, hand) });
  switch (document.result) {
    case 'resumed':
      return {
        document,
        line: `Resumed ${about(document.pause, document.jobs)}: it was ${pausedBy(document.pause, hand.times)}.`,
        code: DONE,
      };
    case 'not-paused':
      return {
        document,
        line: `Nothing was changed: the lock ${displayName(document.lock)} is not paused.`,
        code: NOT_DONE,
      };
    case 'nobody-has-it':
      return nobody(document);
  }
}

async function breakLease(act: Act, hand: Hand): Promise<Done> {
  const by = { ...byOf(act, hand), reason: act.reason ?? '' };
  const document = await hand.control.break({ lock: act.name ?? '', fencingToken: act.fencing, ...by });
  switch (document.result) {
    case 'broken':
      return {
        document,
        line: `Ended the lease of ${displayName(document.holder)}. Its job may still run: its signal aborts at its next heartbeat, and another instance may start the job before that.`,
        code: DONE,
      };
    case 'gone':
      return {
        document,
        line:
          document.fencingToken === undefined
            ? `Nothing was changed: nobody has the lock ${displayName(document.lock)} any more.`
            : `Nothing was changed: that lease is over. ${heldBy(document.lock, document.holder)} by now, with fencing token ${document.fencingToken}.`,
        code: NOT_DONE,
      };
    case 'is-pause':
      return {
        document,
        line: `Nothing was changed: that is a pause, ${pausedBy(document.pause, hand.times)}. Use resume.`,
        code: NOT_DONE,
      };
  }
}

async function run(act: Act, hand: Hand): Promise<Done> {
  const { name = '', args, key, throughPause, wait } = act;
  if (throughPause) hand.say('If it is paused, that is lifted for this run: let this command end by itself.');
  const document = await hand.control.runNow({
    job: name,
    args,
    throughPause,
    ...byOf(act, hand),
    ...(key !== undefined && { key }),
    ...(wait !== undefined && { wait }),
  });
  return document.result === 'nobody-has-it' ? nobody(document) : runDone(document, hand);
}

function runDone(document: Exclude<RunNowResult, NobodyHas>, { times }: Hand): Done {
  switch (document.result) {
    case 'started':
      return startedDone(document);
    case 'queued': {
      const behind = document.holder === undefined ? '' : `, behind ${displayName(document.holder)}`;
      return {
        document,
        line: `Queued${behind}: it runs when its lock is free and an instance has taken it. \`runs\` shows it then.`,
        code: DONE,
      };
    }
    case 'held':
      return { document, line: `Not started: ${heldBy(document.lock, document.holder)}.`, code: NOT_DONE };
    case 'paused':
      return {
        document,
        line: `Not started: it is ${pausedBy(document.pause, times)}. --through-pause runs it once all the same.`,
        code: NOT_DONE,
      };
    case 'skipped':
      return { document, line: `Not started (${document.reason}).`, code: NOT_DONE };
  }
}

function startedDone(document: Extract<RunNowResult, { result: 'started' }>): Done {
  const { instance, fencingToken, outcome, error, pausedAgain } = document;
  const start = `Started on ${displayName(instance)}, fencing token ${fencingToken}`;
  const pause =
    pausedAgain === undefined ? '' : ` It is ${pausedAgain ? 'paused again' : 'not paused any more'}.`;
  if (outcome === undefined) return { document, line: `${start}.${pause}`, code: DONE };
  const end = `${start}: ${outcome}${error === undefined ? '' : ` (${error})`}.${pause}`;
  return { document, line: end, code: outcome === 'completed' ? DONE : NOT_DONE };
}

async function redeliver(act: Act, hand: Hand): Promise<Done> {
  const { name: lock = '', id } = act;
  const document = await hand.control.redeliver({
    lock,
    ...byOf(act, hand),
    ...(id !== undefined && { id }),
  });
  const { count } = document;
  if (count === 0)
    return {
      document,
      line: `There is no such dead letter of the lock ${displayName(lock)}.`,
      code: NOT_DONE,
    };
  return {
    document,
    line: `Put ${count} dead letter${count === 1 ? '' : 's'} of the lock ${displayName(lock)} back.`,
    code: DONE,
  };
}

/** The lock of a pause, with the jobs that it stops, unless that is the one of this name. */
function about({ lock }: PauseInfo, jobs: readonly string[]): string {
  const names = jobs.map(displayName).join(', ');
  if (jobs.length === 0) return `the lock ${displayName(lock)}, which no instance has a job for`;
  return jobs.length === 1 ? names : `the lock ${displayName(lock)}, and with it ${names}`;
}

function pausedBy({ actor, reason, since, until }: PauseInfo, { full, now }: Times): string {
  const why = reason === undefined ? '' : ` (${reason})`;
  return `paused by ${actor}${why} since ${full(since)}, for ${formatDuration(Math.max(0, until - now))} more`;
}

const heldBy = (lock: string, holder: string | undefined): string =>
  `${displayName(holder ?? 'somebody')} has the lock ${displayName(lock)}`;

function nobody(document: NobodyHas): Done {
  const { job, jobs, why } = document;
  const names = jobs.map(displayName).join(', ');
  const line =
    why === undefined
      ? `No instance knows a job ${displayName(job)}.${jobs.length === 0 ? '' : ` There are: ${names}.`}`
      : `Nobody can run ${displayName(job)}: ${why}`;
  return { document, line, code: CANNOT };
}
