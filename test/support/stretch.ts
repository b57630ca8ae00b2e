import { readFileSync } from 'node:fs';

/** Where Linux counts the time for which the main thread of this process ran: its number is that of the process. */
const MAIN_THREAD = `/proc/self/task/${process.pid}/schedstat`;

/**
 * For how long the main thread has run, ms: without what other programs, and the threads that compile and collect garbage beside it, take.
 * Linux counts it at each tick of its scheduler, so it may be some 4 ms late. Where no such figure is to be had, the time that has passed.
 */
function mainThreadTime(): number {
  try {
    return Number(readFileSync(MAIN_THREAD, 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return performance.now();
  }
}

/** The longest stretch for which nothing else had its turn in the event loop, ms, while something is done. */
export async function longestStretch(work: () => Promise<unknown>): Promise<number> {
  let [longest, last, isOver] = [0, mainThreadTime(), false];
  const look = (): void => {
    const now = mainThreadTime();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isOver = true;
  look();
  return longest;
}
