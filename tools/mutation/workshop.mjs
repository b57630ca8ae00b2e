import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apply } from './mutants.mjs';

/** How often a mutant is tried whose tests fail without it as well: the machine may be busy. */
const TRIES = 3;
/** How long tests that have passed without a mutant are believed to do so, milliseconds. */
const BELIEVED = 120_000;

/** A copy of the checkout, where one mutant at a time is tried. */
export class Workshop {
  #folder = mkdtempSync(join(tmpdir(), 'mutants-'));
  /** Process group of the tests that are running. */
  #running;
  /** The tests that noticed the last mutant of a file are likely to notice the next one. */
  #keen = new Map();
  /** When tests last passed without a mutant. */
  #sound = new Map();

  constructor(root) {
    const listed = execFileSync('git', ['ls-files', '-coz', '--exclude-standard'], {
      cwd: root,
      encoding: 'utf8',
    });
    for (const path of listed.split('\0').filter((path) => path !== '' && existsSync(join(root, path))))
      cpSync(join(root, path), join(this.#folder, path));
    for (const path of ['node_modules', 'dist', '.cache'])
      if (existsSync(join(root, path))) symlinkSync(join(root, path), join(this.#folder, path));
    process.once('exit', () => this.close());
  }

  close() {
    this.#kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /**
   * @param limit seconds for all tests
   * @returns 'killed', 'timeout', 'survived', or 'unclear' if the tests fail without the mutant as well
   */
  async fateOf(mutant, text, stages, limit) {
    for (let tries = 0; tries < TRIES; tries++) {
      const { fate, by } = await this.#noticed(mutant, text, stages, limit);
      if (fate === 'survived' || (await this.#passes(by, limit))) return fate;
    }
    return 'unclear';
  }

  /** Whether tests pass without a mutant. */
  async #passes(patterns, limit) {
    const key = patterns.join(' ');
    const now = performance.now();
    if (now < (this.#sound.get(key) ?? -Infinity) + BELIEVED) return true;
    const { passed } = await this.test(patterns, now + limit * 1_000);
    if (passed) this.#sound.set(key, performance.now());
    return passed;
  }

  /** @returns `by`: the tests that noticed the mutant */
  async #noticed(mutant, text, stages, limit) {
    const path = join(this.#folder, mutant.file);
    const deadline = performance.now() + limit * 1_000;
    const keen = this.#keen.get(mutant.file);
    writeFileSync(path, apply(mutant, text));
    try {
      for (const stage of keen === undefined ? stages : [[keen], ...stages]) {
        const { passed, late, failed } = await this.test(stage, deadline);
        if (late) return { fate: 'timeout', by: stage };
        if (passed) continue;
        if (failed === undefined) return { fate: 'killed', by: stage };
        this.#keen.set(mutant.file, failed);
        return { fate: 'killed', by: [failed] };
      }
      return { fate: 'survived', by: [] };
    } finally {
      writeFileSync(path, text);
    }
  }

  /** Runs tests in one process, up to the first file that fails. */
  async test(patterns, deadline = Infinity) {
    const report = join(this.#folder, 'report.json');
    rmSync(report, { force: true });
    const args = ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js', ...patterns];
    const quick = ['--runInBand', '--bail', '--silent', '--testTimeout', '20000', '--watchman=false'];
    const output = [`--json`, `--outputFile=${report}`, '--cacheDirectory', join(this.#folder, '.jest')];
    const child = spawn(process.execPath, [...args, ...quick, ...output], {
      cwd: this.#folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      // A group of its own: servers that the tests have started end with it.
      detached: true,
    });
    this.#running = child.pid;
    const said = [];
    child.stderr.on('data', (chunk) => said.push(chunk));
    let late = false;
    const stop = () => {
      late = true;
      this.#kill();
    };
    const timer =
      deadline === Infinity ? undefined : setTimeout(stop, Math.max(0, deadline - performance.now()));
    const code = await new Promise((resolve) => child.on('close', resolve));
    clearTimeout(timer);
    this.#kill();
    return { passed: code === 0, late, failed: failedIn(report, this.#folder), output: said.join('') };
  }

  #kill() {
    if (this.#running === undefined) return;
    try {
      process.kill(-this.#running, 'SIGKILL');
    } catch {
      // All of them have ended.
    }
    this.#running = undefined;
  }
}

/** The file of the first failure, if Jest came to write a report. */
function failedIn(report, folder) {
  if (!existsSync(report)) return undefined;
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
  const path = testResults.find(({ status }) => status === 'failed')?.name;
  return path?.slice(path.indexOf(folder) + folder.length + 1);
}
