/**
 * A length of time: a number of milliseconds, or a number with a unit, such as `'500ms'`, `'30s'`, `'10m'`, `'2h'` or `'1d'`.
 * Fractions are allowed (`'1.5h'`); the result is rounded to whole milliseconds.
 *
 * A plain `string` does not have this type; cast it, and the application checks it at start-up. From a configuration:
 * `config.getOrThrow<Duration>('TTL')` or `process.env.TTL as Duration`. In an object of your own: `{ ttl: '10m' } as const`, or
 * `satisfies LockOptions`.
 */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;

/** Milliseconds of each unit. */
export const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Reads a {@link Duration}: whole milliseconds, or `undefined` if `value` is not a positive, finite duration. */
export function parseDuration(value: unknown): number | undefined {
  let milliseconds = Number.NaN;
  if (typeof value === 'number') {
    milliseconds = value;
  } else if (typeof value === 'string') {
    const match = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*$/.exec(value);
    if (match) milliseconds = Number(match[1]) * (UNITS[match[2] ?? ''] ?? Number.NaN);
  }
  const whole = Math.round(milliseconds);
  return Number.isFinite(milliseconds) && whole >= 1 ? whole : undefined;
}

/** Units as people read them, the largest in front. */
const SIZES: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
];

/** Formats milliseconds for people: `340 ms`, `2.5 s`, `10 min`. */
export function formatDuration(milliseconds: number): string {
  const [unit, size] = SIZES.find(([, size]) => milliseconds >= size) ?? ['ms', 1];
  return `${Number((milliseconds / size).toFixed(unit === 'ms' ? 0 : 1))} ${unit}`;
}
