import { gunzipSync } from 'node:zlib';
import { beforeEach, expect, test } from '@jest/globals';
import { Board } from '../../../../lib/show/board/board.js';
import { insightsOf } from '../../../../lib/show/board/source.js';
import { Insight } from '../../../../lib/insight/insight.js';
import { type Fleet, fleet as madeFleet, MINUTE, NOW } from '../../../board/support/fleet.js';

let fleet: Fleet;
let board: Board;
/** How many entries of a lock an answer why reads, and nothing else does. */
const WHOLE = 1_000;
/** How often the store was asked for so many. */
let answers: number;
/** How many pages were made: each names the store. */
let pages: number;
/** What an answer why waits for, first. */
let before: () => Promise<void>;

beforeEach(async () => {
  fleet = await madeFleet();
  [answers, pages] = [0, 0];
  before = async () => undefined;
  const { history } = fleet.store;
  const entries = history.entries.bind(history);
  history.entries = async (query) => {
    if (query.limit === WHOLE) {
      answers++;
      await before();
    }
    return entries(query);
  };
  board = new Board({
    insight: insightsOf(async (zone) => new Insight(fleet.store, { zone })),
    clock: fleet.clock,
    label: () => {
      pages++;
      return 'memory';
    },
    traceUrl: undefined,
  });
});

const ANSWERS = Array.from({ length: 50 }, (_, n) => `job=RefreshJobs.refresh&at=${NOW - n * MINUTE}`);
const look = async (queries: readonly string[]): Promise<string> => {
  const found = await Promise.all(queries.map(async (query) => (await board.page(query)).body));
  return found.join('');
};

test('however many different answers are looked at, the store is asked for a few at a time, and only if somebody looks', async () => {
  const html = await look(ANSWERS);
  expect(answers).toBe(10);
  expect(html).toContain('too many answers are asked for at this moment');
  await fleet.clock.advance(3_000);
  await look(['']);
  expect(answers).toBe(10);
  for (let n = 0; n < 4; n++) {
    await fleet.clock.advance(3_000);
    await look(ANSWERS.slice(n * 10 + 10, n * 10 + 20));
  }
  expect(answers).toBe(50);
  // Each is known by now: while the store is asked for as many others, it serves.
  await fleet.clock.advance(3_000);
  expect(await look(ANSWERS)).not.toContain('too many answers');
  expect(answers).toBe(60);
});

test('programs that ask for the JSON `why` and `runs` have the store asked a bounded number of times, and are told when to ask again', async () => {
  const ask = (n: number): ReturnType<typeof board.api.why> =>
    n % 2 === 0
      ? board.api.why('RefreshJobs.refresh', `at=${NOW - n * MINUTE}`)
      : board.api.runs('RefreshJobs.refresh', `limit=${n}`);
  const first = await Promise.all(Array.from({ length: 30 }, (_, n) => ask(n)));
  expect(first.map(({ status }) => status)).toEqual([...Array(20).fill(200), ...Array(10).fill(503)]);
  expect(first[29]).toMatchObject({ headers: { 'retry-after': '2' } });
  expect(JSON.parse(String(first[29]?.body))).toEqual({ error: expect.stringContaining('Ask again') });
  // Whoever asks the same as another one costs nothing, and what was refused is answered later.
  expect(await ask(0)).toMatchObject({ status: 200 });
  await fleet.clock.advance(2_000);
  expect(await ask(29)).toMatchObject({ status: 200 });
});

test('a page is made once for all who ask the same, however many different ones are asked for', async () => {
  const queries = Array.from({ length: 150 }, (_, n) => `find=${n}`);
  await look(queries);
  expect(pages).toBe(150);
  await look([...queries, ...queries]);
  expect(pages).toBe(150);
});

test('an answer that comes from an earlier read says how old it is', async () => {
  expect(await look(ANSWERS.slice(0, 10))).not.toContain('As of 3 s ago');
  await fleet.clock.advance(3_000);
  await look(ANSWERS.slice(10, 20));
  expect(await look(ANSWERS.slice(0, 1))).toContain('As of 3 s ago');
  expect(await look(ANSWERS.slice(10, 11))).not.toMatch(/As of \d+ s ago/);
});

test('an answer that failed is not kept for the next viewer', async () => {
  before = () => Promise.reject(new Error('the store is away'));
  const [query = ''] = ANSWERS;
  expect(await look([query])).toContain('the store is away');
  before = async () => undefined;
  expect(await look([query])).toContain('Link to this answer');
  expect(answers).toBe(2);
});

test('nobody waits long for an answer, and the next viewer gets it', async () => {
  const [query = ''] = ANSWERS;
  let go = (): void => undefined;
  const asked = new Promise<void>((called) => {
    before = () => {
      called();
      return new Promise((resolve) => (go = resolve));
    };
  });
  const page = look([query]);
  await asked;
  await fleet.clock.advance(1_500);
  expect(await page).toContain('has not answered yet');
  go();
  expect(await look([query])).toContain('Link to this answer');
  expect(answers).toBe(1);
});

test('no viewer gets what another one has asked for', async () => {
  await look(['find=secret&skip=1', `job=RefreshJobs.refresh&at=${NOW - MINUTE}`]);
  const html = await look(['', 'find=other', 'job=RefreshJobs.refresh']);
  expect(html).not.toContain('secret');
  expect(html).not.toMatch(/hours=\d+[^"]*at=|at=[^"]*hours=/);
  expect(html).toContain('href="?job=RefreshJobs.refresh&amp;hours=24"');
});

test('a page, script and style are compressed for who takes that, and for nobody else', async () => {
  for (const query of ['', 'asset=board.js', 'asset=board.css']) {
    const plain = await board.page(query);
    expect(plain.headers).toMatchObject({ vary: 'accept-encoding' });
    for (const accepted of ['gzip, deflate, br', 'br;q=1.0, GZIP;q=0.5']) {
      const packed = await board.page(query, { 'accept-encoding': accepted });
      expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
      expect(gunzipSync(packed.body).toString()).toBe(plain.body);
    }
    for (const accepted of ['', 'identity', 'gzip;q=0', 'br, gzip; q=0.0'])
      expect(await board.page(query, { 'accept-encoding': accepted })).toEqual(plain);
  }
});

test('all who get the same page get the same bytes: it is compressed once', async () => {
  const [one, other] = await Promise.all([
    board.page('', { 'accept-encoding': 'gzip' }),
    board.page('', { 'accept-encoding': 'gzip' }),
  ]);
  expect(one.body).toBe(other.body);
});
