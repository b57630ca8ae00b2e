import { expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { activeHandles, newHandles, until } from '../../support/until.js';
import { builtScript } from '../../support/machine.js';
import { runProgram } from '../../support/program.js';

test('open timers and servers are seen until they are closed', async () => {
  const before = activeHandles();
  const timer = setTimeout(() => undefined, 60_000);
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  expect(newHandles(before)).toEqual(['TCPServerWrap', 'Timeout']);
  clearTimeout(timer);
  server.close();
  await until(() => newHandles(before).length === 0);
});

test('unhandled rejections are collected, and only until the stop', async () => {
  const program = `
    import { collectUnhandledRejections } from '${builtScript('test/support/until.js')}';
    process.on('unhandledRejection', () => console.log('as before'));
    const rejections = collectUnhandledRejections();
    Promise.reject('collected');
    setTimeout(() => {
      rejections.stop();
      console.log(rejections.list.join());
      Promise.reject('later');
    }, 1);
  `;
  const { stdout } = await runProgram(process.execPath, ['--input-type=module', '--eval', program]);
  expect(stdout).toBe('collected\nas before\n');
});
