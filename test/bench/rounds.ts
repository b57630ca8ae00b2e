import { compare } from './comparison.js';
import type { Session } from './session.js';
import { BEFORE, type Contestant, type Figures, type Sizes, type Task } from './task.js';

/** The figures of each contender, round by round. */
export type Measurements = ReadonlyMap<Contestant, readonly Figures[]>;

/** Measures all contenders, round after round: other load on the machine disturbs all of them. */
export async function measureAll(
  session: Session,
  rounds: number,
  measurement: Task['measurement'],
  given: readonly Contestant[],
  more: Sizes = {},
): Promise<Measurements> {
  const now = given.find((contender) => contender === 'service' || contender === 'runner') ?? 'idle';
  const contenders: readonly Contestant[] = session.compares ? [...given, BEFORE] : given;
  const title = [measurement, ...sizes(more)].join(' ');
  const all = new Map<Contestant, Figures[]>(contenders.map((contender) => [contender, []]));
  for (let round = 0; round < rounds; round++) {
    const found = await session.round(measurement, contenders, more);
    for (const [contender, figures] of found) all.get(contender)?.push(figures);
    process.stderr.write(`${title}: round ${round + 1} of ${rounds}\n`);
  }
  if (session.compares) session.comparisons.push(...compare(title, all.get(now), all.get(BEFORE)));
  return all;
}

/** One figure of a contender, round by round. */
export const column = (all: Measurements, contender: Contestant, figure: string): number[] =>
  (all.get(contender) ?? []).map((figures) => figures[figure] ?? NaN);

/** As words: `100 waiters`, `shared`. */
function sizes(more: Sizes): string[] {
  const given = Object.entries(more).filter(([, size]) => size !== false);
  return given.map(([name, size]) => (size === true ? name : `${size} ${name}`));
}
