import type { ControlAct, RunEntry } from '../../contract/history-store.js';
import { readPause } from '../../contract/pause.js';
import { type Desk, FEW } from './desk.js';

/**
 * The runs and switches that a lock remembers, newest first.
 *
 * A pause that a person has lifted for one run of its job. Only the history of the lock says that the pause comes back after that run:
 * its end is there as the act `resume` with the id of the call. A person who resumes the job meanwhile adds an entry without such an id.
 */
export async function entriesOf(desk: Desk, name: string): Promise<RunEntry[]> {
  const entries = await desk.ask(desk.history.entries({ name, limit: FEW }));
  return entries.filter((entry): entry is RunEntry => entry.type === 'run');
}

/** What the history has of a lease, if it answers. */
export async function entryOf(
  desk: Desk,
  { lock, fencingToken }: { readonly lock: string; readonly fencingToken: number },
): Promise<RunEntry | undefined> {
  const entries = await entriesOf(desk, lock).catch(() => []);
  return entries.find((entry) => entry.fencingToken === fencingToken);
}

/**
 * The holder text of a pause that was lifted for one run, and comes back after that run.
 *
 * @param now by the store's clock, epoch ms
 */
export function liftedPause(entries: readonly RunEntry[], now: number): string | undefined {
  const [newest] = entries.filter(isResume);
  if (newest?.by?.call === undefined) return undefined;
  const { until = 0 } = readPause(newest.instance) ?? {};
  return until > now ? newest.instance : undefined;
}

/** Whether a person has resumed the job since then, epoch ms by the store's clock. */
export const wasResumed = (entries: readonly RunEntry[], since: number): boolean =>
  entries.filter(isResume).some(({ by, at }) => by?.call === undefined && at >= since);

const isResume = ({ by }: RunEntry): boolean => by?.action === 'resume';

/**
 * Notes what a person did to a lock, if the act neither begins nor ends a lease.
 *
 * @param now by the store's clock, epoch ms
 */
export async function note(desk: Desk, lock: string, act: ControlAct, now: number): Promise<void> {
  // The entry belongs to no lease: its number only says when the person acted.
  const fencingToken = now * 1_000 + Math.floor(Math.random() * 1_000);
  const entry = { name: lock, fencingToken, holder: act.actor, kept: desk.kept, by: act };
  await desk.ask(desk.history.interrupted(entry));
}
