import { format, median, medianRatio } from './statistics.js';
import type { Figures } from './task.js';

/** One figure of one measurement, of this checkout and of another one. */
export interface Comparison {
  readonly measurement: string;
  readonly figure: string;
  readonly now: number;
  readonly before: number;
  /** The median of `now / before` over the rounds: below 1, it has become cheaper. */
  readonly ratio: number;
}

/** Every figure that both have found, round by round. */
export function compare(
  measurement: string,
  now: readonly Figures[] = [],
  before: readonly Figures[] = [],
): Comparison[] {
  return Object.keys(now[0] ?? {}).map((figure) => {
    const [own, others] = [now, before].map((rounds) => rounds.map((figures) => figures[figure] ?? NaN));
    const [ours = [], theirs = []] = [own, others];
    return {
      measurement,
      figure,
      now: median(ours),
      before: median(theirs),
      ratio: medianRatio(ours, theirs),
    };
  });
}

/** A Markdown table of them. */
export function comparisonTable(comparisons: readonly Comparison[]): string {
  const lines = comparisons.map(({ measurement, figure, now, before, ratio }) =>
    [measurement, figure, format(before), format(now), format(ratio)].join(' | '),
  );
  return ['measurement | figure | before | now | now / before', '--- | --- | --- | --- | ---', ...lines]
    .map((line) => `| ${line} |`)
    .join('\n');
}
