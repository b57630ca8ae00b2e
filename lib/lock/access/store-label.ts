import type { LockStore } from '../../contract/lock-store.js';

/** What the log calls a store: its label, or the name of its class. */
export function storeLabel(store: LockStore): string {
  const { label, constructor: { name } = Object } = store;
  return label ?? (name === '' || name === Object.name ? 'a store without a name' : name);
}
