import { SchedulerLockConfigError, StoreUnavailableError } from '../../base/errors.js';
import { withoutToken } from '../../contract/lock-info.js';
import type { Insight } from '../../insight/insight.js';
import { readTime } from '../../insight/times.js';
import { type Answer, json, jsonText } from './answer.js';
import type { Looked } from './data/looked.js';
import { type BoardSource, failureText, type Kept, SHARED, type Shared } from './shared.js';
import { verdictOf } from './data/verdict.js';

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
    const count = limit === null ? {} : { limit: /^\d{1,4}$/.test(limit) ? Number(limit) : NaN };
    return { runs: await insight.runs({ job, bad: params.get('bad') === 'true', ...count }) };
  },
  // Epoch milliseconds, or a text with an offset.
  why: async (insight, job, params) => {
    const at = params.get('at') ?? undefined;
    const time = at !== undefined && /^\d{12,15}$/.test(at) ? Number(at) : readTime(at ?? '');
    return { why: await insight.why(job, time ?? at) };
  },
};

/** JSON for other programs. `monitoring/board-api.json` describes the format: fields that are there stay. */
export class Api {
  /** The texts that were made of an answer of the store. */
  readonly #texts = new WeakMap<Looked, Map<string, string>>();

  constructor(
    private readonly source: BoardSource,
    private readonly shared: Shared,
    private readonly look: () => Promise<Kept<Looked>>,
  ) {}

  /** The answer to `api/v1/<what>`. The name of a job is in the query: routers take no long names in a path. */
  async answer(what: string, query: string): Promise<Answer> {
    const params = new URLSearchParams(query);
    const job = params.get('job') ?? '';
    const part = ownOf(PARTS, what);
    if (part !== undefined) return this.#ofLook(`${what} ${job}`, (looked) => part(looked, job));
    const question = ownOf(QUESTIONS, what);
    if (question === undefined) return json({ error: 'There is no such page.' }, 404);
    const { value, isBusy, failure } = await this.shared.ask(`${what}?${query}`, () =>
      answered(async () => {
        const insight = await this.source.insight();
        const document = await question(insight, job, params);
        const isUnknown = (document['why'] as { cause?: string } | undefined)?.cause === 'unknown-job';
        const { time, unreadable } = insight;
        return json({ time, unreadable, ...document }, isUnknown ? 404 : 200);
      }),
    );
    if (value !== undefined) return value;
    return isBusy ? TOO_MANY : json({ error: failure ?? NO_ANSWER }, 503);
  }

  /** @param name of the part: its text is made once for all who ask the same */
  async #ofLook(name: string, part: (looked: Looked) => Document | undefined): Promise<Answer> {
    const { value: looked, age, failure } = await this.look();
    if (looked === undefined) return json({ error: failure ?? NO_ANSWER }, 503);
    const texts = this.#texts.get(looked) ?? new Map<string, string>();
    this.#texts.set(looked, texts);
    const text = texts.get(name) ?? JSON.stringify(part(looked));
    if (text === undefined) return json({ error: 'No instance knows this job.' }, 404);
    texts.set(name, text);
    const { now: time, unreadable } = looked;
    // `stale` marks old facts.
    const head = { time, age: Math.round(age), stale: failure !== undefined, unreadable };
    return jsonText(`${JSON.stringify(head).slice(0, -1)},${text.slice(1)}`);
  }
}

const NO_ANSWER = 'The store has not answered yet.';
const REFUSED = json({ error: 'Too many questions are asked at this moment. Ask again in 2 s.' }, 503);
const TOO_MANY: Answer = {
  ...REFUSED,
  headers: { ...REFUSED.headers, 'retry-after': String(SHARED / 1_000) },
};

async function answered(answer: () => Promise<Answer>): Promise<Answer> {
  try {
    return await answer();
  } catch (error) {
    // What was asked is wrong, and not how the application is set up.
    if (error instanceof SchedulerLockConfigError) return json({ error: error.problems.join(' ') }, 400);
    if (error instanceof StoreUnavailableError) return json({ error: failureText(error) }, 503);
    throw error;
  }
}
