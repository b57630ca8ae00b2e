import { test } from '@jest/globals';
import { writeFileSync } from 'node:fs';
test('computes', () => {
  writeFileSync(process.env.STARTED + process.env.JEST_WORKER_ID, String(process.pid));
  for (;;);
});
