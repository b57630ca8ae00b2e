import { randomBytes } from 'node:crypto';

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Another site can make a browser send a request with the cookies of the application.
 *
 * 1. A browser says where a request comes from (`Sec-Fetch-Site`).
 * 2. Old browsers, and all browsers over plain HTTP, do not. Then the request needs a token twice: as a cookie, and as a header, for
 *    which a page has to read the cookie. No other site can read it.
 * 3. The token is in a cookie, not in memory, so that any instance of the application can compare the two.
 */
export const TOKEN = 'scheduler-lock-board';
const TOKEN_HEADER = `x-${TOKEN}`;

/** Whether a request comes from a page of the application itself. */
export function isSameOrigin(headers: Headers): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const token = tokenOf(headers);
  return token !== undefined && headers[TOKEN_HEADER] === token;
}

/** The cookie for a browser that has none yet. */
export function newToken(headers: Headers): string | undefined {
  if (tokenOf(headers) !== undefined) return undefined;
  return `${TOKEN}=${randomBytes(16).toString('base64url')}; SameSite=Strict; Path=/`;
}

function tokenOf({ cookie }: Headers): string | undefined {
  const text = typeof cookie === 'string' ? cookie : '';
  return new RegExp(`(?:^|; )${TOKEN}=([\\w-]{20,})(?:;|$)`).exec(text)?.[1];
}
