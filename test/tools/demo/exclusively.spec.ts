import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { exclusively } from '../../../sample-app/demo/exclusively.mjs';
import { guard } from '../../support/child.js';
import { projectRoot } from '../../support/machine.js';

const MODULE = pathToFileURL(join(projectRoot, 'sample-app/demo/exclusively.mjs')).href;

describe('exclusively', () => {
  let folder: string;
  let counter: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'scheduler-lock-exclusively-'));
    counter = join(folder, 'counter');
    await writeFile(counter, '0');
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** A process of its own that says `in` on stdout whenever its turn has come. */
  function run(work: string, times = 1): ChildProcess {
    const program = `
      import { exclusively } from ${JSON.stringify(MODULE)};
      import { readFileSync, writeFileSync } from 'node:fs';
      import { setTimeout as sleep } from 'node:timers/promises';
      const counter = ${JSON.stringify(counter)};
      for (let time = 0; time < ${times}; time++)
        await exclusively(${JSON.stringify(folder)}, async () => { process.stdout.write('in\\n'); ${work} });`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    guard(child);
    return child;
  }

  /** Loses counts if two do it at the same time. */
  const COUNT = `
    const before = Number(readFileSync(counter, 'utf8'));
    await sleep(3);
    writeFileSync(counter, String(before + 1));`;

  it('lets one process work at a time', async () => {
    const children = Array.from({ length: 5 }, () => run(COUNT, 6));
    await Promise.all(children.map((child) => once(child, 'close')));
    expect(await readFile(counter, 'utf8')).toBe('30');
  });

  it('leaves the files of a process alone that is alive, and just frees its turn', async () => {
    const owners = (): string[] => readdirSync(folder).filter((name) => name.startsWith('owner-'));
    let identity = '';
    await exclusively(folder, async () => {
      const [own = ''] = owners();
      identity = await readFile(join(folder, own), 'utf8');
    });
    await writeFile(join(folder, 'owner-1-other'), identity);
    await writeFile(join(folder, 'owner-1-other-free'), 'free');
    await exclusively(folder, async () => undefined);
    expect(owners().sort()).toEqual(['owner-1-other', 'owner-1-other-free']);
  });

  it('takes the turn over from a process that was killed, by one only', async () => {
    const dead = run('await new Promise((resolve) => setTimeout(resolve, 1e8));');
    await once(dead.stdout as NodeJS.ReadableStream, 'data');
    const children = Array.from({ length: 4 }, () => run(COUNT, 3));
    dead.kill('SIGKILL');
    await Promise.all([dead, ...children].map((child) => once(child, 'close')));
    expect(await readFile(counter, 'utf8')).toBe('12');
  });

  it('waits for a process that works', async () => {
    const first = run("await sleep(300); writeFileSync(counter, 'done');");
    await once(first.stdout as NodeJS.ReadableStream, 'data');
    expect(await exclusively(folder, () => readFile(counter, 'utf8'))).toBe('done');
  });

  it('gives the turn on when the work fails, and leaves one file', async () => {
    await expect(exclusively(folder, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await expect(exclusively(folder, async () => 'yes')).resolves.toBe('yes');
    expect(readdirSync(folder).filter((name) => name !== 'counter')).toEqual(['lock-2']);
  });
});
