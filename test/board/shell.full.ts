import { request } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { run } from '../../lib/show/cli/run.js';
import { systemClock } from '../../lib/base/clock.js';
import { until } from '../support/until.js';
import { fleet } from './support/fleet.js';

let interrupt: (() => void) | undefined;
let ended: Promise<number> | undefined;
afterEach(async () => {
  interrupt?.();
  await ended;
});

/** Serves the page of a fleet; answers the address that the shell has printed. */
async function served(...argv: string[]): Promise<URL> {
  const { store } = await fleet();
  let out = '';
  ended = run(['board', ...argv], {
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (out += text) },
    env: { SCHEDULER_LOCK_URL: 'redis://127.0.0.1:1' },
    clock: systemClock,
    version: '0',
    actor: () => 'somebody',
    open: async () => ({ store, close: async () => undefined }),
    onInterrupt: (listener) => (interrupt = listener),
  });
  await until(() => out.includes('\n'), { message: 'the address' });
  return new URL(out.split('\n')[0] ?? '');
}

test('`board` serves the page and its JSON to who has the address, until Ctrl+C', async () => {
  const address = await served();
  expect(address.hostname).toBe('127.0.0.1');
  const page = await fetch(address);
  expect(await page.text()).toContain('InvoiceJobs.send');
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  const why = await fetch(new URL('api/v1/why?job=InvoiceJobs.send', address));
  expect(await why.json()).toMatchObject({ why: { job: 'InvoiceJobs.send' } });
  expect((await fetch(new URL('elsewhere', address))).status).toBe(404);
  interrupt?.();
  expect(await ended).toBe(0);
  await expect(fetch(address)).rejects.toThrow();
});

test('the secret is in the address, and in no cookie: a browser sends those to each port of this machine', async () => {
  const address = await served();
  expect(address.pathname).toMatch(/^\/[\w-]{22}\/$/);
  for (const url of [address, new URL('?job=InvoiceJobs.send', address), new URL('api/v1/jobs', address)]) {
    const answer = await fetch(url, { redirect: 'manual' });
    await answer.text();
    expect(answer.status).toBe(200);
    expect(answer.headers.get('set-cookie')).toBeNull();
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
  }
});

test('whoever has no secret, or a wrong one, sees nothing', async () => {
  const address = await served();
  // As many characters as it has, and as many bytes more.
  const wrong = ['x'.repeat(22), 'é'.repeat(22), address.pathname.slice(1, -2), 'api/v1/jobs', ''];
  for (const path of wrong) {
    const answer = await fetch(new URL(`/${path}`, address), { redirect: 'manual' });
    expect(answer.status).toBe(403);
    expect(await answer.text()).not.toContain('Jobs');
  }
});

test('a site whose name leads to this machine gets no answer, and nothing is written', async () => {
  const address = await served();
  const status = await new Promise((resolve, reject) =>
    request(address, { headers: { host: 'evil.example' } }, ({ statusCode }) => resolve(statusCode))
      .on('error', reject)
      .end(),
  );
  expect(status).toBe(421);
  expect((await fetch(address, { method: 'POST' })).status).toBe(405);
});

test('a port that is taken is said to be so', async () => {
  const address = await served();
  let err = '';
  const code = await run(['board', '--port', address.port], {
    stdout: { write: () => undefined },
    stderr: { write: (text) => (err += text) },
    env: { SCHEDULER_LOCK_URL: 'redis://127.0.0.1:1' },
    clock: systemClock,
    version: '0',
    actor: () => 'somebody',
    open: async () => ({ store: (await fleet()).store, close: async () => undefined }),
    onInterrupt: () => undefined,
  });
  expect(code).toBe(2);
  expect(err).toContain(`--port: ${address.port} cannot be used (EADDRINUSE)`);
});
