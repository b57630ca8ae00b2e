import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { builtScript, projectRoot } from '../support/project.js';
import type { CheckName } from './checker/check.js';

/** One way to break the library, and the check that has to notice. */
export interface Sabotage {
  /** The built file that is changed. */
  readonly file: string;
  readonly search: string | RegExp;
  readonly replace: string;
  readonly caughtBy: CheckName;
  /** The faults under which it shows. */
  readonly only: readonly string[];
  /** A seed with which it shows soon. */
  readonly seed: number;
}

/** Each takes away one thing that the library rests on. */
export const SABOTAGES: Readonly<Record<string, Sabotage>> = {
  'no-tick-check': {
    file: 'stores/redis/scripts.js',
    search: 'if last and tonumber(last) >= tonumber(tick) and not again then',
    replace: 'if false then',
    caughtBy: 'duplicates',
    only: ['cut'],
    seed: 3,
  },
  'release-without-token': {
    file: 'stores/redis/scripts.js',
    // In the script of the release, which is the one that has `stay`: what is there counts as its own.
    search: /(, stay = .*\nlocal current = redis\.call\('GET', lock\))/,
    replace: '$1 and token',
    caughtBy: 'overlaps',
    only: ['pause'],
    seed: 3,
  },
  'deadline-from-nowhere': {
    file: 'lease/lease.js',
    search: /return sent \+ ttl - \(/,
    replace: 'return sent + 3 * ttl - (',
    caughtBy: 'overlaps',
    only: ['refuse', 'black-hole', 'pause'],
    seed: 3,
  },
  'fencing-token-stands-still': {
    file: 'stores/redis/scripts.js',
    search: /local fence = math\.max\(.*/,
    replace: 'local fence = 1',
    caughtBy: 'fencing',
    only: ['cut'],
    seed: 3,
  },
  'release-that-frees-nothing': {
    file: 'stores/redis/scripts.js',
    search: /redis\.call\('DEL', lock\)/g,
    replace: "redis.call('GET', lock)",
    caughtBy: 'unrun',
    only: ['cut'],
    seed: 3,
  },
  'renewal-that-outlives-its-ttl': {
    file: 'stores/redis/scripts.js',
    search: "if current then redis.call('PEXPIRE', lock, ttl)",
    replace: "if current then redis.call('PEXPIRE', lock, ttl * 10)",
    caughtBy: 'take-over',
    only: ['kill'],
    seed: 328,
  },
  'no-heartbeat': {
    file: 'lease/lease.js',
    search: /sent \+ (this\.)?timing\.heartbeat/g,
    replace: 'Infinity',
    caughtBy: 'losses',
    only: ['forget-scripts'],
    seed: 3,
  },
};

/**
 * A copy of the built package, broken in one way, with the compiled chaos run beside it: the run finds its library by
 * the package's name, which is that of the nearest package.json.
 *
 * @returns the folder of the compiled chaos run that loads it
 * @throws if the library has no such place any more: then nothing would be broken, and nothing proven
 */
export function sabotage(name: string): string {
  const how = SABOTAGES[name];
  if (how === undefined) throw new Error(`--sabotage ${name}: there is ${Object.keys(SABOTAGES).join(', ')}`);
  const folder = join(projectRoot, '.build', 'sabotage', `${name}-${process.pid}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(join(projectRoot, 'dist'), join(folder, 'dist'), { recursive: true });
  cpSync(join(projectRoot, 'package.json'), join(folder, 'package.json'));
  for (const part of ['chaos', 'support'])
    cpSync(builtScript(`test/${part}`), join(folder, 'test', part), { recursive: true });
  const file = join(folder, 'dist', how.file);
  const text = readFileSync(file, 'utf8');
  const broken = text.replace(how.search, how.replace);
  if (broken === text)
    throw new Error(`--sabotage ${name}: ${how.file} has nothing like ${String(how.search)}`);
  writeFileSync(file, broken);
  return join(folder, 'test', 'chaos');
}
