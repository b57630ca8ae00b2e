// Plain JavaScript: Jest would load a TypeScript set-up as CommonJS.
import { existsSync } from 'node:fs';

const built = (file) => new URL(`../.build/test/support/${file}.js`, import.meta.url);

/**
 * Runs once before all test files. On a new machine it downloads and unpacks the servers, which takes longer than one test
 * should. An error here comes again, with its message, in the tests that need a server.
 */
export default async function globalSetup() {
  // `npm test` builds them; Jest called directly may do without.
  if (!existsSync(built('redis-program'))) return;
  const { findRedisBinary } = await import(built('redis-program').href);
  await findRedisBinary().catch(() => undefined);
  // The fast tier needs no more.
  if (process.env.TIER === 'fast') return;
  const { findPostgres } = await import(built('postgres-server').href);
  await findPostgres().catch(() => undefined);
  const { findMariadb } = await import(built('mysql-server').href);
  await findMariadb().catch(() => undefined);
  const { findPromtool } = await import(built('promtool').href);
  await findPromtool().catch(() => undefined);
}
