import { gzip } from 'node:zlib';
import { promisify } from 'node:util';
import type { Answer } from './answer.js';

const pack = promisify(gzip);
const packs = new WeakMap<object, Promise<Buffer>>();

/**
 * The page and its files, compressed for browsers that take that: once for all who get the same, and beside the event loop. The page holds
 * no secret that a length could betray: its token is in a cookie.
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
  const known = packs.get(made);
  if (known !== undefined) return known;
  const packed = pack(body);
  packs.set(made, packed);
  // The next viewer must not get the same error.
  packed.catch(() => packs.delete(made));
  return packed;
}

const takesGzip = (accepted: string): boolean =>
  accepted.split(',').some((each) => {
    const [name = '', ...parameters] = each.split(';').map((text) => text.trim().toLowerCase());
    return name === 'gzip' && !parameters.some((text) => /^q=0(\.0*)?$/.test(text));
  });
