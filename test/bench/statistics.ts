import type { Figures } from './task.js';

/** The middle of the values, or the mean of the two in the middle; `NaN` of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}

/** The smallest value that so large a part of the values does not exceed; `NaN` of none. */
export function quantile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(part * values.length) - 1] ?? NaN;
}

/**
 * The median of `dividends[i] / divisors[i]`. Both values of a pair come from one round, but minutes may lie between
 * two rounds. So other load on the machine cancels out within a pair, but not between pairs.
 */
export function medianRatio(dividends: readonly number[], divisors: readonly number[]): number {
  return median(dividends.map((dividend, round) => dividend / (divisors[round] ?? NaN)));
}

/**
 * The mean of each figure over the turns of one process: an expensive turn, with its garbage collection, has to
 * count.
 */
export function means(figures: readonly Figures[]): Figures {
  const sums: Figures = {};
  for (const each of figures) {
    for (const [name, value] of Object.entries(each)) sums[name] = (sums[name] ?? 0) + value / figures.length;
  }
  return sums;
}

/** Neighbours of which the later one has the smaller number: who was served before somebody that had asked earlier. */
export function inversions(order: readonly number[]): number {
  return order.filter((number, i) => i > 0 && number < (order[i - 1] ?? NaN)).length;
}

/** Three significant digits, no exponent; `-` for no number. */
export function format(value: number, unit = ''): string {
  if (!Number.isFinite(value)) return '-';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)}${unit === '' ? '' : ` ${unit}`}`;
}
