import { given } from '../../base/shared.js';
import { withoutToken } from '../../contract/lock-info.js';
import type { Insight } from '../../insight/insight.js';
import { type Answer, errorAnswer, json, unavailable } from './answer.js';
import type { Looked } from './data/looked.js';
import { verdictOf } from './data/verdict.js';
import type { BoardSource, Kept, Shared } from './shared.js';

/** What is there under a name that a viewer gives. */
export const ownOf = <T>(all: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(all, name) ? all[name] : undefined;

/** The content of an answer. Each answer also says of what time it is, and whether anything is missing. */
type Document = Readonly<Record<string, unknown>>;

/** What is told of the look that all viewers share. @param name of a job, in the query */
const PARTS: Readonly<Record<string, (looked: Looked, name: string) => Document | undefined>> = {
  verdict: (looked) => ({ verdict: verdictOf(looked) }),
  jobs: ({ jobs }) => ({ jobs }),
  job: ({ jobs }, name) => {
    const job = jobs.find((view) => view.job === name);
    return job && { job };
  },
  // The lists of jobs of a thousand instances would be a hundred megabytes.
  instances: ({ told }) => ({
    instances: told.map(({ info, jobs }) => ({
      ...info,
      jobs: jobs.length,
      disabled: jobs.filter(({ enabled }) => !enabled).map(({ job }) => job),
    })),
  }),
  locks: ({ locks }) => ({
    locks: [...locks.values()].flatMap(({ lock }) => (lock === undefined ? [] : withoutToken(lock))),
  }),
};

type Ask = (insight: Insight, job: string, params: URLSearchParams) => Promise<Document>;

/** What takes a read of the store. */
const QUESTIONS: Readonly<Record<string, Ask>> = {
  runs: async (insight, job, params) => {
    const limit = params.get('limit');
    const count = given({ limit: limit === null ? undefined : Number(limit) });
    return { runs: await insight.runs({ job, bad: params.get('bad') === 'true', ...count }) };
  },
  // Epoch milliseconds, or a text with an offset.
  why: async (insight, job, params) => {
    const at = params.get('at') ?? undefined;
    return { why: await insight.why(job, at !== undefined && /^\d+$/.test(at) ? Number(at) : at) };
  },
};

/** What the pages and the JSON of one board have in common. */
export interface Reading {
  readonly source: BoardSource;
  readonly shared: Shared;
  /** The look that all viewers share. */
  readonly look: () => Promise<Kept<Looked>>;
}

/**
 * The answer to `api/v1/<what>`, for other programs. The name of a job is in the query: routers take no long names in a path.
 * `monitoring/board-api.json` describes the format: fields that are there stay.
 */
export async function apiAnswer(reading: Reading, what: string, query: string): Promise<Answer> {
  const params = new URLSearchParams(query);
  const job = params.get('job') ?? '';
  const part = ownOf(PARTS, what);
  const question = ownOf(QUESTIONS, what);
  if (part !== undefined) return ofLook(await reading.look(), (looked) => part(looked, job));
  if (question === undefined) return json({ error: 'There is no such page.' }, 404);
  const ask = async (): Promise<Answer> => {
    const insight = await reading.source.insight();
    const document = await question(insight, job, params);
    const isUnknown = (document['why'] as { cause?: string } | undefined)?.cause === 'unknown-job';
    const { time, unreadable } = insight;
    return json({ time, unreadable, ...document }, isUnknown ? 404 : 200);
  };
  const { value, failure } = await reading.shared.ask(`${what}?${query}`, () => ask().catch(errorAnswer));
  return value ?? unavailable(json({ error: failure }, 503));
}

function ofLook(
  { value: looked, age, failure }: Kept<Looked>,
  part: (looked: Looked) => Document | undefined,
): Answer {
  if (looked === undefined) return unavailable(json({ error: failure }, 503));
  const document = part(looked);
  if (document === undefined) return json({ error: 'No instance knows this job.' }, 404);
  const { now: time, unreadable } = looked;
  // `stale` marks old facts.
  return json({ time, age: Math.round(age), stale: failure !== undefined, unreadable, ...document });
}
