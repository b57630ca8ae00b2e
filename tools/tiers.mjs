import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The tiers of the tests: how their files end, and what is in there. Each file of tests is in one of them, by its name. */
export const TIERS = {
  fast: { ending: 'spec', what: 'each promise of the README once' },
  full: { ending: 'full', what: 'databases, faults, models, the packed package' },
  slow: { ending: 'slow', what: 'broken libraries, set-ups of users' },
};

/** Where tests are. Those of the applications of test/package run in there. */
export const ROOTS = ['test', 'sample-app/src'];
export const LEFT_ALONE = 'test/package/fixtures/';

/** What Jest looks for. */
export const patternsOf = (tier) =>
  Object.entries(TIERS)
    .filter(([name]) => tier === 'any' || name === tier)
    .map(([, { ending }]) => `**/*.${ending}.ts`);

/** The files of a tier, relative to the project. */
export const filesOf = (tier) =>
  ROOTS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((file) => `${folder}/${String(file)}`),
  )
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith(`.${TIERS[tier].ending}.ts`) && !file.startsWith(LEFT_ALONE));
