import type { Clock } from '../../clock.js';

/** The members of our own client that the watch uses. */
export interface WatchedClient {
  /** Commands that were sent but not answered yet, the oldest in front. */
  readonly commandQueue: { peekFront(): object | undefined };
  disconnect(reconnect?: boolean): void;
}

/** How often to look, ms. */
const INTERVAL = 1_000;

/**
 * Reconnects a client when a command, those of the handshake included, has had no answer for `limit` milliseconds.
 * Then the server is frozen, or the network has swallowed the connection, and nothing else would show it.
 *
 * Replaces the option `socketTimeout` of ioredis, which arms a timer and a listener for each command: more than a
 * tenth of the cost of a run.
 *
 * @returns a function that ends the watch
 */
export function watchForFreeze(client: WatchedClient, limit: number, clock: Clock): () => void {
  let oldest: object | undefined;
  let looks = 0;
  const look = (): void => {
    const front = client.commandQueue.peekFront();
    looks = front !== undefined && front === oldest ? looks + 1 : 0;
    oldest = front;
    // Counts looks instead of time: an event loop that was blocked reads the answers that have come meanwhile before
    // the next look.
    if (looks * INTERVAL >= limit) client.disconnect(true);
    timer = clock.setTimer(look, INTERVAL);
  };
  let timer = clock.setTimer(look, INTERVAL);
  return () => timer.cancel();
}
