import { describe, expect, it } from '@jest/globals';
import { Asked } from '../../../../lib/lock/access/safe-store.js';
import { TimeLimits } from '../../../../lib/lock/access/time-limits.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

const GIVEN_UP = 'The store did not answer within 1000 ms.';

function setUp() {
  const clock = new ManualClock();
  const limits = new TimeLimits(clock);
  const ended: unknown[] = [];
  const note = (outcome: { result: string } | { error: Error }): void =>
    void ended.push('error' in outcome ? outcome.error.message : outcome.result);
  const ask = (limit = 1_000): Asked<string> => {
    const asked = new Asked<string>(limits, limit, clock.monotonic());
    void asked.outcome.then(note);
    return asked;
  };
  return { clock, limits, ended, note, ask };
}

describe('the limit of store calls', () => {
  it('an answer in time is the outcome, and leaves no timer behind once its time has passed', async () => {
    const { clock, ended, ask } = setUp();
    ask().answered('in time');
    await clock.advance(1_000);
    expect(ended).toEqual(['in time']);
    expect(clock.pending).toBe(0);
  });

  it('a call that is not answered in time is given up, and an answer after that is no outcome', async () => {
    const { clock, ended, note, ask } = setUp();
    const [first, second] = [ask(), ask()];
    await clock.advance(1_000);
    expect(ended).toEqual([GIVEN_UP, GIVEN_UP]);
    first.listen(note);
    first.answered('late');
    second.answered('not listened to');
    await clock.advance(0);
    expect(ended).toEqual([GIVEN_UP, GIVEN_UP, 'late']);
  });

  it('an answer after that reaches all who listen, before and after it came', async () => {
    const { clock, ended, note, ask } = setUp();
    const call = ask();
    await clock.advance(1_000);
    call.listen(note);
    call.listen(note);
    call.answered('late');
    call.listen(note);
    expect(ended).toEqual([GIVEN_UP, 'late', 'late', 'late']);
  });

  it('each call has its own limit, in whatever order they were made', async () => {
    const { clock, ended, ask } = setUp();
    ask(3_000);
    await clock.advance(500);
    ask(1_000);
    ask(2_000);
    await clock.advance(999);
    expect(ended).toEqual([]);
    await clock.advance(1);
    expect(ended).toHaveLength(1);
    expect(clock.pending).toBe(1);
    await clock.advance(1_000);
    expect(ended).toHaveLength(2);
    await clock.advance(500);
    expect(ended).toHaveLength(3);
    expect(clock.pending).toBe(0);
  });

  it('an event loop that was blocked past it reads the answers that have come meanwhile', async () => {
    const { clock, ended, ask } = setUp();
    const [answered] = [ask(), ask()];
    clock.setTimer(() => answered.answered('read late'), 1_000);
    clock.block(5_000);
    await clock.advance(1);
    expect(ended).toEqual(['read late', GIVEN_UP]);
  });

  it('holds for any promise', async () => {
    const { clock, limits } = setUp();
    await expect(limits.within(Promise.resolve('value'), 1_000)).resolves.toBe('value');
    await expect(limits.within(Promise.reject(new Error('failure')), 1_000)).rejects.toThrow('failure');
    const never = limits.within(new Promise(() => undefined), 1_000).catch((error: unknown) => error);
    await clock.advance(1_000);
    expect(await never).toMatchObject({ message: GIVEN_UP, outcome: 'unknown' });
    expect(clock.pending).toBe(0);
  });
});
