// Plain JavaScript: Jest would load a TypeScript set-up as CommonJS.
import { existsSync } from 'node:fs';

const built = new URL('../../.build/test/support/redis-binary.js', import.meta.url);

/**
 * Runs once before all test files: on a new machine Redis is first to be downloaded and unpacked, which takes longer
 * than one test should. What fails here fails again, with its message, in the tests that need a server.
 */
export default async function globalSetup() {
  // `npm test` builds it; Jest called directly may do without.
  if (!existsSync(built)) return;
  const { findRedisBinary } = await import(built.href);
  await findRedisBinary().catch(() => undefined);
}
