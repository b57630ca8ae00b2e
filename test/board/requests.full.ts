import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { fleet } from './support/fleet.js';
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

describe.each(PLATFORMS)('on %s', (platform) => {
  let place: Site;
  beforeEach(async () => {
    const made = await fleet();
    place = await site({
      platform,
      store: made.store,
      clock: made.clock,
      board: { guards: [SessionGuard], control: { guards: [], actor: () => 'ada@example.com' } },
    });
  });
  afterEach(() => place.close());

  test('a cookie of the application is kept beside the token', async () => {
    const first = await fetch(place.url, { headers: USER });
    await first.text();
    expect(first.headers.getSetCookie()).toEqual([
      'session=renewed; HttpOnly',
      expect.stringMatching(/^scheduler-lock-board=/),
    ]);
  });
});
