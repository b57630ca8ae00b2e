import { afterAll, expect, test } from '@jest/globals';
import { build } from 'esbuild';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '../../support/machine.js';

const run = promisify(execFile);
const folders: string[] = [];

afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

/** What clones of one process print that were made when it had drawn some tokens. */
async function cloned(print: string): Promise<[string, string]> {
  const folder = await mkdtemp(join(tmpdir(), 'scheduler-lock-snapshot-'));
  folders.push(folder);
  const [script, snapshot] = [join(folder, 'main.js'), join(folder, 'snapshot.blob')];
  const contents = `
    import { randomUUID } from 'node:crypto';
    import { startupSnapshot } from 'node:v8';
    import { requestOf } from './lib/lock/lock-call.js';
    const call = { name: 'report', settings: { ttl: 1_000 } };
    const token = () => requestOf(call, 'host', {}).token;
    token(), randomUUID();
    startupSnapshot.setDeserializeMainFunction(() => console.log(${print}));`;
  await build({
    stdin: { contents, resolveDir: projectRoot },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    outfile: script,
    logLevel: 'error',
  });
  await run(process.execPath, ['--snapshot-blob', snapshot, '--build-snapshot', script]);
  const clone = async (): Promise<string> =>
    (await run(process.execPath, ['--snapshot-blob', snapshot])).stdout;
  return [await clone(), await clone()];
}

test('two clones of one process draw tokens that differ', async () => {
  const [one, other] = await cloned('token()');
  expect(one).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\n$/);
  expect(one).not.toBe(other);
});

test("Node's own UUIDs would be the same in both", async () => {
  const [one, other] = await cloned('randomUUID()');
  expect(one).toBe(other);
});
