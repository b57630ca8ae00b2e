import { SchedulerLockConfigError, StoreUnavailableError } from '../../base/errors.js';
import type { InsightQuery } from '../../insight/insight.js';
import { readTime } from '../../insight/times.js';
import { type Answer, json, jsonText } from './answer.js';
import type { Looked } from './data/looked.js';
import { PerLook } from './per-look.js';
import { failureText, SHARED, type Snapshots } from './data/snapshots.js';
import type { BoardSource } from './source.js';
import { withoutToken } from '../../contract/lock-info.js';
import { verdictOf } from './views/verdict.js';

/** How many answers are kept for others who ask the same. */
const MOST_SHARED = 100;
/** How many questions the store is asked within {@link SHARED}, whoever asks: each takes the process some milliseconds. */
const MOST_ASKED = 20;

/** The content of an answer. Each answer also says of what time it is, and whether anything is missing. */
type Document = Readonly<Record<string, unknown>>;

/**
 * The routes of `api/v1`.
 *
 * JSON for other programs. `monitoring/board-api.json` describes the format: fields that are there stay.
 */
export class Api {
  readonly #answers = new Map<string, { readonly until: number; readonly answer: Promise<Answer> }>();
  /** When the store was asked, within {@link SHARED}. */
  #askedAt: number[] = [];

  readonly #texts = new PerLook<string | undefined>(MOST_SHARED);

  constructor(
    private readonly source: BoardSource,
    private readonly snapshots: Snapshots,
  ) {}

  verdict(): Promise<Answer> {
    return this.#ofSnapshot('verdict', (looked) => ({ verdict: verdictOf(looked) }));
  }

  jobs(): Promise<Answer> {
    return this.#ofSnapshot('jobs', ({ jobs }) => ({ jobs }));
  }

  job(name: string): Promise<Answer> {
    return this.#ofSnapshot(`job ${name}`, ({ jobs }) => {
      const job = jobs.find((view) => view.job === name);
      return job === undefined ? undefined : { job };
    });
  }

  instances(): Promise<Answer> {
    return this.#ofSnapshot('instances', ({ told }) => ({
      // The lists of jobs of a thousand instances would be a hundred megabytes.
      instances: told.map(({ info, jobs }) => ({
        ...info,
        jobs: jobs.length,
        disabled: jobs.filter(({ enabled }) => !enabled).map(({ job }) => job),
      })),
    }));
  }

  locks(): Promise<Answer> {
    return this.#ofSnapshot('locks', ({ locks }) => ({
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
      const insight = await this.source.insight('UTC');
      const runs = await insight.runs(wanted);
      return json({ time: insight.time, unreadable: insight.unreadable, runs });
    });
  }

  /** Asks the store. @param query `at`: epoch milliseconds, or a text with an offset */
  why(job: string, query: string): Promise<Answer> {
    const at = new URLSearchParams(query).get('at');
    return this.#shared(['why', job, query], async () => {
      const insight = await this.source.insight('UTC');
      const why = await insight.why(job, at === null ? undefined : (timeOf(at) ?? at));
      return json(
        { time: insight.time, unreadable: insight.unreadable, why },
        why.cause === 'unknown-job' ? 404 : 200,
      );
    });
  }

  /** Call this after a switch was used: the next answers come from a later read of the store. */
  expire(): void {
    this.#answers.clear();
  }

  /** One answer for all who ask the same within {@link SHARED}, and no more than {@link MOST_ASKED} others. */
  #shared(question: readonly string[], answer: () => Promise<Answer>): Promise<Answer> {
    const key = JSON.stringify(question);
    const now = this.source.clock.monotonic();
    const known = this.#answers.get(key);
    if (known !== undefined && known.until > now) return known.answer;
    this.#askedAt = this.#askedAt.filter((time) => now - time < SHARED);
    if (this.#askedAt.length >= MOST_ASKED) return Promise.resolve(TOO_MANY);
    this.#askedAt.push(now);
    if (this.#answers.size >= MOST_SHARED) this.#answers.clear();
    const fresh = { until: now + SHARED, answer: answered(answer) };
    this.#answers.set(key, fresh);
    return fresh.answer;
  }

  /** @param name of the part: its text is made once of each answer of the store */
  async #ofSnapshot(name: string, part: (looked: Looked) => Document | undefined): Promise<Answer> {
    const { looked, age, failure } = await this.snapshots.newest();
    if (looked === undefined) return json({ error: failure ?? 'The store has not answered yet.' }, 503);
    const text = this.#texts.of(looked, [name], () => {
      const document = part(looked);
      return document && JSON.stringify(document);
    });
    if (text === undefined) return json({ error: 'No instance knows this job.' }, 404);
    const { now: time, unreadable } = looked;
    // `stale` marks old facts.
    const head = { time, age: Math.round(age), stale: failure !== undefined, unreadable };
    return jsonText(`${JSON.stringify(head).slice(0, -1)},${text.slice(1)}`);
  }
}

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
    const problem = failureText(error);
    if (error instanceof SchedulerLockConfigError) return json({ error: problem }, 400);
    if (error instanceof StoreUnavailableError) return json({ error: problem }, 503);
    throw error;
  }
}
