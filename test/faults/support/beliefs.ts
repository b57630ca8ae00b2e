import type { ChildMessage } from '../../support/child.js';

/** What one instance has told of its elections, in order. */
export interface Account {
  readonly instance: string;
  readonly messages: readonly ChildMessage[];
  /** When it was killed, monotonic ms. */
  readonly killedAt?: number | undefined;
}

/** For how long an instance had reason to believe that it leads: monotonic ms. */
export interface Belief {
  readonly instance: string;
  readonly from: number;
  readonly to: number;
}

/**
 * The beliefs of one election. A belief begins with the election and ends with the revocation, with the last deadline
 * that the store has confirmed, or with the process, whichever comes first.
 */
export function beliefs(lock: string, accounts: readonly Account[]): Belief[] {
  return accounts.flatMap(({ instance, messages, killedAt = Infinity }) => {
    const found: Belief[] = [];
    let from: number | undefined;
    let deadline = -Infinity;
    const end = (at: number): void => {
      if (from !== undefined) found.push({ instance, from, to: Math.min(at, deadline, killedAt) });
      from = undefined;
    };
    for (const { type, at, ...facts } of messages) {
      if (facts['lock'] !== lock) continue;
      // A lease that was not renewed in time stays lost, whatever is confirmed for the next one.
      if (type === 'confirmed') deadline = Math.max(deadline, Number(facts['until']));
      if (type === 'elected') from = Number(at);
      if (type === 'revoked') end(Number(at));
    }
    end(Infinity);
    return found;
  });
}

/** Where two instances had reason to believe at the same time. */
export function overlaps(all: readonly Belief[]): { of: [string, string]; from: number; to: number }[] {
  return all.flatMap((a, index) =>
    all.slice(index + 1).flatMap((b) => {
      const [from, to] = [Math.max(a.from, b.from), Math.min(a.to, b.to)];
      return a.instance !== b.instance && from < to
        ? [{ of: [a.instance, b.instance] as [string, string], from, to }]
        : [];
    }),
  );
}
