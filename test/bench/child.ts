import { createInterface } from 'node:readline';
import { measureBlock } from './cases/block.js';
import { takeAtOnce, takeCycles } from './cases/cycles.js';
import { measureQueuedCalls } from './cases/queued-calls.js';
import { takeFullHour } from './cases/full-hour.js';
import { measureHandOff } from './cases/hand-off.js';
import { measureHold } from './cases/hold.js';
import { takeRefused } from './cases/refused.js';
import { measureSearch } from './cases/search.js';
import { measureStart } from './cases/start.js';
import { measureTicks } from './cases/ticks.js';
import { CLOSE, type Figures, isInTurns, type Task, type TurnsMeasurement, type TurnTaker } from './task.js';

/*
 * One measurement in a process of its own, so that the next one inherits no compiled code, garbage or timers. It writes its
 * figures to its output, a line of JSON each. A measurement in turns reads its input: each line is a command to take a turn, the
 * last one to close.
 */
type Whole = Exclude<Task['measurement'], TurnsMeasurement>;

const TURNS: Record<TurnsMeasurement, (task: Task) => Promise<TurnTaker>> = {
  cycles: takeCycles,
  'at-once': takeAtOnce,
  refused: takeRefused,
  'full-hour': takeFullHour,
};

const WHOLE: Record<Whole, (task: Task) => Promise<Figures>> = {
  hold: measureHold,
  'hand-off': measureHandOff,
  'queued-calls': measureQueuedCalls,
  block: measureBlock,
  start: measureStart,
  ticks: measureTicks,
  search: measureSearch,
};

const task = JSON.parse(process.argv[2] ?? '') as Task;
const { measurement } = task;
if (isInTurns(measurement)) await takeTurns(await TURNS[measurement](task));
else say(await WHOLE[measurement](task));
process.stdout.write('', () => process.exit(0));

async function takeTurns(taker: TurnTaker): Promise<void> {
  say({ turns: taker.turns });
  for await (const command of createInterface({ input: process.stdin })) {
    if (command === CLOSE) return say(await taker.close());
    say(await taker.turn(command));
  }
  throw new Error('Nobody waits for the figures any more');
}

function say(figures: Figures): void {
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}
