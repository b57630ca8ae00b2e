import { randomUUID } from 'node:crypto';

/**
 * A new UUID of version 4, also in processes that were cloned from one snapshot: Node draws the numbers of 128 UUIDs at once, and clones
 * would draw the same ones next. A token proves who has a lease, and a version who wrote a document last: no two may ever be the same.
 *
 * Costs some 2 µs. See https://nodejs.org/api/crypto.html#cryptorandomuuidoptions
 */
export const newId = (): string => randomUUID({ disableEntropyCache: true });
