import { measureBlock } from './cases/block.js';
import { measureAtOnce, measureCycles } from './cases/cycles.js';
import { measureHold } from './cases/hold.js';
import { measureRefused } from './cases/refused.js';
import { measureSearch } from './cases/search.js';
import { measureStart } from './cases/start.js';
import { measureTicks } from './cases/ticks.js';
import type { Figures, Task } from './task.js';

/*
 * One measurement in a process of its own, which the next one cannot inherit compiled code, garbage or timers from.
 */
const MEASUREMENTS: Record<Task['measurement'], (task: Task) => Promise<Figures>> = {
  cycles: measureCycles,
  'at-once': measureAtOnce,
  refused: measureRefused,
  hold: measureHold,
  block: measureBlock,
  start: measureStart,
  ticks: measureTicks,
  search: measureSearch,
};

const task = JSON.parse(process.argv[2] ?? '') as Task;
const figures = await MEASUREMENTS[task.measurement](task);
process.stdout.write(`${JSON.stringify(figures)}\n`, () => process.exit(0));
