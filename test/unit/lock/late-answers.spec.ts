import { describe, expect, it } from '@jest/globals';
import { Harness } from './harness.js';
import { hold, silence } from './scripted-store.js';

describe('an answer to an acquire', () => {
  it('gives back a grant that comes after the lease is over, and does not run the job', async () => {
    const app = new Harness();
    const acquire = hold('reply');
    app.store.next('acquire', acquire.behaviour);
    const job = app.launch();
    await app.clock.advance(0);
    // A blocked event loop: the answer is read before the time limit has had its turn.
    app.clock.block(9_898);
    acquire.answer();
    await app.clock.advance(0);
    expect(job.began).toBe(false);
    expect(job.result).toMatchObject({
      ran: false,
      reason: 'store-unavailable',
      error: { message: 'The store granted the lease only when it was already over.', outcome: 'unknown' },
    });
    expect(app.store.of('release')[0]).toMatchObject({ options: { outcome: 'abandoned' } });
  });

  it('runs the job if an event loop that was blocked past the limit finds the answer there', async () => {
    const app = new Harness();
    const acquire = hold('reply');
    app.store.next('acquire', acquire.behaviour);
    const job = app.launch();
    // What Node does after it was blocked: the timers that are due first, then the sockets.
    app.clock.setTimer(() => acquire.answer(), 2_000);
    app.clock.block(5_000);
    await app.clock.advance(0);
    expect(job.began).toBe(true);
    expect(app.of('outage-started')).toEqual([]);
  });

  it('is skipped if an event loop that was blocked past the limit finds no answer', async () => {
    const app = new Harness();
    app.store.next('acquire', silence);
    const job = app.launch();
    await app.clock.advance(0);
    app.clock.block(5_000);
    await app.clock.advance(1);
    expect(job.result).toMatchObject({ ran: false, reason: 'store-unavailable' });
  });
});
