import type { Clock } from '../../clock.js';

/** What is looked at in a client of our own. */
export interface WatchedClient {
  /** Commands that were sent and not answered yet, the oldest in front. */
  readonly commandQueue: { peekFront(): object | undefined };
  disconnect(reconnect?: boolean): void;
}

/** How often to look, ms. */
const INTERVAL = 1_000;

/**
 * Has a client connect again when a command, that of a handshake included, has been without an answer for `limit`
 * milliseconds: the server is frozen, or the network has swallowed the connection, and nothing else would tell.
 *
 * In place of the option `socketTimeout` of ioredis, which arms a timer and a listener for each command: more than a
 * tenth of what a run costs.
 *
 * @returns a function that ends it
 */
export function watchForFreeze(client: WatchedClient, limit: number, clock: Clock): () => void {
  let oldest: object | undefined;
  let looks = 0;
  const look = (): void => {
    const front = client.commandQueue.peekFront();
    looks = front !== undefined && front === oldest ? looks + 1 : 0;
    oldest = front;
    // Counted, not timed: an event loop that was blocked reads the answers that came meanwhile before the next look.
    if (looks * INTERVAL >= limit) client.disconnect(true);
    timer = clock.setTimer(look, INTERVAL);
  };
  let timer = clock.setTimer(look, INTERVAL);
  return () => timer.cancel();
}
