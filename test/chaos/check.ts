import { checkHistory } from './checker/check.js';
import { reportLines } from './checker/report.js';
import { type Line, readHistory } from './history.js';

/*
 * node .build/test/chaos/check.js <folder of a history> [<job or lock>]
 *
 * Judges a chaos run again, and exits with 1 for a violation. With a job or a lock, it shows all events of that
 * one, with the faults, in order.
 */
const [folder, subject] = process.argv.slice(2);
if (folder === undefined) throw new Error('Give the folder of a history');
const lines = readHistory(folder);
if (subject === undefined) {
  const findings = checkHistory(lines);
  console.log(reportLines(findings).join('\n'));
  process.exitCode = findings.some(({ violations }) => violations.length > 0) ? 1 : 0;
} else {
  for (const line of lines) if (concerns(line, subject)) console.log(JSON.stringify(line));
}

function concerns(line: Line, about: string): boolean {
  if ('job' in line && line.job === about) return true;
  return 'lock' in line ? line.lock === about : !('job' in line);
}
