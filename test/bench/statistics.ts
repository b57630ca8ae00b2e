import type { Figures } from './task.js';

/** The middle of the values, or the mean of the two in the middle; `NaN` of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}

/**
 * The median of `dividends[i] / divisors[i]`. Both of a pair come from one round, minutes may lie between two
 * rounds: what else the machine does cancels out within a pair and not between them.
 */
export function medianRatio(dividends: readonly number[], divisors: readonly number[]): number {
  return median(dividends.map((dividend, round) => dividend / (divisors[round] ?? NaN)));
}

/** The mean of each figure: of turns in one process, where a dear one, with its garbage collection, has to count. */
export function means(figures: readonly Figures[]): Figures {
  const sums: Figures = {};
  for (const each of figures) {
    for (const [name, value] of Object.entries(each)) sums[name] = (sums[name] ?? 0) + value / figures.length;
  }
  return sums;
}

/** Three significant digits, no exponent; `-` for no number. */
export function format(value: number, unit = ''): string {
  if (!Number.isFinite(value)) return '-';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)}${unit === '' ? '' : ` ${unit}`}`;
}
