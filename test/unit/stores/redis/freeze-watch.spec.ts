import { describe, expect, it } from '@jest/globals';
import { watchForFreeze } from '../../../../lib/stores/redis/freeze-watch.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

function watched() {
  const queue: object[] = [];
  const reconnects: boolean[] = [];
  const client = {
    commandQueue: { peekFront: () => queue[0] },
    disconnect: (reconnect = false) => {
      reconnects.push(reconnect);
      queue.length = 0;
    },
  };
  const clock = new ManualClock();
  const stop = watchForFreeze(client, 5_000, clock);
  return { queue, reconnects, clock, stop };
}

describe('the watch over a connection of our own', () => {
  it('connects again when a command has been without an answer for the limit, and not before', async () => {
    const { queue, reconnects, clock } = watched();
    queue.push({});
    await clock.advance(5_000);
    expect(reconnects).toEqual([]);
    await clock.advance(1_000);
    expect(reconnects).toEqual([true]);
  });

  it('leaves a busy connection alone, whose oldest command is another one each time', async () => {
    const { queue, reconnects, clock } = watched();
    for (let second = 0; second < 30; second++) {
      queue.push({}, {});
      queue.shift();
      await clock.advance(1_000);
    }
    expect(reconnects).toEqual([]);
  });

  it('leaves an idle connection alone', async () => {
    const { reconnects, clock } = watched();
    await clock.advance(60_000);
    expect(reconnects).toEqual([]);
  });

  it('watches the next connection as well', async () => {
    const { queue, reconnects, clock } = watched();
    for (let i = 0; i < 2; i++) {
      queue.push({});
      await clock.advance(7_000);
    }
    expect(reconnects).toEqual([true, true]);
  });

  it('looks no more once it is ended', async () => {
    const { queue, reconnects, clock, stop } = watched();
    queue.push({});
    await clock.advance(3_000);
    stop();
    await clock.advance(60_000);
    expect(reconnects).toEqual([]);
  });
});
