import { type Answer, json } from './answer.js';
import type { Board } from './board.js';

/** The name of a job in a query. None: the name of no job. */
export const jobIn = (query: string): string => new URLSearchParams(query).get('job') ?? '';

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The routes of the JSON, below the page. The controller for Nest has the same routes. */
const ROUTES: readonly [
  path: RegExp,
  answer: (board: Board, name: string, query: string, headers: Headers) => Promise<Answer>,
][] = [
  [/^\/$/, (board, _name, query, headers) => board.page(query, headers)],
  [/^\/api\/v1\/verdict$/, ({ api }) => api.verdict()],
  [/^\/api\/v1\/jobs$/, ({ api }) => api.jobs()],
  [/^\/api\/v1\/jobs\/([^/]+)$/, ({ api }, name) => api.job(name)],
  [/^\/api\/v1\/jobs\/([^/]+)\/runs$/, ({ api }, name, query) => api.runs(name, query)],
  [/^\/api\/v1\/jobs\/([^/]+)\/why$/, ({ api }, name, query) => api.why(name, query)],
  [/^\/api\/v1\/job$/, ({ api }, _name, query) => api.job(jobIn(query))],
  [/^\/api\/v1\/runs$/, ({ api }, _name, query) => api.runs(jobIn(query), query)],
  [/^\/api\/v1\/why$/, ({ api }, _name, query) => api.why(jobIn(query), query)],
  [/^\/api\/v1\/instances$/, ({ api }) => api.instances()],
  [/^\/api\/v1\/locks$/, ({ api }) => api.locks()],
];

/** The answer to a request for a path, for a server without Nest. @param url path and query */
export async function answerAt(board: Board, url: string, headers: Headers): Promise<Answer> {
  const [path = '', ...rest] = url.split('?');
  for (const [pattern, answer] of ROUTES) {
    const [found, name = ''] = pattern.exec(path) ?? [];
    if (found !== undefined) return answer(board, decoded(name), rest.join('?'), headers);
  }
  return json({ error: 'There is no such page.' }, 404);
}

/** A name that cannot be decoded belongs to no job. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
