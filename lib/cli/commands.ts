import type { Clock } from '../clock.js';
import { INSTANCES_KEPT } from '../stores/history-store.js';
import type { LockStore } from '../stores/lock-store.js';
import type { Insight } from '../insight/insight.js';
import type { InstanceInfo, JobView, Unreadable } from '../insight/types.js';
import { displayName } from '../lock-name.js';
import { nearest } from '../wording.js';
import type { Request } from './arguments.js';
import { evidenceOf } from './evidence.js';
import { list, type Look, printable } from './table.js';
import { Times } from './times.js';
import { UsageError } from './usage-error.js';
import { instancesTable, jobsTable, locksTable, runsTable } from './views.js';

/** What a command needs. */
export interface Context {
  readonly store: LockStore;
  readonly insight: Pick<Insight, 'jobs' | 'job' | 'runs' | 'instances' | 'why' | 'unreadable'>;
  readonly clock: Clock;
  readonly look: Look;
  /** Says something about the answer on stderr: why it takes so long, what it is without. */
  readonly say: (line: string) => void;
}

/** The answer to a command: for programs, for people, and as an exit code. */
export interface Answer {
  readonly document: unknown;
  readonly lines: readonly string[];
  readonly code: number;
}

const OK = 0;
const ATTENTION = 1;
export const USAGE = 2;
export const AWAY = 3;

type Run = (request: Request, context: Context, times: Times) => Promise<Answer>;

const RUNS: Readonly<Record<Request['command'], Run>> = { status, runs, why, instances, locks };

/** Reads what a command shows. Rejects as the store does. */
export function answerOf(request: Request, context: Context): Promise<Answer> {
  return RUNS[request.command](request, context, new Times(request.zone, context.clock.now()));
}

async function status({ watch }: Request, context: Context, times: Times): Promise<Answer> {
  const { insight, store, look } = context;
  const [all, jobs] = await Promise.all([insight.instances(), insight.jobs()]);
  const up = all.filter(({ state }) => state === 'up').length;
  const { unreadable } = insight;
  // Which jobs such an instance knows, and how they are, nobody can tell.
  const attention = up === 0 || unreadable.instances > 0 || jobs.some((job) => job.attention);
  const label = store.label ?? 'the store';
  const instancesUp = up === 0 ? 'no instance up' : `${up} instance${up === 1 ? '' : 's'} up`;
  const lines = [`${label}, ${instancesUp}, ${times.full(times.now)}`];
  if (up === 0) lines.push(look.paint('red', nobody(all, times)));
  lines.push(...leftOut(unreadable).map((line) => look.paint('red', line)));
  if (jobs.length > 0) lines.push('', ...jobsTable(jobs, times, look));
  else if (up > 0) lines.push('No instance has told of a job.');
  // What the terminal has cut off is the answer. A watch has no room for it.
  if (!watch && lines.some((line) => line.endsWith('…'))) lines.push('', ...whole(jobs, look));
  return {
    document: { store: label, time: times.now, up, attention, unreadable, ...sinceOf(all, up), jobs },
    lines,
    code: attention ? ATTENTION : OK,
  };
}

/** What the answer is without, as a line, or none. */
function leftOut({ instances, runs }: Unreadable): string[] {
  const count = instances + runs;
  if (count === 0) return [];
  const records =
    count === 1 ? '1 record cannot be read, and is' : `${count} records cannot be read, and are`;
  return [`${records} left out: ${instances} of instances and their jobs, ${runs} of runs.`];
}

/** Why each job needs attention, below the table. */
const whole = (jobs: readonly JobView[], { paint }: Look): string[] =>
  jobs.flatMap(({ job, why: known }) =>
    known === undefined ? [] : [`${paint('bold', printable(job))}: ${printable(known.sentence)}`],
  );

/** When the last instance was seen: from then on nobody was up. */
function sinceOf(all: readonly InstanceInfo[], up: number): { nobodySince?: number } {
  return up > 0 || all.length === 0 ? {} : { nobodySince: Math.max(...all.map(({ seenAt }) => seenAt)) };
}

function nobody(all: readonly InstanceInfo[], times: Times): string {
  const { nobodySince } = sinceOf(all, 0);
  if (nobodySince === undefined)
    return (
      `no instance has been seen in the last ${INSTANCES_KEPT / 86_400_000} days. ` +
      'Is this the store, the key prefix or the table of the application?'
    );
  const last = all.find(({ seenAt }) => seenAt === nobodySince);
  const how = last?.state === 'left' ? 'it was shut down' : 'it gives no sign of life any more';
  return `no instance since ${times.short(nobodySince)}: the last one was ${displayName(last?.instance)}, and ${how}`;
}

async function runs({ job, limit, bad }: Request, context: Context, times: Times): Promise<Answer> {
  const { insight, look, say } = context;
  const found = await insight.runs({ ...(job !== undefined && { job }), limit, bad });
  leftOut(insight.unreadable).forEach(say);
  if (found.length > 0) return { document: found, lines: runsTable(found, times, look), code: OK };
  if (job !== undefined && (await insight.job(job)) === undefined) {
    const names = (await insight.jobs()).map((known) => known.job);
    throw new UsageError(`No instance knows a job ${displayName(job)}. ${jobAdvice(job, names)}`);
  }
  const which = bad ? 'No run that went wrong is kept' : 'No run is kept';
  return {
    document: [],
    lines: [`${which}${job === undefined ? '' : ` of ${displayName(job)}`}.`],
    code: OK,
  };
}

function jobAdvice(job: string, names: readonly string[]): string {
  const meant = nearest(job, names);
  return meant === undefined ? '`status` shows all.' : `Did you mean ${displayName(meant)}?`;
}

async function why({ job = '', at }: Request, context: Context, times: Times): Promise<Answer> {
  const { insight, look, say } = context;
  const answer = await insight.why(job, at);
  leftOut(insight.unreadable).forEach(say);
  return {
    document: answer,
    lines: [printable(answer.sentence), '', ...list(evidenceOf(answer, times), look)],
    code: answer.cause === 'unknown-job' ? USAGE : OK,
  };
}

async function instances(_request: Request, context: Context, times: Times): Promise<Answer> {
  const { insight, look, say } = context;
  const all = await insight.instances();
  leftOut(insight.unreadable).forEach(say);
  return {
    document: all,
    lines: all.length === 0 ? [nobody(all, times)] : instancesTable(all, times, look),
    code: OK,
  };
}

/** After that, it is worth a word that the command takes so long, ms. */
const LONG = 1_000;

async function locks(_request: Request, { store, clock, look, say }: Context, times: Times): Promise<Answer> {
  if (store.inspect === undefined)
    throw new UsageError(`${store.label ?? 'This store'} cannot list its locks.`);
  const hint = clock.setTimer(() => say('Looking for the locks among all that the store has …'), LONG, {
    keepAlive: true,
  });
  const all = await store.inspect().finally(() => hint.cancel());
  const sorted = [...all].sort((one, other) => (one.name < other.name ? -1 : 1));
  return {
    document: sorted,
    lines: sorted.length === 0 ? ['There are no locks.'] : locksTable(sorted, times, look),
    code: OK,
  };
}
