import { type Answer, json } from './answer.js';
import type { Board } from './board.js';

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The name of a job in a query. None: the name of no job. */
const jobIn = (query: string): string => new URLSearchParams(query).get('job') ?? '';

/**
 * The answer to a request for the page, or for its JSON. A job, its runs and its `why` are there with the name in the query, too: routers
 * take no long names in a path, as Fastify's of more than 100 characters.
 *
 * @param names the parts of the path below `api/v1`; none: the page
 */
export function answerOf(
  board: Board,
  names: readonly string[],
  query: string,
  headers: Headers,
): Promise<Answer> {
  const { api } = board;
  const [what, name = jobIn(query), part = 'job'] = names;
  const ofJob = [
    ['job', () => api.job(name)],
    ['runs', () => api.runs(name, query)],
    ['why', () => api.why(name, query)],
  ] as const;
  const ofAll = [
    ...ofJob,
    ['verdict', () => api.verdict()],
    ['jobs', () => api.jobs()],
    ['instances', () => api.instances()],
    ['locks', () => api.locks()],
  ] as const;
  if (what === undefined) return board.page(query, headers);
  const isOfJob = what === 'jobs' && names.length > 1 && names.length < 4;
  const [, answer] = isOfJob
    ? (ofJob.find(([each]) => each === part) ?? [])
    : (ofAll.find(([each]) => each === what && names.length === 1) ?? []);
  return answer?.() ?? Promise.resolve(json({ error: 'There is no such page.' }, 404));
}

/** The answer to a request for a path, for a server without Nest. @param url path and query */
export async function answerAt(board: Board, url: string, headers: Headers): Promise<Answer> {
  const [path = '', ...rest] = url.split('?');
  const [, below] = /^\/(?:api\/v1\/(.+))?$/.exec(path) ?? [undefined, '..'];
  const names = below === undefined ? [] : below.split('/').map(decoded);
  return answerOf(board, names, rest.join('?'), headers);
}

/** A name that cannot be decoded belongs to no job. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
