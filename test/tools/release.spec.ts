import { expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../support/machine.js';

const LINKS = { repository: 'r', homepage: 'h', bugs: 'b' };

test.each([
  ['v1.2.3', { version: '1.2.3', ...LINKS }, '## [1.2.3] - 2027-01-01', ''],
  ['v1.2.4', { version: '1.2.3', ...LINKS }, '## [1.2.3]', 'the tag is v1.2.4, and the version'],
  ['v1.2.3', { version: '1.2.3', ...LINKS }, '## [Unreleased]', 'no section "## [1.2.3]"'],
  ['v1.2.3', { version: '1.2.3', ...LINKS, bugs: undefined }, '## [1.2.3]', 'no "bugs"'],
])('%s of %j with the changelog %j', (tag, manifest, changelog, problem) => {
  const folder = mkdtempSync(join(tmpdir(), 'scheduler-lock-release-'));
  try {
    cpSync(join(projectRoot, 'tools/release.mjs'), join(folder, 'tools/release.mjs'));
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
    writeFileSync(join(folder, 'CHANGELOG.md'), `# Changelog\n\n${changelog}\n`);
    const { status, stderr } = spawnSync(process.execPath, ['tools/release.mjs', tag], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect(stderr).toContain(problem);
    expect(status).toBe(problem === '' ? 0 : 1);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
