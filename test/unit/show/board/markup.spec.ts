import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Looked, lookedAt } from '../../../../lib/show/board/data/looked.js';
import { Pages } from '../../../../lib/show/board/pages.js';
import { readQuestion } from '../../../../lib/show/board/data/question.js';
import { type Kept, Shared } from '../../../../lib/show/board/shared.js';
import { Insight } from '../../../../lib/insight/insight.js';
import type { ControlSwitches } from '../../../../lib/insight/control/control.js';
import { fleet, NOW } from '../../../board/support/fleet.js';
import { misplaced } from './support/markup.js';

let insight: Insight;
let looked: Looked;
let made: Awaited<ReturnType<typeof fleet>>;

beforeAll(async () => {
  made = await fleet();
  insight = new Insight(made.store);
  looked = lookedAt(await insight.look(200), 200, NOW);
});

/** A screen that is made of this answer of the store. */
async function screen(query: string, look: Partial<Kept<Looked>> = { value: looked }): Promise<string> {
  const source = {
    insight: async () => insight,
    clock: made.clock,
    label: () => 'memory',
    traceUrl: 'https://traces.example/{traceId}',
    // The switches are drawn, and not used.
    control: {} as ControlSwitches,
  };
  const shared = new Shared(made.clock);
  const pages = new Pages({ source, shared, look: async () => ({ age: 0, ...look }) });
  const { body } = await pages.page(readQuestion(new URLSearchParams(query)), '1');
  return String(body);
}

describe('each element is where HTML allows it', () => {
  test.each([
    ['all jobs', '', 'id="locks"'],
    ['a page of the table', 'find=jobs&skip=2&zone=Europe/Berlin&hours=168&state=fine', 'id="jobs"'],
    ['a job', 'job=InvoiceJobs.send', 'Pause'],
    ['a job with dead letters or queued calls', 'job=WebhookJobs.deliver', 'WebhookJobs.deliver'],
    ['an answer', `job=InvoiceJobs.send&at=${NOW}`, 'Link to this answer'],
    ['a job that nobody knows', 'job=Nobody.knows', 'No instance knows a job Nobody.knows'],
  ])('%s', async (_, query, shown) => {
    const html = await screen(query);
    expect(html).toContain(shown);
    expect(misplaced(html)).toEqual([]);
  });

  test('an old answer, and none', async () => {
    const old = await screen('', { value: looked, age: 60_000, failure: 'no answer.' });
    const none = await screen('', { failure: 'no answer.' });
    expect([old, none].flatMap(misplaced)).toEqual([]);
  });

  test('jobs of which what is known is broken', async () => {
    const html = await screen('', { value: { ...looked, facts: new Map() } });
    expect(html).toContain('This record is broken, and cannot be shown.');
    expect(misplaced(html)).toEqual([]);
  });
});

test('a record of which a text cannot be drawn, deep inside, is lost, and no other', async () => {
  const job = 'RefreshJobs.refresh';
  const html = await screen('hours=6', {
    value: {
      ...looked,
      jobs: looked.jobs.map((one) => (one.job === job ? { ...one, next: 1e20 } : one)),
      told: looked.told.map((one, n) => (n > 0 ? one : { ...one, info: { ...one.info, seenAt: 1e20 } })),
    },
  });
  expect(html).not.toContain('This part cannot be shown');
  expect(html.match(/This record is broken/g)?.length).toBeGreaterThanOrEqual(2);
  for (const name of ['CleanupJobs.sweep', 'worker-1', 'InvoiceJobs.send']) expect(html).toContain(name);
  expect(misplaced(html)).toEqual([]);
});

test.each([
  ['<ul><tr><td>1</td></tr></ul>', '<tr> in <ul>'],
  ['<table><tbody>text</tbody></table>', 'text in <tbody>: text'],
  ['<p><div></div></p>', '<div> in <p>'],
  ['<a href="?"><span><a href="?">why</a></span></a>', '<a> in <a><span>'],
  ['<span><p></span>', '</span> ends <p>'],
  ['<div>', '<div> has no end'],
])('what is misplaced is found: %s', (html, problem) => {
  expect(misplaced(html)).toContain(problem);
});
