import { gunzipSync } from 'node:zlib';
import { beforeEach, expect, test } from '@jest/globals';
import { Board } from '../../../../lib/show/board/board.js';
import { Insight } from '../../../../lib/insight/insight.js';
import { type Fleet, fleet as madeFleet, MINUTE, NOW } from '../../../board/support/fleet.js';

let fleet: Fleet;
let board: Board;
/** How many entries of a lock an answer why reads, and nothing else does. */
const WHOLE = 1_000;
/** How many pages were made: each names the store. */
let pages: number;
/** What an answer why waits for, first. */
let before: () => Promise<void>;

beforeEach(async () => {
  fleet = await madeFleet();
  pages = 0;
  before = async () => undefined;
  const { history } = fleet.store;
  const entries = history.entries.bind(history);
  history.entries = async (query) => {
    if (query.limit === WHOLE) await before();
    return entries(query);
  };
  const insight = new Insight(fleet.store);
  board = new Board({
    insight: async () => insight,
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

test('however many different pages are looked at, a few are made at a time; whoever asks for more is told when to ask again', async () => {
  const found = await Promise.all(ANSWERS.map((query) => board.page(query)));
  expect(found.map(({ status }) => status)).toEqual([...Array(20).fill(200), ...Array(30).fill(503)]);
  expect(found[49]?.headers).toMatchObject({ 'retry-after': '2' });
  expect(found[49]?.body).toContain('Too many pages are asked for at this moment');
  // Answers and pages stand in one queue.
  expect(await board.answer('why', 'job=RefreshJobs.refresh')).toMatchObject({ status: 503 });
  await fleet.clock.advance(2_000);
  expect(await look(ANSWERS.slice(30, 45))).not.toContain('Too many');
  expect(await board.answer('why', 'job=RefreshJobs.refresh')).toMatchObject({ status: 200 });
});

test('while too much is asked for, a page that is known serves, and says its age', async () => {
  const [query = ''] = ANSWERS;
  await look([query]);
  await fleet.clock.advance(30_000);
  await look(ANSWERS.slice(1, 21));
  expect(await board.page(query)).toMatchObject({ status: 200, headers: { age: '30' } });
  await fleet.clock.advance(31_000);
  await look(ANSWERS.slice(1, 21));
  expect(await board.page(query)).toMatchObject({ status: 503 });
});

test('two hundred different pages leave other work its turn', async () => {
  const queries = Array.from({ length: 200 }, (_, n) => `find=${n}`);
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await look(queries);
  isOver = true;
  // Each page has at least three parts, and a turn between them.
  expect(turns).toBeGreaterThan(60);
});

test('programs that ask for the JSON `why` and `runs` have the store asked a bounded number of times, and are told when to ask again', async () => {
  const ask = (n: number): ReturnType<typeof board.answer> =>
    n % 2 === 0
      ? board.answer('why', `job=RefreshJobs.refresh&at=${NOW - n * MINUTE}`)
      : board.answer('runs', `job=RefreshJobs.refresh&limit=${n}`);
  const first = await Promise.all(Array.from({ length: 30 }, (_, n) => ask(n)));
  expect(first.map(({ status }) => status)).toEqual([...Array(20).fill(200), ...Array(10).fill(503)]);
  expect(first[29]).toMatchObject({ headers: { 'retry-after': '2' } });
  expect(JSON.parse(String(first[29]?.body))).toEqual({ error: expect.stringContaining('Ask again') });
  // Whoever asks the same as another one costs nothing, and what was refused is answered later.
  expect(await ask(0)).toMatchObject({ status: 200 });
  await fleet.clock.advance(2_000);
  expect(await ask(29)).toMatchObject({ status: 200 });
});

test('a page is made once for all who ask the same', async () => {
  const queries = Array.from({ length: 15 }, (_, n) => `find=${n}`);
  await look(queries);
  expect(pages).toBe(15);
  await look([...queries, ...queries]);
  expect(pages).toBe(15);
});

test('an answer that failed serves nobody who asks 2 s later', async () => {
  before = () => Promise.reject(new Error('the store is away'));
  const [query = ''] = ANSWERS;
  expect(await look([query])).toContain('the store is away');
  before = async () => undefined;
  await fleet.clock.advance(2_000);
  expect(await look([query])).toContain('Link to this answer');
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
  expect(await page).toContain('no answer yet');
  before = async () => undefined;
  go();
  await fleet.clock.advance(2_000);
  expect(await look([query])).toContain('Link to this answer');
});

test('no viewer gets what another one has asked for', async () => {
  await look(['find=secret&skip=1&hours=168', `job=RefreshJobs.refresh&at=${NOW - MINUTE}`]);
  const html = await look(['', 'find=other', 'job=RefreshJobs.refresh']);
  expect(html).not.toContain('secret');
  expect(html).toContain('href="?job=RefreshJobs.refresh"');
  expect(html).not.toMatch(/job=RefreshJobs\.refresh&amp;at=\d+&amp;hours/);
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
