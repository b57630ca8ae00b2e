import type { Clock } from '../../base/clock.js';
import { given } from '../../base/shared.js';
import { counted, withoutSql } from '../../base/wording.js';
import { withoutToken } from '../../contract/lock-info.js';
import type { LockStore } from '../../contract/lock-store.js';
import { told, used } from '../../insight/control/told.js';
import type { ControlSwitches } from '../../insight/control/control.js';
import type { Insight } from '../../insight/insight.js';
import { some } from '../../insight/phrases.js';
import { Times } from '../../insight/shown.js';
import { timesIn } from '../../insight/times.js';
import type { ControlInfo, InstanceState, JobView, RunInfo } from '../../insight/types.js';
import { displayName } from '../../base/lock-name.js';
import { causesOf } from '../board/data/causes.js';
import { INSTANCES, LOCKS } from '../board/data/tables.js';
import { headlineOf, nobodyText, unreadText, verdictOf } from '../board/data/verdict.js';
import type { Request } from './arguments.js';
import { UsageError } from './options.js';
import { placeOf } from './place.js';
import { type Format, printable } from './table.js';
import { columnsTable, jobsTable, runsTable } from './views.js';

/** What a command needs. */
export interface Context {
  readonly store: LockStore;
  readonly insight: Pick<Insight, 'runs' | 'controls' | 'instances' | 'why' | 'look' | 'time' | 'unreadable'>;
  /** The switches. */
  readonly control: ControlSwitches;
  /** The user of this machine. */
  readonly actor: string;
  readonly clock: Clock;
  readonly look: Format;
  /** Writes about the answer to stderr: what is missing from it. */
  readonly say: (line: string) => void;
}

/** The answer to a command: for programs, for people, and as an exit code. */
export interface Answer {
  readonly document: unknown;
  readonly lines: readonly string[];
  readonly code: number;
}

const OK = 0;
export const ATTENTION = 1;
export const USAGE = 2;
export const AWAY = 3;

type Run = (request: Request, context: Context) => Promise<Answer>;

const RUNS: Readonly<Record<Exclude<Request['command'], 'board' | 'with-lock'>, Run>> = {
  status,
  runs,
  why,
  instances,
  locks,
  pause: switched('pause', 'job'),
  resume: switched('resume', 'job'),
  break: switched('break', 'lock'),
  run: switched('runNow', 'job'),
  redeliver: switched('redeliver', 'lock'),
  forget: switched('forget', 'job'),
};

/** Does what was asked for. Rejects as insight and the switches do. */
export function answerOf(request: Request, context: Context): Promise<Answer> {
  const { command } = request;
  // `run` does these: they have no answer to print.
  if (command === 'board' || command === 'with-lock')
    return Promise.reject(new UsageError(`${command}: there is nothing to print.`));
  return RUNS[command](request, context);
}

/** Times are shown by the store's clock, and so is now; by this machine's if the store has given no time. */
const timesBy = (time: number | undefined, { zone }: Request, { clock }: Context): Times =>
  new Times(zone, time ?? clock.now());

/** Says what could not be read for an answer. */
const sayUnread = ({ insight, say }: Context): void => unreadText(insight.unreadable).forEach(say);

async function status(request: Request, context: Context): Promise<Answer> {
  const { insight, store, look } = context;
  const looked = await insight.look();
  const { jobs, unreadable } = looked;
  const all = looked.told.map(({ info }) => info);
  const times = timesBy(insight.time, request, context);
  const counts: Record<InstanceState, number> = { up: 0, gone: 0, left: 0 };
  for (const { state } of all) counts[state]++;
  const verdict = verdictOf(looked);
  const attention = counts.up === 0 || !verdict.complete || verdict.attention > 0;
  const nobody = nobodyText(looked.told, times, placeOf(request.address));
  const label = store.label ?? 'the store';
  const lines = [
    `${label}, ${counted(counts.up, 'instance')} up, ${times.full(times.now)}`,
    ...[nobody, ...unreadText(unreadable)].flatMap((line) => line && look.paint('red', printable(line))),
    `${headlineOf(verdict)}.`,
    ...(jobs.length === 0 ? [] : ['', ...jobsTable(jobs, times, look)]),
  ].filter((line) => line !== undefined);
  // If the terminal cut off a reason, print it in full below. A watch has no room for that.
  if (!request.has('watch') && lines.some((line) => line.endsWith('…')))
    lines.push('', ...whole(jobs, times, look));
  const nobodySince =
    counts.up === 0 && all.length > 0 ? Math.max(...all.map(({ seenAt }) => seenAt)) : undefined;
  const about = { store: label, time: times.now, ...counts, attention, unreadable };
  return { document: { ...about, ...given({ nobodySince }), jobs }, lines, code: attention ? ATTENTION : OK };
}

