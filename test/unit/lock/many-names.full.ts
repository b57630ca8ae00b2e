import { expect, test } from '@jest/globals';
import { Harness } from './harness.js';

test('a name can be run again and again, and by one run at a time, also when thousands are made up', async () => {
  const app = new Harness();
  const names = Array.from({ length: 10_050 }, (_, i) => `import-${i}`);
  const refused: string[] = [];
  for (let round = 0; round < 2; round++) {
    for (const name of names)
      if (!(await app.runner.run(app.call(name), () => 'ran')).ran) refused.push(name);
  }
  expect(refused).toEqual([]);
  for (const name of ['import-0', 'import-10049', 'another']) {
    const job = await app.start(name);
    expect(await app.runner.run(app.call(name), () => 'ran')).toMatchObject({ ran: false, reason: 'held' });
    job.end();
    await app.clock.advance(0);
    expect(job.result).toMatchObject({ ran: true });
  }
});
