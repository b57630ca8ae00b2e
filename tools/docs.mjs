// The documents as a site with a search of its own, from the very pages that are in docs/. A link to nowhere fails.
//
// node tools/docs.mjs          builds it into .build/site/dist, and writes llms.txt anew: `npm run docs`
// node tools/docs.mjs dev      shows it on a port, and follows README.md and docs/ when it is started again
//
// VitePress comes by npx, and is no dependency of this project: it would add a quarter to what `npm ci` installs.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { llms, root, sections } from './pages.mjs';

const VITEPRESS = 'vitepress@1.6.4';
const site = join(root, '.build/site');
const settings = join(site, '.vitepress');

const [command = 'build'] = process.argv.slice(2);
writeFileSync(join(root, 'llms.txt'), llms());
rmSync(site, { recursive: true, force: true });
mkdirSync(settings, { recursive: true });
for (const path of ['README.md', 'SECURITY.md', 'docs'])
  cpSync(join(root, path), join(site, path), { recursive: true });
cpSync(join(root, 'tools/site/config.mjs'), join(settings, 'config.mjs'));
writeFileSync(join(settings, 'sections.json'), JSON.stringify(sections()));
// Else the nearest package.json is that of the project.
writeFileSync(join(site, 'package.json'), '{ "private": true, "type": "module" }');
const { status } = spawnSync('npx', ['--yes', VITEPRESS, command], { cwd: site, stdio: 'inherit' });
process.exitCode = status ?? 1;
