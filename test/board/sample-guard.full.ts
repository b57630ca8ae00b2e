import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as common from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import ts from 'typescript';
import { MemoryLockStore } from '../../lib/index.js';
import { projectRoot } from '../support/machine.js';
import { PLATFORMS, type Site, site } from './support/site.js';

/** The guard of docs/observe/board.md, as it stands there, for this password. */
function sampleGuard(password?: string): common.Type<common.CanActivate> {
  const [, text = ''] =
    /^```ts\n(.*?)^@Module/ms.exec(readFileSync(join(projectRoot, 'docs/observe/board.md'), 'utf8')) ?? [];
  const { outputText } = ts.transpileModule(`${text}\nexport { PasswordGuard };`, {
    compilerOptions: {
      module: ts.ModuleKind.CommonJS,
      target: ts.ScriptTarget.ES2022,
      experimentalDecorators: true,
    },
  });
  const found: { PasswordGuard?: common.Type<common.CanActivate> } = {};
  // eslint-disable-next-line typescript/no-implied-eval -- it is our own page
  new Function('require', 'exports', 'process', outputText)(() => common, found, {
    env: { BOARD_PASSWORD: password },
  });
  if (found.PasswordGuard === undefined) throw new Error('docs/observe/board.md has no PasswordGuard');
  return found.PasswordGuard;
}

const header = (user: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(user).toString('base64')}`,
});

describe.each(PLATFORMS)("the sample's guard on %s", (platform) => {
  let place: Site;
  let open: Site;
  beforeAll(async () => {
    const at = (guard: common.Type<common.CanActivate>): Promise<Site> =>
      site({ platform, store: new MemoryLockStore(), board: { path: 'jobs', guards: [guard] } });
    place = await at(sampleGuard('correct horse'));
    open = await at(sampleGuard());
  });
  afterAll(async () => {
    await place.close();
    await open.close();
  });

  test('makes a browser ask for the password, and lets nobody else in', async () => {
    const asked = await fetch(place.url);
    expect(asked.headers.get('www-authenticate')).toBe('Basic');
    const answers = [asked];
    for (const user of ['admin:wrong', 'admin:', 'admin:undefined', 'admin:correct horse'])
      answers.push(await fetch(place.url, { headers: header(user) }));
    for (const answer of answers) await answer.text();
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 200]);
  });

  test('lets nobody in where no password is set', async () => {
    for (const user of ['admin:', 'admin:undefined']) {
      const answer = await fetch(open.url, { headers: header(user) });
      await answer.text();
      expect(answer.status).toBe(401);
    }
  });
});
