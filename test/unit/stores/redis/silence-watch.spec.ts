import { describe, expect, it } from '@jest/globals';
import { SilenceWatch } from '../../../../lib/stores/redis/silence-watch.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

/** What a fresh connection is answered: nothing, if it stays open. */
type Fresh = 'answered' | 'refused' | 'silent';

function watched(options: { limit?: number; fresh?: Fresh } = {}) {
  const queue: { command?: { name: string } }[] = [];
  const stream = { bytesRead: 0, writableLength: 0, destroy: () => lost('destroyed') };
  const ends: string[] = [];
  const lost = (how: string): void => {
    ends.push(how);
    queue.length = 0;
  };
  let fresh: Fresh = options.fresh ?? 'silent';
  let asked = 0;
  /** Called while a fresh connection is asked. */
  let meanwhile = (): void => undefined;
  /** Called once it has been answered, and has been closed. */
  let behind = (): void => undefined;
  const client = {
    status: 'ready',
    commandQueue: { peekFront: () => queue[0] },
    stream,
    disconnect: (reconnect = false) => lost(reconnect ? 'reconnected' : 'closed'),
    duplicate: () => ({
      connect: () =>
        fresh === 'silent'
          ? new Promise(() => undefined)
          : fresh === 'refused'
            ? Promise.reject(new Error('refused'))
            : Promise.resolve(),
      eval: async () => {
        meanwhile();
        return 1;
      },
      on: () => undefined,
      disconnect: () => {
        asked += 1;
        setImmediate(behind);
      },
    }),
  };
  const clock = new ManualClock();
  const { limit } = options;
  const watch = new SilenceWatch({
    connections: () => [client],
    silence: 2_000,
    ...(limit === undefined ? undefined : { limit }),
    clock,
  });
  const owe = (name = 'evalsha'): void => void queue.push({ command: { name } });
  return {
    queue,
    stream,
    ends,
    client,
    clock,
    owe,
    stop: () => watch.stop(),
    answer: (how: Fresh) => (fresh = how),
    meanwhile: (call: () => void) => (meanwhile = call),
    behind: (call: () => void) => (behind = call),
    get asked() {
      return asked;
    },
  };
}

describe('the watch over a connection', () => {
  it('makes it anew when it owes an answer, while a fresh one is answered', async () => {
    const { owe, ends, clock } = watched({ fresh: 'answered' });
    owe();
    await clock.advance(2_500);
    expect(ends).toEqual([]);
    await clock.advance(500);
    expect(ends).toEqual(['destroyed']);
  });

  it.each<Fresh>(['refused', 'silent'])(
    'leaves it alone as long as a fresh one is %s, and asks now and then',
    async (fresh) => {
      const watch = watched({ fresh });
      watch.owe();
      await watch.clock.advance(60_000);
      expect(watch.ends).toEqual([]);
      expect(watch.asked).toBeGreaterThan(4);
      expect(watch.asked).toBeLessThan(12);
      watch.answer('answered');
      await watch.clock.advance(11_500);
      expect(watch.ends).toEqual(['destroyed']);
    },
  );

  it.each<[what: string, move: (watch: ReturnType<typeof watched>) => void]>([
    ['has given a byte', ({ stream }) => (stream.bytesRead += 1)],
    ['has taken a byte', ({ stream }) => (stream.writableLength += 1)],
    ['has answered', ({ queue }) => void queue.splice(0, 1, {})],
  ])('leaves one alone that %s meanwhile', async (_what, move) => {
    const watch = watched({ fresh: 'answered' });
    watch.owe();
    watch.meanwhile(() => move(watch));
    for (let second = 0; second < 30; second++) await watch.clock.advance(1_000);
    expect(watch.ends).toEqual([]);
  });

  // A server that was frozen answers both at once.
  it('leaves one alone whose answer is read behind that of the fresh one', async () => {
    const watch = watched({ fresh: 'answered' });
    watch.owe();
    watch.behind(() => {
      watch.stream.bytesRead += 1;
      watch.queue.length = 0;
    });
    await watch.clock.advance(2_500);
    expect(watch.asked).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    await watch.clock.advance(5_000);
    expect(watch.ends).toEqual([]);
  });

  it.each(['blpop', 'BZPOPMIN', 'xread', 'xreadgroup', 'wait', 'client', 'subscribe', 'ft.search', 'debug'])(
    'leaves one alone whose answer to %s may take its time',
    async (name) => {
      const watch = watched({ fresh: 'answered' });
      watch.owe(name);
      watch.owe();
      await watch.clock.advance(60_000);
      expect(watch.ends).toEqual([]);
      expect(watch.asked).toBe(0);
    },
  );

  it.each(['get', 'SET', 'mget', 'hgetall', 'zadd', 'lpush', 'incr', 'exec', 'eval'])(
    'does not wait for an answer to %s, which takes no time',
    async (name) => {
      const { owe, ends, clock } = watched({ fresh: 'answered' });
      owe(name);
      await clock.advance(3_000);
      expect(ends).toEqual(['destroyed']);
    },
  );

  it('leaves a busy connection alone, whose oldest command is another one each time', async () => {
    const { queue, owe, ends, clock } = watched({ fresh: 'answered', limit: 5_000 });
    for (let i = 0; i < 60; i++) {
      owe();
      owe();
      queue.shift();
      await clock.advance(500);
    }
    expect(ends).toEqual([]);
  });

  it('leaves an idle connection alone', async () => {
    const watch = watched({ fresh: 'answered', limit: 5_000 });
    await watch.clock.advance(60_000);
    expect(watch.ends).toEqual([]);
    expect(watch.asked).toBe(0);
  });

  it('leaves a handshake to the client, without a limit', async () => {
    const watch = watched({ fresh: 'answered' });
    watch.client.status = 'connect';
    watch.owe('info');
    await watch.clock.advance(60_000);
    expect(watch.ends).toEqual([]);
  });

  it('leaves it to the client, if that makes no fresh connection', async () => {
    const watch = watched();
    watch.client.duplicate = () => {
      throw new Error('closed');
    };
    watch.owe();
    await watch.clock.advance(60_000);
    expect(watch.ends).toEqual([]);
  });

  it('looks no more once it is ended', async () => {
    const watch = watched({ fresh: 'answered', limit: 5_000 });
    watch.owe();
    await watch.clock.advance(1_000);
    watch.stop();
    await watch.clock.advance(60_000);
    expect(watch.ends).toEqual([]);
    expect(watch.asked).toBe(0);
  });
});

describe('the watch over a connection of our own', () => {
  it.each(['ready', 'connect'])(
    'makes it anew after its limit, whatever a fresh one says, if the client is %s',
    async (status) => {
      const { owe, ends, client, clock } = watched({ limit: 5_000 });
      for (let i = 1; i < 3; i++) {
        client.status = status;
        owe('info');
        await clock.advance(5_000);
        expect(ends).toHaveLength(i - 1);
        await clock.advance(500);
        expect(ends).toHaveLength(i);
      }
      expect(ends).toEqual(['reconnected', 'reconnected']);
    },
  );
});
