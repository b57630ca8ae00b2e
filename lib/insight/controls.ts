import type { ControlAct } from '../contract/history-store.js';
import type { LockInfo } from '../contract/lock-info.js';
import { given } from '../base/shared.js';
import type { KnownBy } from './facts.js';
import type { ControlInfo, PauseInfo, RunInfo } from './types.js';

/*
 * The acts of people on a lock are in its history among the runs: the record of a lease says who ended it, the record of a run who
 * started it, and the other acts have entries of their own. This file tells acts and runs apart.
 */

/** The acts that have an entry of their own: its fencing token is a number that only says when. */
const NOTES: ReadonlySet<string | undefined> = new Set(['pause', 'resume', 'redeliver', 'forget']);

/** Whether an entry is that of a run. */
export const isRun = ({ by }: Pick<RunInfo, 'by'>): boolean => !NOTES.has(by?.action);

/** What a person did to start a run; `undefined` if no person has. */
export const starterOf = ({ by }: Pick<RunInfo, 'by'>): ControlAct | undefined =>
  by?.action === 'run' ? by : by?.started;

/** Whether an entry says that a person had a job forgotten, which no instance has guarded since. */
export const forgets = ({ by, job, startedAt }: RunInfo, knownBy: readonly KnownBy[]): boolean =>
  by?.action === 'forget' && knownBy.every((one) => one.job.job === job && one.seenAt <= startedAt);

/** The pause of a lock that is in force. */
export function pauseNow(lock: LockInfo | undefined): PauseInfo | undefined {
  if (lock?.paused === undefined) return undefined;
  const { actor, reason, since, until } = lock.paused;
  return { lock: lock.name, actor, ...given({ reason }), since, until };
}

/** The pauses of a lock, newest first. @param all runs and whatever people did, newest first @param lock as it is now */
export function pausesOf(all: readonly RunInfo[], lock: LockInfo | undefined): PauseInfo[] {
  const now = pauseNow(lock);
  const past = all.flatMap((entry) => pastPause(entry, all, lock) ?? []);
  return now === undefined ? past : [now, ...past];
}

/** A pause that is over, by its entry. One that should be in force, and is not, never was, or the store has lost it. */
function pastPause(
  { lock: name, by, startedAt: since, fencingToken }: RunInfo,
  all: readonly RunInfo[],
  lock: LockInfo | undefined,
): PauseInfo | undefined {
  if (by?.action !== 'pause' || fencingToken === lock?.paused?.id) return undefined;
  const { actor, reason, until = since } = by;
  const pause = { lock: name, actor, ...given({ reason }), since };
  const end = all.findLast((each) => each.by?.action === 'resume' && each.fencingToken > fencingToken);
  if (end?.by !== undefined && end.startedAt < until)
    return { ...pause, resumedBy: end.by.actor, until: end.startedAt };
  return lock !== undefined && until > lock.time ? undefined : { ...pause, until };
}

/** How long after a tick its instances ask for the lock, ms. */
const AROUND = 2_000;

/** The pause that kept a job from a tick: one that was in force then, rather than one that began a moment later. */
export const pauseAt = (pauses: readonly PauseInfo[], tick: number): PauseInfo | undefined =>
  pauses.find(({ since, until }) => tick >= since && tick <= until) ??
  pauses.find(({ since, until }) => tick >= since - AROUND && tick <= until);

/** What people did, newest first. @param all runs and whatever people did @param lock as it is now */
export const controlsOf = (all: readonly RunInfo[], lock: LockInfo | undefined): ControlInfo[] =>
  all.flatMap((entry) => actsOf(entry, pastPause(entry, all, lock))).sort((one, other) => other.at - one.at);

/** Newest first, also if they are of one millisecond. */
function actsOf(entry: RunInfo, pause: PauseInfo | undefined): ControlInfo[] {
  const { by, startedAt, endedAt = startedAt, job, fencingToken, lock } = entry;
  if (by === undefined || !isAct(by)) return [];
  const { started, ...act } = by;
  const about = { lock, ...(isRun(entry) && { fencingToken }), ...given({ job, until: pause?.until }) };
  const acts = [{ ...act, at: act.action === 'break' ? endedAt : startedAt, ...about }];
  if (started !== undefined && isAct(started)) acts.push({ ...started, at: startedAt, ...about });
  return acts;
}

/** A store may have anything there: a newer version may have written it. */
const isAct = ({ action, actor }: ControlAct): boolean =>
  typeof action === 'string' && typeof actor === 'string';
