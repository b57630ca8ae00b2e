import { checkHistory } from './checker/check.js';
import { reportLines } from './checker/report.js';
import { readHistory } from './history.js';

/* node .build/test/chaos/check.js <folder of a history>: judges a chaos run again. Exits with 1 for a violation. */
const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Give the folder of a history');
const findings = checkHistory(readHistory(folder));
console.log(reportLines(findings).join('\n'));
process.exitCode = findings.some(({ violations }) => violations.length > 0) ? 1 : 0;
