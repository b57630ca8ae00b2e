import { gzip } from 'node:zlib';
import { promisify } from 'node:util';
import type { Answer } from './answer.js';

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
