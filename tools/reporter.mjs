// What the tests print: a line for each folder when it is done, failures at the end with the command that repeats each alone,
// and what was left out.
import { expected, fileOf, folderOf } from './folders.mjs';
import { filesOf, TIERS } from './tiers.mjs';

const tier = process.env['TIER'] ?? 'fast';
const seconds = (ms) => `${(ms / 1_000).toFixed(1)} s`;
const counted = (number, what) => `${number.toLocaleString('en')} ${what}${number === 1 ? '' : 's'}`;
const isBad = ({ numFailingTests, testExecError }) => numFailingTests > 0 || testExecError != null;

/** A reporter of Jest: https://jestjs.io/docs/configuration#reporters */
export default class Reporter {
  #folders = new Map();
  #began = performance.now();

  /** A file has ended. */
  onTestResult({ path }, result) {
    const name = folderOf(path);
    const folder = this.#folders.get(name) ?? { files: 0, tests: 0, time: 0, failed: 0 };
    this.#folders.set(name, folder);
    folder.files += 1;
    folder.tests += result.numPassingTests + result.numFailingTests;
    folder.time += result.perfStats.end - result.perfStats.start;
    if (isBad(result)) {
      folder.failed += 1;
      console.log(`FAILED  ${fileOf(path)}`);
    }
    if (folder.files === expected.get(name)) this.#tell(name, folder);
  }

  #tell(name, { files, tests, time, failed }) {
    const state = failed > 0 ? `${counted(failed, 'file')} FAILED` : 'ok';
    console.log(
      `${seconds(performance.now() - this.#began).padStart(8)}  ${name.padEnd(18)} ` +
        `${counted(files, 'file').padStart(9)}, ${counted(tests, 'test').padStart(11)} in ${seconds(time)}: ${state}`,
    );
  }

  onRunComplete(_contexts, results) {
    for (const result of results.testResults.filter(isBad)) tellFailure(result);
    const { numFailedTests, numPassedTests, numTotalTests, numPendingTests } = results;
    const numbers = [
      [numFailedTests, 'failed'],
      [numPendingTests, 'skipped'],
      [numPassedTests, 'passed'],
      [numTotalTests, 'total'],
    ];
    const shown = numbers.filter(([number, what]) => number > 0 || what === 'total');
    const time = seconds(performance.now() - this.#began);
    console.log(`\nTests: ${shown.map((pair) => pair.join(' ')).join(', ')}`);
    console.log(`${counted(results.numTotalTestSuites, 'file')} in ${time}. ${leftOut()}`);
    if (results.wasInterrupted) console.log('Interrupted: not all files have run.');
  }
}

/** What a file that failed has said, and how to repeat each of its tests. */
function tellFailure({ testFilePath, failureMessage, testResults, console: lines = [] }) {
  const file = fileOf(testFilePath);
  console.log(`\n${'─'.repeat(100)}\n${file}\n${failureMessage ?? ''}`);
  for (const { type, message } of lines) console.log(`  console.${type}: ${message}`);
  const failed = testResults.filter(({ status }) => status === 'failed');
  if (failed.length === 0) console.log(`Again: npm test -- ${file}`);
  for (const { fullName } of failed) console.log(`Again: npm test -- ${file} -t ${quoted(fullName)}`);
}

/** For a shell; Jest reads it as a regular expression. */
const quoted = (name) => `'${name.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&').replaceAll("'", "'\\''")}'`;

function leftOut() {
  if (tier === 'any') return '';
  const others = Object.entries(TIERS).filter(([name]) => name !== tier);
  const parts = others.map(([name, { what }]) => `${what} (${counted(filesOf(name).length, 'file')})`);
  return `Left out: ${parts.join('; ')}. All: npm run test:all`;
}
