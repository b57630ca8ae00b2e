import { describe, expect, it } from '@jest/globals';
import { Pending, TimeLimits } from '../../../lib/store-access/time-limits.js';
import { type Reply, replyOf } from '../../../lib/stores/replying-store.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';

class Told extends Pending<string> {
  readonly told: string[] = [];

  answered(value: string): void {
    this.told.push(value);
  }

  failed(error: Error): void {
    this.told.push(error.message);
  }
}

/** A call to the store, and what answers it. */
function underWay(): { readonly call: Reply<string>; readonly answer: (value: string) => void } {
  let answer!: (value: string) => void;
  const call = new Promise<string>((resolve) => (answer = resolve));
  return { call: replyOf(call), answer };
}

const GIVEN_UP = 'The store did not answer within 1000 ms.';

describe('the limit of store calls', () => {
  it('an answer that comes after its call was given up is not taken for that of the next try', async () => {
    const clock = new ManualClock();
    const limits = new TimeLimits(clock);
    const [first, second, told] = [underWay(), underWay(), new Told()];
    limits.watch(first.call, 1_000, told);
    await clock.advance(1_000);
    expect(told.told).toEqual([GIVEN_UP]);
    limits.watch(second.call, 1_000, told);
    first.answer('late');
    await clock.advance(0);
    expect(told.told).toEqual([GIVEN_UP]);
    second.answer('in time');
    await clock.advance(0);
    expect(told.told).toEqual([GIVEN_UP, 'in time']);
  });

  it('each call is answered or given up, also where a store answers two tries with one promise', async () => {
    const clock = new ManualClock();
    const limits = new TimeLimits(clock);
    const [shared, other] = [underWay(), underWay()];
    const [retried, neighbour, last] = [new Told(), new Told(), new Told()];
    limits.watch(shared.call, 1_000, retried);
    await clock.advance(1_500);
    limits.watch(other.call, 1_000, neighbour);
    limits.watch(shared.call, 1_000, retried);
    shared.answer('to both');
    await clock.advance(0);
    limits.watch(replyOf(new Promise(() => undefined)), 1_000, last);
    other.answer('to it');
    await clock.advance(5_000);
    expect([retried.told, neighbour.told, last.told]).toEqual([[GIVEN_UP, 'to both'], ['to it'], [GIVEN_UP]]);
    await limits.settled();
  });
});
