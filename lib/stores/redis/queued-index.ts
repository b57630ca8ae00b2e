import type { Clock } from '../../base/clock.js';
import { QUEUED_CALLS_KEPT } from '../../contract/queued-call-store.js';
import { askScript, type Connection } from './redis-client.js';
import { script } from './script.js';

/**
 * Notes that a lock may have queued calls.
 *
 * KEYS: index
 * ARGV: name
 *
 * Returns 0.
 */
const INDEX = script(/* lua */ `
redis.call('ZADD', KEYS[1], redis.call('TIME')[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ${QUEUED_CALLS_KEPT})
return 0`);

/** How many locks one look goes through. The next look goes on behind them. */
const INDEXED_AT_ONCE = 1_000;

/**
 * The locks that may have queued calls, some at a time. Takes a lock out that has none, unless it was noted again in the last ten minutes:
 * a queued call may be on its way. The places behind such a lock move up then.
 *
 * KEYS: index
 * ARGV: from, without...
 *
 * The first one that it answers is the one at the place `from` of the index.
 *
 * Returns their names.
 */
const INDEXED = script(/* lua */ `
local from, now = tonumber(ARGV[1]), redis.call('TIME')[1]
local names = redis.call('ZRANGE', KEYS[1], from, from + ${INDEXED_AT_ONCE - 1})
for n = 2, #ARGV do
  local noted = redis.call('ZSCORE', KEYS[1], ARGV[n])
  if noted and now - noted > 600 then redis.call('ZREM', KEYS[1], ARGV[n]) end
end
return names`);

/** How long a process waits until it notes again that a lock has queued calls, ms: shorter than notes are kept. */
const NOTED = 60_000;
/** How many locks are remembered as noted. A caller can make up a name per call. */
const MAX_NOTED = 10_000;

/** The list of the locks that may have queued calls. In a Cluster it is on another node than they are. */
export class QueuedIndex {
  /** When a lock was noted to have queued calls, by its name, monotonic. */
  readonly #noted = new Map<string, number>();
  /** Notes that are under way, by the names of their locks. */
  readonly #noting = new Map<string, Promise<void>>();
  /** Locks without queued calls, as the last look has found. */
  #without: readonly string[] = [];
  /** Where in the index the next look begins. */
  #from = 0;

  constructor(
    private readonly connection: Connection & { readonly clock: Clock },
    private readonly key: string,
  ) {}

  /** Notes a lock before it gets a queued call: the list should name a lock too many rather than one too few. @param limit how long the caller waits, ms */
  async note(name: string, limit?: number): Promise<void> {
    if (this.connection.clock.monotonic() - (this.#noted.get(name) ?? -Infinity) < NOTED) return;
    // Many calls may come before the answer.
    let noting = this.#noting.get(name);
    if (noting === undefined) {
      noting = this.#note(name, limit).finally(() => this.#noting.delete(name));
      this.#noting.set(name, noting);
    }
    return noting;
  }

  async #note(name: string, limit: number | undefined): Promise<void> {
    const now = this.connection.clock.monotonic();
    await askScript(this.connection, INDEX, [[this.key], [name]], limit);
    if (this.#noted.size >= MAX_NOTED) this.#noted.clear();
    this.#noted.set(name, now);
  }

  /**
   * Notes a lock that has got its first queued call: the server may have lost its data since the lock was noted. Never rejects.
   *
   * @param since what was noted after this time is there, monotonic
   */
  async noteAgain(name: string, since: number): Promise<void> {
    if ((this.#noted.get(name) ?? since) >= since) return;
    this.#noted.delete(name);
    // The call is queued: the next one notes the lock, if this fails.
    await this.note(name).catch(() => undefined);
  }

  /** Some of the locks; the next time others. @param hasAny whether a lock has any queued calls */
  async some<T>(look: (name: string) => Promise<T>, hasAny: (found: T) => boolean): Promise<T[]> {
    const from = this.#from;
    const args = [String(from), ...this.#without];
    const names = (await askScript(this.connection, INDEXED, [[this.key], args])) as string[];
    this.#from = names.length < INDEXED_AT_ONCE ? 0 : from + INDEXED_AT_ONCE;
    const found = await Promise.all(names.map(look));
    this.#without = names.filter((_, i) => !hasAny(found[i] as T));
    return found;
  }
}
