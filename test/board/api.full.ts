import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { processOf } from '../../lib/stores/line.js';
import { projectRoot } from '../support/machine.js';
import { fleet, HOUR, NOW } from './support/fleet.js';
import { type Site, site, USER } from './support/site.js';

interface Operation {
  readonly responses: Readonly<Record<string, { content: { 'application/json': { schema: object } } }>>;
}

const FILE = 'monitoring/board-api.json';
const document = JSON.parse(readFileSync(join(projectRoot, FILE), 'utf8')) as {
  paths: Readonly<Record<string, { get?: Operation }>>;
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
function problemsOf(path: string, status: number, answer: unknown): string[] {
  const schema = closedDocument.paths[path]?.get?.responses[status]?.content['application/json'].schema;
  if (schema === undefined) return [`${FILE} has no ${status} of ${path}`];
  const text = JSON.stringify(schema).replaceAll('"#/components', '"board#/components');
  const validate = ajv.compile(JSON.parse(text) as object);
  validate(answer);
  return (validate.errors ?? []).map(
    (error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`,
  );
}

let place: Site;
beforeAll(async () => {
  const { store, clock } = await fleet();
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
      [`/jobs/{job}`, job],
      [`/jobs/{job}/runs`, job],
      [`/jobs/{job}/runs?limit=5&bad=true`, job],
      [`/jobs/{job}/runs?limit=0`, job],
      [`/jobs/{job}/why`, job],
      [`/jobs/{job}/why?at=${NOW - HOUR}`, job],
      [`/jobs/{job}/why?at=2026-10-24T19:10:00Z`, job],
      [`/jobs/{job}/why?at=never`, job],
    ],
  ),
];

test.each(asked)(`${FILE} describes the answer to %s %s`, async (path, job) => {
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
  expect(problemsOf('/jobs/{job}', 404, { error: 'x', more: 1 })).not.toEqual([]);
});
