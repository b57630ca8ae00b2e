import { expect, test } from '@jest/globals';
import { gzipSync } from 'node:zlib';
import { fleet } from './support/fleet.js';
import { site, USER } from './support/site.js';

test('what is served of an ordinary fleet is at most 60 kB on the wire', async () => {
  const made = await fleet();
  const place = await site({ store: made.store, clock: made.clock });
  let whole = 0;
  for (const part of ['', '?asset=board.js', '?asset=board.css']) {
    const text = await (await fetch(place.url + part, { headers: USER })).text();
    const packed = gzipSync(text).length;
    process.stderr.write(
      `${part || 'page'}: ${(text.length / 1e3).toFixed(1)} kB, ${(packed / 1e3).toFixed(1)} kB packed\n`,
    );
    whole += packed;
  }
  expect(whole).toBeLessThan(60_000);
  await place.close();
});
