import { given, newId } from '../../base/shared.js';
import { parseDuration } from '../../base/duration.js';
import { starterOf } from '../controls.js';
import type { KnownBy } from '../facts.js';
import { isUp } from '../join.js';
import { PARTS, THROUGH_PAUSE } from '../../contract/allowances.js';
import type { ControlAct, RunEntry } from '../../contract/history-store.js';
import type { LockInfo } from '../../contract/lock-info.js';
import { MOST_BYTES, writeQueued } from '../../contract/queued-arguments.js';
import { Given } from './check.js';
import { actOf, type Desk, EVERY, nobodyHas } from './desk.js';
import type { RunNowResult, RunRequest } from './types.js';

/** How long one may wait for the end of a run, ms. */
export const LONGEST_WAIT = 86_400_000;
/** How long to look for the start of a run if the lock is free, ms: instances look for calls every few seconds. */
const START = 10_000;
/** How much later than the end of a run its record may come, ms. */
const LATE = 2_000;

/** A call that was queued for a person. */
interface Call {
  readonly id: string;
  readonly lock: string;
  /** Until when to wait for the end of its run, monotonic; for the start, if the person did not ask for the end. */
  readonly deadline: number;
  readonly toTheEnd: boolean;
}

/** Queues a call of a job, for an instance that has the job, and says what becomes of the call. */
export async function runNow(desk: Desk, request: RunRequest): Promise<RunNowResult> {
  checkRun(request);
  if (desk.closing.aborted) return { result: 'skipped', reason: 'shutting-down' };
  const found = await desk.findJob(request.job);
  if ('result' in found) return found;
  const { lock, knownBy } = found;
  const why = whyNobody(knownBy);
  if (why !== undefined) return nobodyHas(request.job, [], why);
  const paused = await desk.pauseOf(lock);
  if (paused !== undefined && request.throughPause !== true) return { result: 'paused', ...paused };
  const call = await enqueue(desk, request, lock, paused !== undefined);
  return call === undefined ? { result: 'skipped', reason: 'queue-full' } : follow(desk, call);
}

/** @returns `undefined` if the lock has as many calls as it may have */
async function enqueue(
  desk: Desk,
  request: RunRequest,
  lock: string,
  isThrough: boolean,
): Promise<Call | undefined> {
  const { job, key, args = [] } = request;
  const id = newId();
  const by: ControlAct = { ...actOf('run', request), call: id };
  const kept = await desk.ask(
    desk.store.queuedCalls.enqueue({
      name: lock,
      id,
      job,
      args: writeQueued(args, by),
      priority: isThrough ? THROUGH_PAUSE : 0,
      max: PARTS.queue.max,
      // Nobody who asks for one run expects a second one: an interrupted run leaves a dead letter.
      redeliver: 0,
      // A call through a pause has a place of its own, and becomes one with no other.
      ...given({ key: isThrough ? undefined : key }),
    }),
  );
  if (!kept.queued) return undefined;
  await desk.announce();
  const deadline = desk.clock.monotonic() + (parseDuration(request.wait) ?? START);
  // With a key it may have become one with another call, which has the name of whoever asked for that.
  return { id: kept.id ?? id, lock, deadline, toTheEnd: request.wait !== undefined };
}

/** The arguments of the call. @throws SchedulerLockConfigError for what cannot work */
export function checkRun(request: RunRequest): readonly unknown[] {
  const { job, wait, key, args = [] } = request;
  const asked = new Given('runNow()', request, false);
  asked.name('job', job);
  if (key !== undefined) asked.key(key);
  asked.duration('wait', wait, { usual: START, most: LONGEST_WAIT });
  asked.json('args', args, MOST_BYTES);
  asked.done();
  return args;
}

/** Why no instance can run a job. */
function whyNobody(knownBy: readonly KnownBy[]): string | undefined {
  const up = knownBy.filter(isUp);
  const on = up.filter(({ job }) => job.enabled);
  if (up.length === 0) return 'No instance that knows it is up.';
  if (on.length === 0) return 'It is switched off on all instances that are up.';
  return on.some(({ job }) => job.takesCalls)
    ? undefined
    : 'No instance that is up takes calls of it from elsewhere.';
}

/** Waits for the start of a run, or for its end. */
async function follow(desk: Desk, call: Call): Promise<RunNowResult> {
  let openSince = Infinity;
  let before: number | undefined;
  for (;;) {
    // First the lock, then the run: in the other order, a run that ends in between would look interrupted.
    const info = await desk.look(call.lock);
    const run = await runOf(desk, call);
    const now = desk.clock.monotonic();
    const { fencingToken: lease } = held(info);
    const isOver = run !== undefined && run.fencingToken !== lease;
    openSince = isOver ? Math.min(openSince, now) : Infinity;
    // Whoever takes the call takes its lock first: only at the second look something else has it.
    const isTaken = lease !== undefined && lease === before;
    before = lease;
    if (run !== undefined && hasEnded(run, now - openSince)) return started(run, call.toTheEnd);
    if (isEnough(call, run ? !isOver : isTaken) || now >= call.deadline || desk.closing.aborted)
      return run ? started(run, false) : queued(call, info);
    await desk.wait(EVERY);
  }
}

/** The record of an end may come some time after it. */
const hasEnded = ({ outcome }: RunEntry, overFor: number): boolean =>
  outcome !== 'interrupted' || overFor > LATE;
const isEnough = ({ toTheEnd }: Call, isKnown: boolean): boolean => isKnown && !toTheEnd;

const held = (info: LockInfo | undefined): Partial<LockInfo> => (info?.state === 'held' ? info : {});

function queued({ lock, id }: Call, info: LockInfo | undefined): RunNowResult {
  const { holder } = held(info);
  return { result: 'queued', lock, id, ...given({ holder }) };
}

function started({ lock, fencingToken, instance, outcome, error }: RunEntry, withEnd: boolean): RunNowResult {
  const start = { result: 'started', lock, fencingToken, instance } as const;
  if (!withEnd || outcome === 'abandoned') return start;
  return { ...start, outcome, ...given({ error }) };
}

/** The run of a call. From its start until its end is known, the history has it as interrupted. */
async function runOf(desk: Desk, { lock, id }: Call): Promise<RunEntry | undefined> {
  const entries = await desk.entriesOf(lock);
  return entries.find((entry) => starterOf(entry)?.call === id);
}
