import { SchedulerLockConfigError, StoreUnavailableError } from '../../base/errors.js';
import type { InsightQuery } from '../../insight/insight.js';
import { readTime } from '../../insight/times.js';
import { type Answer, json, jsonText } from './answer.js';
import type { Looked } from './data/looked.js';
import { failureText, type Kept, SHARED, type Shared } from './shared.js';
import type { BoardSource } from './source.js';
import { withoutToken } from '../../contract/lock-info.js';
import { verdictOf } from './views/verdict.js';

/** The content of an answer. Each answer also says of what time it is, and whether anything is missing. */
type Document = Readonly<Record<string, unknown>>;

/**
 * The routes of `api/v1`.
 *
 * JSON for other programs. `monitoring/board-api.json` describes the format: fields that are there stay.
 */
export class Api {
  /** The texts that were made of an answer of the store. */
  readonly #texts = new WeakMap<Looked, Map<string, string>>();

  constructor(
    private readonly source: BoardSource,
    private readonly shared: Shared,
    private readonly look: () => Promise<Kept<Looked>>,
  ) {}

  verdict(): Promise<Answer> {
    return this.#ofLook('verdict', (looked) => ({ verdict: verdictOf(looked) }));
  }

  jobs(): Promise<Answer> {
    return this.#ofLook('jobs', ({ jobs }) => ({ jobs }));
  }

  job(name: string): Promise<Answer> {
    return this.#ofLook(`job ${name}`, ({ jobs }) => {
      const job = jobs.find((view) => view.job === name);
      return job === undefined ? undefined : { job };
    });
  }

  instances(): Promise<Answer> {
    return this.#ofLook('instances', ({ told }) => ({
      // The lists of jobs of a thousand instances would be a hundred megabytes.
      instances: told.map(({ info, jobs }) => ({
        ...info,
        jobs: jobs.length,
        disabled: jobs.filter(({ enabled }) => !enabled).map(({ job }) => job),
      })),
    }));
  }

  locks(): Promise<Answer> {
    return this.#ofLook('locks', ({ locks }) => ({
      locks: [...locks.values()].flatMap(({ lock }) => (lock === undefined ? [] : withoutToken(lock))),
    }));
  }

  /** Asks the store. @param query `limit`, `bad` */
  runs(job: string, query: string): Promise<Answer> {
    const params = new URLSearchParams(query);
    const limit = params.get('limit');
    const wanted: InsightQuery = {
      job,
      bad: params.get('bad') === 'true',
      ...(limit !== null && { limit: /^\d{1,4}$/.test(limit) ? Number(limit) : NaN }),
    };
    return this.#shared(['runs', job, query], async () => {
      const insight = await this.source.insight();
      const runs = await insight.runs(wanted);
      return json({ time: insight.time, unreadable: insight.unreadable, runs });
    });
  }

  /** Asks the store. @param query `at`: epoch milliseconds, or a text with an offset */
  why(job: string, query: string): Promise<Answer> {
    const at = new URLSearchParams(query).get('at');
    return this.#shared(['why', job, query], async () => {
      const insight = await this.source.insight();
      const why = await insight.why(job, at === null ? undefined : (timeOf(at) ?? at));
      return json(
        { time: insight.time, unreadable: insight.unreadable, why },
        why.cause === 'unknown-job' ? 404 : 200,
      );
    });
  }

  /** One answer for all who ask the same. */
  async #shared(question: readonly string[], answer: () => Promise<Answer>): Promise<Answer> {
    const { value, isBusy, failure } = await this.shared.ask(JSON.stringify(question), () =>
      answered(answer),
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

const timeOf = (text: string): number | undefined =>
  /^\d{12,15}$/.test(text) ? Number(text) : readTime(text);

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
