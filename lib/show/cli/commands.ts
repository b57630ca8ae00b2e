import type { Clock } from '../../base/clock.js';
import { INSTANCES_KEPT } from '../../contract/history-store.js';
import { withoutToken } from '../../contract/lock-info.js';
import type { LockStore } from '../../contract/lock-store.js';
import type { Insight } from '../../insight/insight.js';
import type {
  ControlInfo,
  InstanceInfo,
  InstanceState,
  JobView,
  RunInfo,
  Unreadable,
} from '../../insight/types.js';
import { displayName } from '../../base/lock-name.js';
import { isRefusal } from '../../insight/read.js';
import { Times } from '../../insight/shown.js';
import { timesIn } from '../../insight/times.js';
import { counted, nearest, withoutSql } from '../../base/wording.js';
import type { ControlSwitches } from '../../insight/control/control.js';
import type { Request } from './arguments.js';
import { type Format, printable } from './table.js';
import { placeOf } from './place.js';
import { done, isSwitch, type Switch } from './switches.js';
import { UsageError } from './options.js';
import { instancesTable, jobsTable, locksTable, runsTable } from './views.js';

/** What a command needs. */
export interface Context {
  readonly store: LockStore;
  readonly insight: Pick<
    Insight,
    'jobs' | 'job' | 'runs' | 'controls' | 'instances' | 'why' | 'look' | 'time' | 'unreadable'
  >;
  /** The switches. */
  readonly control: ControlSwitches;
  /** The user of this machine. */
  readonly actor: string;
  readonly clock: Clock;
  readonly look: Format;
  /** Writes about the answer to stderr: why it takes so long, what is missing from it. */
  readonly say: (line: string) => void;
}

/** The answer to a command: for programs, for people, and as an exit code. */
export interface Answer {
  readonly document: unknown;
  readonly lines: readonly string[];
  readonly code: number;
}

/** From this difference of two clocks on, the output mentions it, ms. The time that a question takes does not count. */
const CLOCK_OFF = 1_000;

const OK = 0;
export const ATTENTION = 1;
export const USAGE = 2;
export const AWAY = 3;

type Run = (request: Request, context: Context) => Promise<Answer>;

const RUNS: Readonly<Record<Exclude<Request['command'], Switch | 'board' | 'with-lock'>, Run>> = {
  status,
  runs,
  why,
  instances,
  locks,
};

/** Reads what a command shows. Rejects as the store does. */
export function answerOf(request: Request, context: Context): Promise<Answer> {
  const { command } = request;
  // `run` does these: they have no answer to print.
  if (command === 'board' || command === 'with-lock')
    return Promise.reject(new UsageError(`${command}: there is nothing to print.`));
  return isSwitch(command) ? switched(command, request, context) : RUNS[command](request, context);
}

async function switched(command: Switch, request: Request, context: Context): Promise<Answer> {
  const { control, actor, say } = context;
  const shown = timesIn(request.zone);
  const { document, line, code } = await done(command, request, { control, actor, shown, say });
  return { document, lines: [printable(line)], code };
}

/** Times are shown by the store's clock, and so is now; by this machine's if the store has given no time. */
const timesBy = (time: number | undefined, { zone }: Request, { clock }: Context): Times =>
  new Times(zone, time ?? clock.now());

async function status(request: Request, context: Context): Promise<Answer> {
  const { insight, clock } = context;
  const asked = clock.now();
  try {
    const { told, jobs } = await insight.look();
    const all = told.map(({ info }) => info);
    const times = timesBy(insight.time, request, context);
    return statusOf(request, context, times, { all, jobs, asked });
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return unknownStatus(context, timesBy(undefined, request, context));
  }
}

