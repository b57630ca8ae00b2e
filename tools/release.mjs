// What has to be true of this tree before it is published: node tools/release.mjs v1.2.3
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [tag] = process.argv.slice(2);
const { version, ...manifest } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');

const wrong = [
  tag !== `v${version}` && `the tag is ${tag ?? 'not given'}, and the version in package.json ${version}`,
  !changelog.includes(`\n## [${version}]`) && `CHANGELOG.md has no section "## [${version}]"`,
  // Links on the package's page lead there, and npm compares the repository with where the package was built.
  ...['repository', 'homepage', 'bugs'].map((key) => !manifest[key] && `package.json has no "${key}"`),
].filter(Boolean);
for (const problem of wrong) console.error(`Not to be published: ${problem}.`);
if (wrong.length === 0) console.log(`${version} may be published.`);
process.exitCode = wrong.length === 0 ? 0 : 1;
