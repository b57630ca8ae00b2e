import { SchedulerLockConfigError, StoreUnavailableError } from '../errors.js';
import type { InsightQuery } from '../insight/insight.js';
import { readTime } from '../insight/times.js';
import { type Answer, json } from './answer.js';
import { failureText, type Snapshots } from './snapshots.js';
import type { BoardSource } from './source.js';
import { withoutToken } from '../stores/lock-info.js';
import { verdictOf } from './views/verdict.js';

/*
 * JSON for other programs. `monitoring/board-api.json` describes it: what is there stays.
 */

/** What each answer says besides: of what time it is, and whether it is all. */
type Document = Readonly<Record<string, unknown>>;

/** The routes of `api/v1`. */
export class Api {
  constructor(
    private readonly source: BoardSource,
    private readonly snapshots: Snapshots,
  ) {}

  verdict(): Promise<Answer> {
    return this.#ofSnapshot((looked) => ({ verdict: verdictOf(looked) }));
  }

  jobs(): Promise<Answer> {
    return this.#ofSnapshot(({ jobs }) => ({ jobs }));
  }

  job(name: string): Promise<Answer> {
    return this.#ofSnapshot(({ jobs }) => {
      const job = jobs.find((view) => view.job === name);
      return job === undefined ? undefined : { job };
    });
  }

  instances(): Promise<Answer> {
    return this.#ofSnapshot(({ told }) => ({
      instances: told.map(({ info, record }) => ({ ...info, jobs: record.jobs })),
    }));
  }

  locks(): Promise<Answer> {
    return this.#ofSnapshot(({ locks }) => ({
      locks: [...locks.values()].flatMap(({ lock }) => (lock === undefined ? [] : withoutToken(lock))),
    }));
  }

  /** Asks the store anew. @param query `limit`, `bad` */
  runs(job: string, query: string): Promise<Answer> {
    const params = new URLSearchParams(query);
    const limit = params.get('limit');
    const wanted: InsightQuery = {
      job,
      bad: params.get('bad') === 'true',
      ...(limit !== null && { limit: /^\d{1,4}$/.test(limit) ? Number(limit) : NaN }),
    };
    return answered(async () => {
      const insight = await this.source.insight('UTC');
      const runs = await insight.runs(wanted);
      return json({ time: insight.time, unreadable: insight.unreadable, runs });
    });
  }

  /** Asks the store anew. @param query `at`: epoch milliseconds, or a text with an offset */
  why(job: string, query: string): Promise<Answer> {
    const at = new URLSearchParams(query).get('at');
    return answered(async () => {
      const insight = await this.source.insight('UTC');
      const why = await insight.why(job, at === null ? undefined : (timeOf(at) ?? at));
      return json(
        { time: insight.time, unreadable: insight.unreadable, why },
        why.cause === 'unknown-job' ? 404 : 200,
      );
    });
  }

  async #ofSnapshot(
    part: (looked: NonNullable<Awaited<ReturnType<Snapshots['newest']>>['looked']>) => Document | undefined,
  ): Promise<Answer> {
    const { looked, age, failure } = await this.snapshots.newest();
    if (looked === undefined) return json({ error: failure ?? 'The store has not answered yet.' }, 503);
    const document = part(looked);
    if (document === undefined) return json({ error: 'No instance knows this job.' }, 404);
    const { now: time, unreadable } = looked;
    // Old facts are not told as if they were new.
    return json({ time, age: Math.round(age), stale: failure !== undefined, unreadable, ...document });
  }
}

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
