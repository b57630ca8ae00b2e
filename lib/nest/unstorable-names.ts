import type { LockStore } from '../stores/lock-store.js';

/** A lock name that is known at the start, with the place where it was given. */
export type KnownName = readonly [place: string, name: string];

/** The problems of names that are valid, but that this store cannot keep. */
export function unstorableNames(store: LockStore, names: Iterable<KnownName>): string[] {
  const problems: string[] = [];
  for (const [place, name] of names) {
    try {
      const problem = store.nameProblem?.(name);
      if (problem === undefined) continue;
      problems.push(`${place}: name: "${name}" is a name that the store cannot keep: ${problem}`);
    } catch (error) {
      problems.push(
        `${place}: name: the store failed when it was asked whether it can keep "${name}": ${String(error)}`,
      );
    }
  }
  return problems;
}
