export { ManualClock } from './manual-clock.js';
export { type PretendedLock, runUnlocked } from './run-unlocked.js';
export { MemoryLockStore } from '../stores/memory/memory-lock.store.js';
