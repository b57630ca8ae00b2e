import type { ControlAct } from '../contract/history-store.js';
import type { LockInfo } from '../contract/lock-info.js';
import { readPause } from '../contract/pause.js';
import { given } from '../base/shared.js';
import type { ControlInfo, PauseInfo, RunInfo } from './types.js';

/*
 * The acts of people on a lock are in its history among the runs: a pause is a lease that a person held; the record of a lease says who
 * ended it, the record of a run who started it. This file tells acts and runs apart.
 */

/** Whether a lease was for a run, and not for a person. */
export const isRun = ({ instance, by }: Pick<RunInfo, 'instance' | 'by'>): boolean =>
  by?.action !== 'redeliver' && by?.action !== 'resume' && readPause(instance) === undefined;

/** What a person did to start a run; `undefined` if no person has. */
export const starterOf = ({ by }: Pick<RunInfo, 'by'>): ControlAct | undefined =>
  by?.action === 'run' ? by : by?.started;

/** @param all runs and whatever people did, newest first @param lock as it is now */
export function pausesOf(all: readonly RunInfo[], lock: LockInfo | undefined): PauseInfo[] {
  return all.flatMap((entry) => pauseOf(entry, lock) ?? []);
}

function pauseOf(
  { lock: name, fencingToken, instance, startedAt, endedAt, outcome, by }: RunInfo,
  lock: LockInfo | undefined,
): PauseInfo | undefined {
  const paused = readPause(instance);
  if (paused === undefined) return undefined;
  const { actor, reason } = paused;
  const until =
    outcome === 'running' && lock !== undefined ? endOf(lock, paused.until) : (endedAt ?? paused.until);
  const resumedBy = by?.action === 'resume' && by.call === undefined ? by.actor : undefined;
  return { lock: name, actor, ...given({ reason, resumedBy }), since: startedAt, until, fencingToken };
}

const endOf = ({ time, expiresIn }: LockInfo, said: number): number =>
  expiresIn === undefined ? said : time + expiresIn;

/** The pause of a lock that is in force. */
export function pauseNow(lock: LockInfo | undefined): PauseInfo | undefined {
  if (lock?.state !== 'held' || lock.fencingToken === undefined) return undefined;
  const paused = readPause(lock.holder);
  if (paused === undefined) return undefined;
  const { actor, reason, until: said } = paused;
  const { name, fencingToken, since = lock.time } = lock;
  return { lock: name, actor, ...given({ reason }), since, until: endOf(lock, said), fencingToken };
}

/** How long after a tick its instances ask for the lock, ms; as long, a lock is reserved for a pause before the pause begins. */
const AROUND = 2_000;

/** The pause that kept a job from a tick: one that was in force then, rather than one that began a moment later. */
export const pauseAt = (pauses: readonly PauseInfo[], tick: number): PauseInfo | undefined =>
  pauses.find(({ since, until }) => tick >= since && tick <= until) ??
  pauses.find(({ since, until }) => tick >= since - AROUND && tick <= until);

/** What people did, newest first. @param all runs and whatever people did */
export function controlsOf(all: readonly RunInfo[], lock: LockInfo | undefined): ControlInfo[] {
  return all.flatMap((entry) => actsOf(entry, lock)).sort((one, other) => other.at - one.at);
}

/** Newest first, also if they are of one millisecond. */
function actsOf(entry: RunInfo, lock: LockInfo | undefined): ControlInfo[] {
  const { by, startedAt, endedAt = startedAt, job, fencingToken } = entry;
  const lease = { fencingToken, ...given({ job }) };
  const acts = pausedBy(entry, lock);
  if (by === undefined || !isAct(by) || by.action === 'pause') return acts;
  const { started, ...act } = by;
  if (started !== undefined && isAct(started) && started.action !== 'pause')
    acts.push({ ...started, lock: entry.lock, at: startedAt, ...lease });
  const about = isOfLease(entry) ? lease : given({ job });
  const at = act.action === 'break' || act.action === 'resume' ? endedAt : startedAt;
  return [{ ...act, lock: entry.lock, at, ...about }, ...acts.reverse()];
}

/** The pause that a person has made with this lease. The holder text has only as much of the reason as there is room for. */
function pausedBy(entry: RunInfo, lock: LockInfo | undefined): ControlInfo[] {
  const pause = pauseOf(entry, lock);
  if (pause === undefined) return [];
  const { actor, reason, until } = pause;
  const { by, startedAt: at, job, fencingToken } = entry;
  const noted = [by, by?.started].find((each) => each?.action === 'pause' && isAct(each));
  const act = noted ?? { action: 'pause' as const, actor, ...given({ reason }) };
  return [{ ...act, lock: entry.lock, at, fencingToken, ...given({ job }), until }];
}

/** Whether the fencing token of the entry is that of a lease, and not only a number that says when a person acted. */
const isOfLease = (entry: RunInfo): boolean => isRun(entry) || readPause(entry.instance) !== undefined;

/** A store may have anything there: a newer version may have written it. */
const isAct = ({ action, actor }: ControlAct): boolean =>
  typeof action === 'string' && typeof actor === 'string';
