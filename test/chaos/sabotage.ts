import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { builtScript, projectRoot } from '../support/machine.js';
import { CORE_SABOTAGES } from './sabotages/core.js';
import { MYSQL_SABOTAGES } from './sabotages/mysql.js';
import { POSTGRES_SABOTAGES } from './sabotages/postgres.js';
import { REDIS_SABOTAGES } from './sabotages/redis.js';
import type { Sabotage, Sabotages } from './sabotages/sabotage.js';

/** The sabotages of each store. */
export const STORE_SABOTAGES: Readonly<Record<string, Sabotages>> = {
  redis: REDIS_SABOTAGES,
  postgres: POSTGRES_SABOTAGES,
  mysql: MYSQL_SABOTAGES,
};

/** @throws for a name that this store does not have; the message lists the known ones */
export function sabotageOf(name: string, store: string): Sabotage {
  const known = { ...CORE_SABOTAGES, ...STORE_SABOTAGES[store] };
  const found = known[name];
  if (found === undefined)
    throw new Error(`--sabotage ${name}: with ${store} there is ${Object.keys(known).join(', ')}`);
  return found;
}

/**
 * Makes a copy of the built package, broken in one way, with the compiled chaos run beside it. The run finds its
 * library by the package's name, in the nearest package.json.
 *
 * @returns the folder of the compiled chaos run that loads it
 * @throws if the library has no such place any more: then nothing would be broken, and nothing proven
 */
export function sabotage(name: string, how: Sabotage): string {
  const folder = join(projectRoot, '.build', 'sabotage', `${name}-${process.pid}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(join(projectRoot, 'dist'), join(folder, 'dist'), { recursive: true });
  cpSync(join(projectRoot, 'package.json'), join(folder, 'package.json'));
  for (const part of ['chaos', 'support'])
    cpSync(builtScript(`test/${part}`), join(folder, 'test', part), { recursive: true });
  const path = join(folder, 'dist', how.file);
  writeFileSync(path, broken(name, how, readFileSync(path, 'utf8')));
  return join(folder, 'test', 'chaos');
}

/**
 * The text of a built file, broken.
 *
 * @throws if it has no such place
 */
export function broken(name: string, { file, search, replace }: Sabotage, text: string): string {
  // A function, as `$` has a meaning in a replacement text.
  const result =
    typeof search === 'string' ? text.replace(search, () => replace) : text.replace(search, replace);
  if (result === text) throw new Error(`--sabotage ${name}: ${file} has nothing like ${String(search)}`);
  return result;
}
