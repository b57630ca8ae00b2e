import { isUp } from '../join.js';
import { Given } from './check.js';
import { actOf, type Desk } from './desk.js';
import type { ForgetRequest, ForgetResult } from './types.js';

/** Notes that a job is gone for good. What reads the lock of the job sees the note, and leaves the job out. */
export async function forget(desk: Desk, request: ForgetRequest): Promise<ForgetResult> {
  const { job } = request;
  const given = new Given('forget()', request, true);
  given.name('job', job);
  given.done();
  const found = await desk.findJob(job);
  if ('result' in found) return found;
  const up = found.knownBy.filter(isUp).map(({ instance }) => instance);
  if (up.length > 0) return { result: 'guarded', job, instances: up };
  const { lock } = found;
  const act = actOf('forget', request);
  await desk.note(lock, act, await desk.timeOf(await desk.look(lock)), job);
  desk.tell(lock, act, { job });
  return { result: 'forgotten', job, lock };
}
