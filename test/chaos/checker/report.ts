import type { Finding } from './finding.js';

/** A check with this many violations does not list them all. */
const MOST = 10;

/** The findings as a table, violations below. */
export function reportLines(findings: readonly Finding[]): string[] {
  const rows = findings.flatMap(({ check, violations, counts }) => [
    [check, violations.length === 0 ? 'ok' : `${violations.length} VIOLATIONS`] as const,
    ...Object.entries(counts).map(([what, count]) => [`  ${what}`, String(count)] as const),
  ]);
  const width = Math.max(...rows.map(([what]) => what.length));
  return [
    ...rows.map(([what, value]) => `${what.padEnd(width)}  ${value}`),
    ...findings.flatMap(({ check, violations }) =>
      violations.length === 0
        ? []
        : [
            '',
            `${check}:`,
            ...violations.slice(0, MOST).map((violation) => `  - ${violation}`),
            ...(violations.length > MOST ? [`  … and ${violations.length - MOST} more`] : []),
          ],
    ),
  ];
}
