import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Fleet, fleet } from './support/fleet.js';
import { PLATFORMS, type Site, site, USER } from './support/site.js';

/** Renews the session of whoever comes: as a framework does it on each platform. */
@Injectable()
class SessionGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const response = context.switchToHttp().getResponse<{ header(name: string, value: string): unknown }>();
    response.header('set-cookie', 'session=renewed; HttpOnly');
    return true;
  }
}

const JOB = 'RefreshJobs.refresh';
const LOCK = 'WebhookJobs.deliver';

describe.each(PLATFORMS)('on %s', (platform) => {
  let made: Fleet;
  let place: Site;
  beforeEach(async () => {
    made = await fleet();
    await made.dead(LOCK, 2);
    place = await site({
      platform,
      store: made.store,
      clock: made.clock,
      board: { guards: [SessionGuard], control: { guards: [], actor: () => 'ada@example.com' } },
    });
  });
  afterEach(() => place.close());

  async function use(
    path: string,
    body: object,
  ): Promise<{ status: number; answer: Record<string, string> }> {
    const answer = await fetch(`${place.url}/api/v1/${path}`, {
      method: 'POST',
      headers: { ...USER, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify(body),
    });
    return { status: answer.status, answer: (await answer.json()) as Record<string, string> };
  }

  /** What switches change. */
  const state = async (): Promise<string> => JSON.stringify(await made.store.inspect([JOB, LOCK]));

  test('a cookie of the application is kept', async () => {
    const first = await fetch(place.url, { headers: USER });
    await first.text();
    expect(first.headers.getSetCookie()).toEqual(['session=renewed; HttpOnly']);
  });

  test.each<[path: string, body: object, problem: RegExp]>([
    ['jobs/pause', { job: JOB, reason: 'x', for: true }, /for: true is no duration/],
    ['jobs/pause', { job: JOB, reason: 'x', for: null }, /for: null is no duration/],
    ['jobs/pause', { job: JOB, reason: 'x', fro: '1h' }, /fro: there is no such option here.*`for`/],
    ['jobs/pause', { job: JOB, reason: 7 }, /reason: 7 does not say why/],
    ['jobs/pause', { job: 7, reason: 'x' }, /job: \(number\) is no name/],
    ['jobs/pause', { lock: LOCK, reason: 'x' }, /lock: there is no such option here/],
    ['jobs/resume', { job: JOB, reason: ['x'] }, /reason: .* does not say why/],
    ['jobs/run', { job: JOB, reason: 7 }, /reason: 7 does not say why/],
    ['jobs/run', { job: JOB, args: ['2026-11'] }, /args: there is no such option here/],
    ['jobs/run', { job: JOB, throughPause: 'yes' }, /throughPause: 'yes' is neither true nor false/],
    ['locks/break', { lock: LOCK, reason: 'x', fencingToken: true }, /fencingToken: true is none/],
    ['locks/break', { lock: LOCK, reason: 'x', fencingToken: ' ' }, /fencingToken: ' ' is none/],
    ['locks/redeliver', { lock: LOCK, id: 17 }, /id: \(number\) is no name: expected a string/],
    ['locks/redeliver', { lock: LOCK, id: null }, /id: \(null\) is no name: expected a string/],
    ['locks/redeliver', { lock: LOCK, ids: ['one'] }, /ids: there is no such option here.*`id`/],
  ])('what cannot be meant is not passed over: %s %j', async (path, body, problem) => {
    const before = await state();
    expect(await use(path, body)).toEqual({ status: 400, answer: { error: expect.stringMatching(problem) } });
    expect(await state()).toBe(before);
  });

  test('a list is no JSON object', async () => {
    const before = await state();
    expect((await use('jobs/resume', [])).status).toBe(415);
    expect(await state()).toBe(before);
  });

  test('a length of a pause may be a number, too, as everywhere', async () => {
    const { status } = await use('jobs/pause', { job: JOB, reason: 'x', for: 3_600_000 });
    expect(status).toBe(200);
    const [lock] = await made.store.inspect([JOB]);
    expect(lock?.paused?.until).toBe((lock?.paused?.since ?? 0) + 3_600_000);
  });
});