/** The store shows no instances, so it is not known which jobs there are. */
function unknownStatus({ insight, store, look }: Context, times: Times): Answer {
  const { label = 'the store' } = store;
  const { unreadable } = insight;
  const told = leftOut(unreadable).map((line) => look.paint('red', line));
  return {
    document: { store: label, time: times.now, attention: true, unreadable, jobs: [] },
    lines: [`${label}, instances unknown, ${times.full(times.now)} by the clock here`, ...told],
    code: ATTENTION,
  };
}

function statusOf(
  request: Request,
  { insight, store, look, clock }: Context,
  times: Times,
  { all, jobs, asked }: { all: readonly ListedInstance[]; jobs: readonly JobView[]; asked: number },
): Answer {
  const answered = clock.now();
  const counts = countsOf(all);
  const { up } = counts;
  const { unreadable } = insight;
  const attention = up === 0 || isUnknown(unreadable) || jobs.some((job) => job.attention);
  const label = store.label ?? 'the store';
  const instancesUp = up === 0 ? 'no instance up' : `${counted(up, 'instance')} up`;
  const lines = [`${label}, ${instancesUp}, ${clocks(times, asked, answered)}`];
  if (up === 0) lines.push(look.paint('red', nobody(all, times, request)));
  lines.push(...leftOut(unreadable).map((line) => look.paint('red', line)));
  if (jobs.length > 0) lines.push('', ...jobsTable(jobs, times, look));
  else if (up > 0) lines.push('No instance has told of a job.');
  // If the terminal cut off a reason, print it in full below. A watch has no room for that.
  if (!request.watch && lines.some((line) => line.endsWith('…'))) lines.push('', ...whole(jobs, look));
  return {
    document: {
      store: label,
      time: times.now,
      localTime: answered,
      ...counts,
      attention,
      unreadable,
      ...sinceOf(all, up),
      jobs,
    },
    lines,
    code: attention ? ATTENTION : OK,
  };
}

/** How many instances there are of each kind. */
function countsOf(all: readonly ListedInstance[]): Readonly<Record<InstanceState, number>> {
  const counts = { up: 0, gone: 0, left: 0 };
  for (const { state } of all) counts[state]++;
  return counts;
}

/** The store's time, and this machine's, if the two differ by more than the question took. */
function clocks(times: Times, asked: number, answered: number): string {
  const { now, full } = times;
  const isOff = now < asked - CLOCK_OFF || now > answered + CLOCK_OFF;
  return isOff ? `${full(now)} by its clock, ${full(answered)} by the one here` : full(now);
}

/** Whether there may be jobs whose state is not known. */
const isUnknown = ({ instances, parts }: Unreadable): boolean => instances > 0 || parts.length > 0;

/** What is missing from the answer, one line each. */
function leftOut({ instances, runs, parts }: Unreadable): string[] {
  const refused = parts.map((reason) => printable(`Not all can be read. ${reason}`));
  const count = instances + runs;
  if (count === 0) return refused;
  const records =
    count === 1 ? '1 record cannot be read, and is' : `${count} records cannot be read, and are`;
  return [...refused, `${records} left out: ${instances} of instances and their jobs, ${runs} of runs.`];
}

/** Why each job needs attention, below the table. */
const whole = (jobs: readonly JobView[], { paint }: Format): string[] =>
  jobs.flatMap(({ job, why: known }) =>
    known === undefined ? [] : [`${paint('bold', printable(job))}: ${printable(known.sentence)}`],
  );

type ListedInstance = Pick<InstanceInfo, 'instance' | 'state' | 'seenAt'>;

/** When the last instance was seen, if none is up. */
function sinceOf(all: readonly ListedInstance[], up: number): { nobodySince?: number } {
  return up > 0 || all.length === 0 ? {} : { nobodySince: Math.max(...all.map(({ seenAt }) => seenAt)) };
}