/** Why jobs are as they are, below the table: those with one cause together. */
const whole = (jobs: readonly JobView[], times: Times, { paint }: Format): string[] =>
  causesOf(
    jobs.filter((job) => job.why !== undefined),
    times,
    ({ why: known }) => known?.sentence ?? '',
  ).map(({ views, sentence }) => {
    const names = some(views.map(({ job }) => displayName(job)));
    return `${paint('bold', printable(names))}: ${printable(sentence)}`;
  });

async function runs(request: Request, context: Context): Promise<Answer> {
  const { name: job, text, has } = request;
  const { insight, look } = context;
  const limit = text('limit');
  const query = given({ job, limit: limit === undefined ? undefined : Number(limit) });
  const found = await insight.runs({ ...query, bad: has('bad') });
  // A run says itself who started or ended it.
  const acts = (await insight.controls(query)).filter(({ action }) => action !== 'run' && action !== 'break');
  sayUnread(context);
  const times = timesBy(insight.time, request, context);
  const all = newestFirst([...found, ...acts]).slice(0, query.limit ?? 20);
  if (all.length > 0) return { document: all, lines: runsTable(all, times, look), code: OK };
  const known = job === undefined ? undefined : await why(request, context);
  if (known?.code === USAGE) throw new UsageError(known.lines.join(' '));
  const which = has('bad') ? 'No run that went wrong is kept' : 'No run is kept';
  const of = job === undefined ? '' : ` of ${displayName(job)}`;
  return { document: [], lines: [`${which}${of}.`], code: OK };
}

const timeOf = (entry: RunInfo | ControlInfo): number => ('at' in entry ? entry.at : entry.startedAt);

const newestFirst = (entries: readonly (RunInfo | ControlInfo)[]): (RunInfo | ControlInfo)[] =>
  [...entries].sort((one, other) => timeOf(other) - timeOf(one));

async function why({ name = '', text, address }: Request, context: Context): Promise<Answer> {
  const answer = await context.insight.why(name, text('at'));
  sayUnread(context);
  const isUnknown = answer.cause === 'unknown-job';
  const place = isUnknown && answer.jobs.length === 0 ? [`There is none ${placeOf(address)}`] : [];
  return {
    document: answer,
    lines: [printable(answer.sentence), ...place],
    code: isUnknown ? USAGE : OK,
  };
}

async function instances(request: Request, context: Context): Promise<Answer> {
  const { insight, look } = context;
  const all = await insight.instances();
  sayUnread(context);
  const times = timesBy(insight.time, request, context);
  const members = all.map((info) => ({ info, jobs: info.jobs }));
  const lines =
    all.length === 0
      ? [nobodyText(members, times, placeOf(request.address)) ?? '']
      : columnsTable(INSTANCES, members, times, look);
  return { document: all, lines, code: OK };
}

async function locks(request: Request, context: Context): Promise<Answer> {
  const all = await context.store.inspect();
  const times = timesBy(all[0]?.time, request, context);
  for (const reason of new Set(all.flatMap((lock) => lock.unknown ?? [])))
    context.say(`Not all can be read. ${withoutSql(reason)}`);
  const sorted = all.map(withoutToken).sort((one, other) => (one.name < other.name ? -1 : 1));
  const lines =
    sorted.length === 0
      ? [`There are no locks ${placeOf(request.address)}`]
      : columnsTable(LOCKS, sorted, times, context.look);
  return { document: sorted, lines, code: OK };
}

/** A command that uses a switch. @param of what the word behind it names */
function switched(action: keyof ControlSwitches, of: 'job' | 'lock'): Run {
  return async ({ name, text, has, zone }, { control, actor, say }) => {
    const [lock, fencing] = [text('lock'), text('fencing')];
    const result = await used(control, action, {
      ...(lock === undefined ? { [of]: name } : { lock }),
      actor: text('as') ?? actor,
      ...given({ reason: text('reason'), for: text('for'), wait: text('wait'), id: text('id') }),
      ...given({ key: text('queue-key'), args: listIn(text('args')) }),
      ...(action === 'break' && { fencingToken: fencing && Number(fencing) }),
      ...(has('through-pause') && { throughPause: true }),
      onWaiting: (holder: string | undefined) =>
        say(`It is paused. Waiting behind ${displayName(holder ?? 'whoever has it')} …`),
    });
    const { sentence, hint, code } = told(result, timesIn(zone));
    const line = hint === undefined ? sentence : `${sentence} ${hint}`;
    return { document: result, lines: [printable(line)], code };
  };
}

function listIn(text: string | undefined): readonly unknown[] | undefined {
  if (text === undefined) return undefined;
  try {
    const list: unknown = JSON.parse(text);
    if (Array.isArray(list)) return list as unknown[];
  } catch {
    // The parser's message quotes the text.
  }
  throw new UsageError('--args: that is no JSON array, such as \'["2026-11", 3]\'.');
}
