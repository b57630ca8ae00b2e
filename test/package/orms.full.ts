import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { GUARDED, useGuarded } from '../integration/support/guarded.js';
import type { ChildMessage } from '../support/child.js';
import { runToSuccess } from './support/tarball.js';
import { FreshApp } from './support/fresh-app.js';

// npm, a compiler and an application, on a machine that does other things as well.
jest.setTimeout(600_000);

const LIBRARIES = [
  'the driver',
  'TypeORM',
  "TypeORM's QueryRunner",
  'Knex',
  'Kysely',
  'Drizzle',
  'MikroORM',
  'Prisma',
];

interface Ended {
  readonly type: string;
  readonly tick: number;
  readonly attempt: number;
  readonly outcome: string;
}

let app: FreshApp;

beforeAll(async () => {
  app = await FreshApp.install('orms');
  await app.compile();
  // It asks for a program that only migrations need, and that npm does not have.
  const env = { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath };
  for (const schema of ['postgresql', 'mysql'])
    await runToSuccess(
      process.execPath,
      [`${app.folder}/node_modules/prisma/build/index.js`, 'generate', '--schema', `prisma/${schema}.prisma`],
      app.folder,
      env,
    );
});

afterAll(() => app?.remove());

describe.each(GUARDED.map((each) => [each.database.name, each] as const))('on %s', (_name, guarded) => {
  const used = useGuarded(guarded);

  test.each(LIBRARIES)(
    'with %s the work of a tick is committed once, though its first attempt fails after its commit and is tried again',
    async (library) => {
      const child = await app.start('dist/main.js', {
        LIBRARY: library,
        URL: used.url,
        DIALECT: guarded.dialect,
        TABLE: used.table,
      });
      try {
        const { said } = await child.next<{ type: string; said: string }>('outside', 120_000);
        expect(said).toMatch(/^SCHEDULER_LOCK_CONFIG .*no open transaction/s);
        const again = (message: ChildMessage): boolean => message['attempt'] === 2;
        const { tick, outcome } = await child.next<Ended>(again, 60_000);
        expect(outcome).toBe('completed');
        const attempts = child.messages.filter((message) => message['tick'] === tick);
        expect(attempts).toMatchObject([
          { attempt: 1, outcome: 'failed' },
          { attempt: 2, outcome: 'completed' },
        ]);
        child.send({ type: 'close' });
        expect(await child.ended()).toMatchObject({ code: 0 });
        expect(child.stderr).toBe('');
        const rows = (await used.rows(`SELECT what FROM ${used.work}`)).map(({ what }) => what);
        expect(rows).toContain(String(tick));
        expect(rows).toEqual([...new Set(rows)]);
      } finally {
        await child.kill();
      }
    },
  );
});
