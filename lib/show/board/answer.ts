import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/**
 * What the page answers, on any server: Nest on Express or Fastify, or a plain one.
 */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes: compressed. */
  readonly body: string | Buffer;
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
    'content-security-policy': POLICY,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'content-type': `${type}; charset=utf-8`,
    'cache-control': cache,
  },
  body,
});

export const html = (body: string, status: number): Answer => answer('text/html', body, status);
export const json = (document: unknown, status = 200): Answer => jsonText(JSON.stringify(document), status);
export const jsonText = (body: string, status = 200): Answer => answer('application/json', body, status);
/** A file with its version in its address. */
export const asset = (type: string, body: string): Answer =>
  answer(type, body, 200, 'private, max-age=31536000, immutable');

const pack = promisify(gzip);
const packs = new WeakMap<object, Promise<Buffer>>();

/**
 * The page and its files, compressed for browsers that take that: once for all who get the same, and beside the event loop. The page holds
 * no secret that a length could betray.
 *
 * @param made what the body comes from, the same object for the same body @param accepted the header `Accept-Encoding`
 */
export async function compressed(
  answer: Answer,
  made: object,
  accepted: string | readonly string[] | undefined,
): Promise<Answer> {
  const headers = { ...answer.headers, vary: 'accept-encoding' };
  if (!takesGzip(String(accepted ?? ''))) return { ...answer, headers };
  const body = await packedOnce(made, answer.body);
  return { ...answer, headers: { ...headers, 'content-encoding': 'gzip' }, body };
}

function packedOnce(made: object, body: Answer['body']): Promise<Buffer> {
  const packed = packs.get(made) ?? pack(body);
  packs.set(made, packed);
  return packed;
}

const takesGzip = (accepted: string): boolean =>
  /(^|,)\s*gzip\s*(?!\s*;\s*q=0(\.0*)?\s*(,|$))(;|,|$)/i.test(accepted);
