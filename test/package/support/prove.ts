import { afterAll, describe, expect, jest, test } from '@jest/globals';
import { redisCommand } from '../../support/local-redis.js';
import { provideRedis, uniquePrefix } from '../../support/redis-server.js';
import { nodeBinary } from './node-versions.js';
import { DEFAULTS, type Group, type SetUp } from './set-ups.js';
import { type Place, UserApp } from './user-app.js';

/** Tests of an application in some set-ups: what is built runs in two processes, and its own tests pass. */
export function proveSetUps(name: string, { template, packages, setUps }: Group): void {
  // npm, a compiler and an application, on a machine that does other things as well.
  jest.setTimeout(600_000);

  describe(name, () => {
    // Tests that run at the same time may begin before a hook has ended.
    const begun = once(provideRedis);

    afterAll(async () => {
      await (await begun()).stop();
    });

    // Most of the time of each is spent waiting for ticks.
    test.concurrent.each(setUps)('$name', async (setUp) => {
      const redis = await begun();
      const app = await UserApp.of(template, packages);
      try {
        await prove(app, setUp, { url: redis.url, prefix: uniquePrefix('set-up') });
      } finally {
        await app.remove();
      }
    });
  });
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

async function prove(app: UserApp, setUp: SetUp, place: Place): Promise<void> {
  const { build = DEFAULTS[app.template].build, test: tests = DEFAULTS[app.template].test } = setUp;
  const { start = 'dist/main.js', compilerOptions, files = {}, nodes = [undefined], tooOld } = setUp;
  if (compilerOptions !== undefined) await app.setCompilerOptions(compilerOptions);
  for (const [path, text] of Object.entries(files)) await app.write(path, text);
  for (const command of build) await app.run(command);
  try {
    for (const version of nodes) {
      const node = version === undefined ? process.execPath : await nodeBinary(version);
      await app.test(tests, place, node);
      const fleet = await app.runTwice(start, place, node);
      expect({ version, ...fleet }).toEqual({ version, shared: expect.any(Number), twice: 0, stderr: '' });
    }
    if (tooOld === undefined) return;
    const refusal = `Error: nestjs-scheduler-lock needs Node.js 20 or newer, and this is v${tooOld}.\n`;
    await expect(app.runTwice(start, place, await nodeBinary(tooOld))).rejects.toThrow(refusal);
  } finally {
    const { url, prefix } = place;
    await redisCommand(url, 'DEL', ...['', 'tests'].map((part) => `{${prefix}${part}:report:lock}:state`));
  }
}
