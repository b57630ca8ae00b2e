import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { MemoryLockStore, StoreUnavailableError } from '../../lib/index.js';
import { processOf } from '../../lib/contract/line.js';
import { projectRoot } from '../support/machine.js';
import { until } from '../support/until.js';
import { type Fleet, fleet, HOUR, NOW } from './support/fleet.js';
import { PLATFORMS, type Site, site, USER } from './support/site.js';

interface Operation {
  readonly responses: Readonly<Record<string, { content: { 'application/json': { schema: object } } }>>;
}

const FILE = 'monitoring/board-api.json';
const document = JSON.parse(readFileSync(join(projectRoot, FILE), 'utf8')) as {
  paths: Readonly<Record<string, Readonly<Partial<Record<'get' | 'post', Operation>>>>>;
  components: object;
};

/** A field that the file does not describe is found by this; a program that reads the JSON is to pass over it. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inside = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  return 'properties' in schema ? { ...inside, additionalProperties: false } : inside;
}

const closedDocument = closed(document) as typeof document;
const ajv = new Ajv2020({ strict: false, allErrors: true });
ajv.addSchema({ $id: 'board', components: closedDocument.components });

/** What is wrong with an answer, by the file. */
function problemsOf(path: string, status: number, answer: unknown, by: 'get' | 'post' = 'get'): string[] {
  const schema = closedDocument.paths[path]?.[by]?.responses[status]?.content['application/json'].schema;
  if (schema === undefined) return [`${FILE} has no ${status} of ${by} ${path}`];
  const text = JSON.stringify(schema).replaceAll('"#/components', '"board#/components');
  const validate = ajv.compile(JSON.parse(text) as object);
  validate(answer);
  return (validate.errors ?? []).map(
    (error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`,
  );
}

let made: Fleet;
let place: Site;
beforeAll(async () => {
  made = await fleet();
  const { store, clock } = made;
  const wait = { limit: HOUR, priority: 0, process: processOf('worker-1') };
  const name = 'ExportJobs.warehouse';
  await store.acquire({ name, token: 'waits', ttl: 30_000, holder: 'worker-1', wait });
  place = await site({ store, clock });
});
afterAll(() => place.close());

const asked: [path: string, query: string][] = [
  ['/verdict', ''],
  ['/jobs', ''],
  ['/instances', ''],
  ['/locks', ''],
  ...['InvoiceJobs.send', 'CleanupJobs.sweep', 'MailJobs.digest', 'Nobody.knows'].flatMap(
    (job): [string, string][] => [
      [`/job?job={job}`, job],
      [`/runs?job={job}&limit=5`, job],
      [`/runs?job={job}&limit=0`, job],
      [`/why?job={job}`, job],
      [`/why?job={job}&at=never`, job],
      [`/runs?job={job}`, job],
      [`/runs?job={job}&limit=5&bad=true`, job],
      [`/why?job={job}&at=${NOW - HOUR}`, job],
      [`/why?job={job}&at=2026-10-24T19:10:00Z`, job],
    ],
  ),
];

test.each(asked)(`${FILE} describes the answer to %s %s`, async (path, job) => {
  // More than 20 questions in 2 s are refused.
  await made.clock.advance(200);
  const answer = await fetch(`${place.url}/api/v1${path.replace('{job}', job)}`, { headers: USER });
  const [route = ''] = path.split('?');
  expect(problemsOf(route, answer.status, await answer.json())).toEqual([]);
});

test('each path that the file describes was asked for', () => {
  const paths = new Set(asked.map(([path]) => path.split('?')[0]));
  expect([...paths].sort()).toEqual(
    Object.keys(document.paths)
      .filter((path) => document.paths[path]?.get !== undefined)
      .sort(),
  );
});

test('an answer with a field more, or one less, is found', () => {
  expect(problemsOf('/verdict', 200, { time: 1 })).not.toEqual([]);
  expect(problemsOf('/job', 404, { error: 'x', more: 1 })).not.toEqual([]);
});

const CONTROL = { guards: [], actor: (): string => 'ada@example.com' };
const EXPORT = 'ExportJobs.warehouse';

describe.each(PLATFORMS)('switches on %s', (platform) => {
  let made: Fleet;
  let own: Site;
  beforeAll(async () => {
    made = await fleet();
    await made.dead('WebhookJobs.deliver', 2);
    own = await site({ platform, store: made.store, clock: made.clock, board: { control: CONTROL } });
  });
  afterAll(() => own.close());

  /** Uses a switch twice; the file has to describe each answer. Returns both results. */
  async function used(
    [of, action]: readonly ['jobs' | 'locks', string],
    name: string,
    body: object,
    headers: Record<string, string> = {},
  ): Promise<string[]> {
    const field = of === 'jobs' ? 'job' : 'lock';
    const results: string[] = [];
    const path = `/${of}/${action}`;
    for (let n = 0; n < 2; n++) {
      const answer = await fetch(`${own.url}/api/v1${path}`, {
        method: 'POST',
        headers: { ...USER, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', ...headers },
        body: JSON.stringify({ [field]: name, ...body }),
      });
      const told = (await answer.json()) as { result?: string };
      expect(problemsOf(path, answer.status, told, 'post')).toEqual([]);
      results.push(`${answer.status} ${told.result ?? 'error'}`);
    }
    return results;
  }

  test(`${FILE} describes what each switch answers`, async () => {
    const reason = 'migration';
    const job = 'HousekeepingJobs.tidy';
    const pause = ['jobs', 'pause'] as const;
    expect(await used(pause, job, { reason })).toEqual(['200 paused', '409 paused-already']);
    expect(await used(['jobs', 'run'], job, {})).toEqual(['409 paused', '409 paused']);
    expect(await used(['jobs', 'resume'], job, { reason })).toEqual(['200 resumed', '409 not-paused']);
    expect(await used(pause, job, {})).toEqual(['400 error', '400 error']);
    expect(await used(pause, 'Nobody.knows', { reason })).toEqual(['404 nobody-has-it', '404 nobody-has-it']);
    expect(await used(['jobs', 'run'], job, {})).toEqual(['200 started', '200 started']);
    const [lock] = await made.store.inspect([EXPORT]);
    const { fencingToken } = lock ?? {};
    expect(await used(['locks', 'break'], EXPORT, { reason, fencingToken: 1 })).toEqual([
      '409 gone',
      '409 gone',
    ]);
    expect(await used(['locks', 'break'], EXPORT, { reason, fencingToken })).toEqual([
      '200 broken',
      '409 gone',
    ]);
    expect(await used(['locks', 'redeliver'], 'WebhookJobs.deliver', {})).toEqual([
      '200 redelivered',
      '409 redelivered',
    ]);
    const elsewhere = { 'sec-fetch-site': 'cross-site' };
    expect(await used(pause, job, { reason }, elsewhere)).toEqual(['403 error', '403 error']);
    const text = { 'content-type': 'text/plain' };
    expect(await used(['jobs', 'resume'], job, {}, text)).toEqual(['415 error', '415 error']);
  });

  test('and that a call which no instance has taken yet is queued', async () => {
    const name = 'WebhookJobs.deliver';
    const waiting = used(['jobs', 'run'], name, {});
    let isOver = false;
    void waiting.finally(() => (isOver = true)).catch(() => undefined);
    // Each looks for the run for some seconds by the clock of the fleet before it says so.
    await until(async () => {
      await made.clock.advance(100);
      return isOver;
    });
    expect(await waiting).toEqual(['200 queued', '200 queued']);
  });
});

test.each(PLATFORMS)(`${FILE} describes what is answered on %s while the store is away`, async (platform) => {
  const store = new MemoryLockStore();
  const away = (): Promise<never> =>
    Promise.reject(new StoreUnavailableError('away', { outcome: 'unknown' }));
  store.history.instances = away;
  store.inspect = away;
  const own = await site({ platform, store, board: { control: CONTROL } });
  try {
    for (const path of [
      '/verdict',
      '/jobs',
      '/instances',
      '/locks',
      '/job?job=x',
      '/runs?job=x',
      '/why?job=x',
    ]) {
      const answer = await fetch(`${own.url}/api/v1${path}`, { headers: USER });
      expect([path, answer.status]).toEqual([path, 503]);
      expect(problemsOf(path.split('?')[0] ?? '', 503, await answer.json())).toEqual([]);
    }
    const answer = await fetch(`${own.url}/api/v1/jobs/pause`, {
      method: 'POST',
      headers: { ...USER, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify({ job: 'x', reason: 'migration' }),
    });
    expect(answer.status).toBe(503);
    expect(problemsOf('/jobs/pause', 503, await answer.json(), 'post')).toEqual([]);
  } finally {
    await own.close();
  }
});
