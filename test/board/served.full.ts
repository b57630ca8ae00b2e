import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { fleet } from './support/fleet.js';
import { PLATFORMS, type Site, site, USER } from './support/site.js';

let place: Site | undefined;
afterEach(() => place?.close());

/** How many bytes come over the wire, with the headers, for a browser that takes compressed answers. */
async function served(url: string): Promise<number> {
  const request = get(url, { headers: { ...USER, 'accept-encoding': 'gzip, deflate, br' } });
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  expect(answer.statusCode).toBe(200);
  expect(answer.headers['content-encoding']).toBe('gzip');
  expect(answer.headers.vary?.toLowerCase()).toContain('accept-encoding');
  const { socket } = answer;
  answer.resume();
  await once(answer, 'end');
  return socket.bytesRead;
}

test.each(PLATFORMS)('what is served of an ordinary fleet on %s is at most 25 kB', async (platform) => {
  const made = await fleet();
  place = await site({ platform, store: made.store, clock: made.clock });
  let whole = 0;
  for (const part of ['', '?asset=board.js', '?asset=board.css']) {
    const bytes = await served(place.url + part);
    process.stderr.write(`${part || 'page'}: ${(bytes / 1e3).toFixed(1)} kB on the wire\n`);
    whole += bytes;
  }
  expect(whole).toBeLessThan(25_000);
});
