import { redisCommand } from '../../test/support/local-redis.js';

/** How many keys Redis looks at for one answer. */
const STEP = 10_000;

/** Removes what a demo has left in somebody's Redis. Its locks expire by themselves, the rest only after days. */
export async function forgetLocks(url: string, prefix: string): Promise<void> {
  let cursor = '0';
  do {
    const answer = await redisCommand(url, 'SCAN', cursor, 'MATCH', `*${prefix}:*`, 'COUNT', STEP);
    const [next, keys] = answer as [string, string[]];
    if (keys.length > 0) await redisCommand(url, 'DEL', ...keys);
    cursor = next;
  } while (cursor !== '0');
}
