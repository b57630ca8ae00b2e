import { afterAll } from '@jest/globals';
import { type Profiler, Session } from 'node:inspector/promises';

// To be imported first: blocks are counted in functions that are compiled from now on.
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
afterAll(async () => {
  await session.post('Profiler.stopPreciseCoverage');
  session.disconnect();
});

/**
 * How often the blocks of the files in lib/lock were run meanwhile, all added up: a measure of work that a busy machine does
 * not change.
 */
export async function countWork(work: () => Promise<void>): Promise<number> {
  await session.post('Profiler.takePreciseCoverage');
  await work();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return result.filter(({ url }) => /\/lib\/lock\//.test(url)).reduce((sum, file) => sum + runsOf(file), 0);
}

function runsOf({ functions }: Profiler.ScriptCoverage): number {
  return functions.flatMap(({ ranges }) => ranges).reduce((sum, { count }) => sum + count, 0);
}
