import { promisify } from 'node:util';
import { gzip, gzipSync } from 'node:zlib';
import { SchedulerLockConfigError, StoreUnavailableError } from '../../base/errors.js';
import { failureText, SHARED } from './shared.js';

/**
 * What the page answers, on any server: Nest on Express or Fastify, or a plain one.
 */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
  /** The body, compressed. It holds no secret that a length could betray. */
  readonly packed?: Buffer;
}

/** 1. The page loads nothing from elsewhere. 2. Only its own script runs. 3. No other page shows the page in a frame. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const answer = (type: string, body: string, status = 200, cache = 'no-store'): Answer => ({
  status,
  headers: {
    vary: 'accept-encoding',
    'content-security-policy': POLICY,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'content-type': `${type}; charset=utf-8`,
    'cache-control': cache,
  },
  body,
});

export const html = (body: string, status: number): Answer => answer('text/html', body, status);
export const json = (document: unknown, status = 200): Answer =>
  answer('application/json', JSON.stringify(document), status);
/** A file with its version in its address. */
export const asset = (type: string, body: string): Answer => ({
  ...answer(type, body, 200, 'private, max-age=31536000, immutable'),
  packed: gzipSync(body),
});

/** An answer without what was asked for, and after how many seconds to ask again. */
export function unavailable({ headers, ...more }: Answer): Answer {
  return { ...more, headers: { ...headers, 'retry-after': String(SHARED / 1_000) } };
}

const pack = promisify(gzip);

/** Compresses a body, beside the event loop. */
export const packed = async (made: Answer): Promise<Answer> => ({ ...made, packed: await pack(made.body) });

/** An answer as a browser takes it. @param accepted the header `Accept-Encoding` */
export function fitting(made: Answer, accepted: string | readonly string[] | undefined): Answer {
  const { packed: body, ...plain } = made;
  if (body === undefined || !takesGzip(String(accepted ?? ''))) return plain;
  return { ...plain, headers: { ...plain.headers, 'content-encoding': 'gzip' }, body };
}

const takesGzip = (accepted: string): boolean =>
  /(^|,)\s*gzip\s*(?!\s*;\s*q=0(\.0*)?\s*(,|$))(;|,|$)/i.test(accepted);

/**
 * What is answered for an error of what was asked for, or of the store.
 *
 * @param doubt what comes before an error of the store
 * @throws any other error
 */
export function errorAnswer(error: unknown, doubt = ''): Answer {
  // What was asked is wrong, and not how the application is set up.
  if (error instanceof SchedulerLockConfigError) return json({ error: error.problems.join(' ') }, 400);
  if (error instanceof StoreUnavailableError) return json({ error: `${doubt}${failureText(error)}` }, 503);
  throw error;
}
