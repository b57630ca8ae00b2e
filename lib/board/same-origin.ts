import { randomBytes } from 'node:crypto';

/*
 * A site elsewhere can make a browser send a request with the cookies of the application. A browser says where a request comes from
 * (`Sec-Fetch-Site`), but over plain HTTP, and an old one, does not: there a token has to come in a header, too, which no other site can
 * read. It is a cookie of its own, so that any instance of the application can compare the two.
 */

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

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