function nobody(all: readonly ListedInstance[], times: Times, { address }: Request): string {
  const { nobodySince } = sinceOf(all, 0);
  if (nobodySince === undefined)
    return `no instance has been seen in the last ${INSTANCES_KEPT / 86_400_000} days ${placeOf(address)}`;
  const last = all.find(({ seenAt }) => seenAt === nobodySince);
  const how = last?.state === 'left' ? 'it was shut down' : 'it gives no sign of life any more';
  return `no instance since ${times.short(nobodySince)}: the last one was ${displayName(last?.instance)}, and ${how}`;
}

async function runs(request: Request, context: Context): Promise<Answer> {
  const { job, limit, bad } = request;
  const { insight, look, say } = context;
  const query = { ...(job !== undefined && { job }), limit };
  const found = await insight.runs({ ...query, bad });
  // A run says itself who started or ended it.
  const acts = (await insight.controls(query)).filter(({ action }) => action !== 'run' && action !== 'break');
  leftOut(insight.unreadable).forEach(say);
  const times = timesBy(insight.time, request, context);
  const all = newestFirst([...found, ...acts]).slice(0, limit);
  if (all.length > 0) return { document: all, lines: runsTable(all, times, look), code: OK };
  if (job !== undefined && (await insight.job(job)) === undefined) {
    const names = (await insight.jobs()).map((known) => known.job);
    throw new UsageError(
      `No instance knows a job ${displayName(job)}. ${names.length === 0 ? `There is none ${placeOf(request.address)}` : jobAdvice(job, names)}`,
    );
  }
  const which = bad ? 'No run that went wrong is kept' : 'No run is kept';
  return {
    document: [],
    lines: [`${which}${job === undefined ? '' : ` of ${displayName(job)}`}.`],
    code: OK,
  };
}

const timeOf = (entry: RunInfo | ControlInfo): number => ('at' in entry ? entry.at : entry.startedAt);

const newestFirst = (entries: readonly (RunInfo | ControlInfo)[]): (RunInfo | ControlInfo)[] =>
  [...entries].sort((one, other) => timeOf(other) - timeOf(one));

function jobAdvice(job: string, names: readonly string[]): string {
  const meant = nearest(job, names);
  return meant === undefined ? '`status` shows all.' : `Did you mean ${displayName(meant)}?`;
}

async function why(request: Request, context: Context): Promise<Answer> {
  const { job = '', at } = request;
  const { insight, say } = context;
  const answer = await insight.why(job, at);
  leftOut(insight.unreadable).forEach(say);
  return {
    document: answer,
    lines: [
      printable(answer.sentence),
      ...(answer.cause === 'unknown-job' && answer.jobs.length === 0
        ? [`There is none ${placeOf(request.address)}`]
        : []),
    ],
    code: answer.cause === 'unknown-job' ? USAGE : OK,
  };
}

async function instances(request: Request, context: Context): Promise<Answer> {
  const { insight, look, say } = context;
  const all = await insight.instances();
  leftOut(insight.unreadable).forEach(say);
  const times = timesBy(insight.time, request, context);
  return {
    document: all,
    lines: all.length === 0 ? [nobody(all, times, request)] : instancesTable(all, times, look),
    code: OK,
  };
}

/** After this time the command says why it takes so long, ms. */
const LONG = 1_000;

async function locks(request: Request, context: Context): Promise<Answer> {
  const { store, clock, look, say } = context;
  const hint = clock.setTimer(() => say('Looking for the locks among all that the store has …'), LONG, {
    keepAlive: true,
  });
  const all = await store.inspect().finally(() => hint.cancel());
  const times = timesBy(all[0]?.time, request, context);
  const unknown = new Set(all.flatMap((lock) => lock.unknown ?? []));
  for (const reason of unknown) say(`Not all can be read. ${printable(withoutSql(reason))}`);
  const sorted = all.map(withoutToken).sort((one, other) => (one.name < other.name ? -1 : 1));
  return {
    document: sorted,
    lines:
      sorted.length === 0
        ? [`There are no locks ${placeOf(request.address)}`]
        : locksTable(sorted, times, look),
    code: OK,
  };
}
