import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unpackedRedis } from '../../support/redis-program.js';

// Stand-ins, as the tests shall run without a network and on any system; the real tools were tried by hand.
const APT = `#!/bin/sh
for word; do case $word in
  update) echo update >> "$CALLS" ;;
  install) echo 'Inst liblzf1 [3.5] (3.6-3 Debian:12 [amd64])'; echo 'Inst redis-tools (5:7.0 Debian:12 [amd64])' ;;
  download) echo "$*" | sed 's/.* download/download/' >> "$CALLS"; sleep 0.1; touch redis-tools_7.deb ;;
esac; done
`;
const DPKG = `#!/bin/sh
mkdir -p "$3/usr/bin"
printf '#!/bin/sh\\n' > "$3/usr/bin/redis-check-rdb"
chmod +x "$3/usr/bin/redis-check-rdb"
`;

const path = process.env['PATH'];
const said: string[] = [];
let folder: string;
const calls = (): string[] => readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n');

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'packages-'));
  writeFileSync(join(folder, 'apt-get'), APT, { mode: 0o755 });
  writeFileSync(join(folder, 'dpkg'), DPKG, { mode: 0o755 });
  process.env['PATH'] = `${folder}:${path}`;
  said.length = 0;
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0);
  process.env['CALLS'] = join(folder, 'calls');
});

afterEach(() => {
  jest.restoreAllMocks();
  process.env['PATH'] = path;
  rmSync(folder, { recursive: true });
});

test('only what the system lacks is downloaded, once for all who ask at once', async () => {
  const base = join(folder, 'cache');
  const [one, two] = await Promise.all([unpackedRedis(base), unpackedRedis(base)]);
  expect(one).toEqual(two);
  expect(calls()).toEqual(['update', 'download liblzf1=3.6-3 redis-tools=5:7.0']);
  expect(readdirSync(base)).toHaveLength(1);
  expect(said).toEqual([expect.stringMatching(/^No Redis found: unpacking .*\n$/)]);
});

test('what no longer runs is unpacked again, and what works is used', async () => {
  const base = join(folder, 'cache');
  const { command } = await unpackedRedis(base);
  writeFileSync(command, '#!/bin/sh\nexit 1\n');
  await unpackedRedis(base);
  await unpackedRedis(base);
  expect(calls()).toHaveLength(4);
});

test('the lock of a process that died is taken over', async () => {
  const base = join(folder, 'cache');
  const { command } = await unpackedRedis(base);
  const target = join(command, '..', '..');
  rmSync(target, { recursive: true });
  // More than any system gives to a process.
  writeFileSync(`${target}.lock`, '99999999');
  await unpackedRedis(base);
  expect(readdirSync(base)).toHaveLength(1);
});

test('a failure tells why and leaves nothing', async () => {
  const base = join(folder, 'cache');
  writeFileSync(join(folder, 'apt-get'), '#!/bin/sh\necho "E: no network" >&2; exit 100\n');
  await expect(unpackedRedis(base)).rejects.toThrow('E: no network');
  expect(readdirSync(base)).toEqual([]);
});

test('without apt there is a reason', async () => {
  process.env['PATH'] = join(folder, 'empty');
  await expect(unpackedRedis(join(folder, 'cache'))).rejects.toThrow('there is no apt-get here');
});
