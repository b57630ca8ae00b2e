import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { findOnPath, projectRoot } from '../support/machine.js';
import { runProgram } from '../support/program.js';

/** How long Maven may take to fetch all and to compile, ms. */
const LIMIT = 240_000;
/** How much of what it says an error shows, characters. */
const SHOWN = 1_500;
const NAME = 'spring-side-';
/** No jar and no tests are needed: each plugin would be another download. */
const GOALS = ['compiler:compile', 'dependency:copy-dependencies'];

/** A program of Java, as arguments of `java`. */
export interface JavaProgram {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * The program of test/shedlock/java, which Maven builds once for each state of its sources. What Maven fetches stays in
 * `.cache/maven`. A rename puts the result in place, so several processes may call this at once.
 *
 * @throws if there is no Java or no Maven, or if Maven cannot build it, with what it said
 */
export async function springProgram(): Promise<JavaProgram> {
  const [java, maven] = await Promise.all(['java', 'mvn'].map(findOnPath));
  if (java === undefined || maven === undefined)
    throw new Error(`there is no ${java === undefined ? 'java' : 'mvn'} on the PATH`);
  const sources = join(projectRoot, 'test/shedlock/java');
  const base = join(projectRoot, '.cache', 'maven');
  const target = join(base, NAME + (await hashOf(sources)));
  if ((await stat(target).catch(() => undefined)) === undefined) await build(maven, sources, base, target);
  const path = ['target/classes', 'target/dependency/*'].map((part) => join(target, part)).join(':');
  return { command: java, args: ['-cp', path, 'locks.Main'] };
}

async function hashOf(folder: string): Promise<string> {
  const hash = createHash('sha256');
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  for (const file of files.sort()) hash.update(file.slice(folder.length)).update(await readFile(file));
  return hash.digest('hex').slice(0, 12);
}

async function build(maven: string, sources: string, base: string, target: string): Promise<void> {
  await mkdir(base, { recursive: true });
  const work = await mkdtemp(join(base, 'building-'));
  try {
    await cp(sources, work, { recursive: true });
    process.stderr.write(`Building ShedLock's side in ${target}: the first time, Maven fetches some 40 MB\n`);
    const options = ['-B', '-ntp', `-Dmaven.repo.local=${join(base, 'repository')}`];
    const { code, output } = await runProgram(maven, [...options, ...GOALS], { cwd: work, limit: LIMIT });
    if (code !== 0) throw new Error(`Maven cannot build test/shedlock/java: ${errorsIn(output)}`);
    // Those of other sources are of no use any more.
    const old = (await readdir(base)).filter((name) => name.startsWith(NAME));
    for (const name of old)
      if (join(base, name) !== target) await rm(join(base, name), { recursive: true, force: true });
    await rename(work, target).catch(async (error: unknown) => {
      // Another process was faster.
      if ((await stat(target).catch(() => undefined)) === undefined) throw error;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function errorsIn(output: string): string {
  const errors = output.split('\n').filter((line) => line.startsWith('[ERROR]'));
  return (errors.join('\n') || output.trim()).slice(0, SHOWN);
}
