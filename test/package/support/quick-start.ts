import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { spawnChild, type TestChild } from '../../support/child.js';
import { type LocalRedis, redisCommand, startRedis } from '../../support/local-redis.js';
import { projectRoot } from '../../support/machine.js';
import { until } from '../../support/until.js';
import { npm } from './tarball.js';
import { type Template, UserApp } from './user-app.js';

/** What the quick start of the README says: the program, and what two processes of it print. */
interface QuickStart {
  readonly program: string;
  readonly shown: Readonly<Record<'acquired' | 'runs' | 'completed' | 'skipped', RegExp>>;
}

const ADDRESS = 'redis://localhost:6379';
/** That of its job, ms. */
const TTL = 10_000;
/** What is set for the tests of this project is not for a user. */
const USERS_OWN = { NODE_ENV: '', NODE_OPTIONS: '', NO_COLOR: '1' };
const LOGGERS = ['nestjs-pino@4', 'pino@10', 'pino-http@11', 'nest-winston@2', 'winston@3'];
/** A line of it has a time of its own: that of the job is a second, on a machine that has nothing else to do. */
const OWN = [
  [/laptop:4711:1f0c9a52/g, '(?<id>\\S+:\\d+:[0-9a-f]{8})'],
  [/1795263020003123/g, '(?<fence>\\d+)'],
  [/after 1 s/g, 'after [\\d.]+ s'],
] as const;

/** Reads it. @throws if it is not told as the tests know it */
async function quickStart(): Promise<QuickStart> {
  const readme = await readFile(join(projectRoot, 'README.md'), 'utf8');
  const part = readme.split('\n## Quick start\n')[1]?.split('\n## ')[0] ?? '';
  const [program = '', lines = ''] = [/```ts\n(.*?)```/s, /```\n(terminal 1.*?)```/s].map(
    (block) => block.exec(part)?.[1] ?? '',
  );
  const texts = lines.split('\n').map((line) => line.replace(/^terminal \d/, '').trim());
  const lineWith = (words: string): RegExp => {
    const text = texts.find((line) => line.includes(words));
    if (text === undefined) throw new Error(`The quick start shows no line with "${words}"`);
    const escaped = text.replace(/[[\]().]/g, '\\$&');
    return new RegExp(`^.*?${OWN.reduce((line, [shown, own]) => line.replace(shown, own), escaped)}$`, 'gm');
  };
  return {
    program,
    shown: {
      acquired: lineWith('acquired'),
      runs: lineWith('runs with'),
      completed: lineWith('completed'),
      skipped: lineWith('skipped'),
    },
  };
}

/** A process of the program, and what it has printed. */
class Terminal {
  constructor(readonly child: TestChild) {}

  /** Without the colours that Nest gives to lines. */
  get text(): string {
    // oxlint-disable-next-line no-control-regex -- that is what colours are
    return (this.child.stdout + this.child.stderr).replace(/\u001b\[\d+m/g, '');
  }

  /** Whether it runs the job now. */
  runs({ runs, completed }: QuickStart['shown']): boolean {
    return this.named(runs, 'id').length > (this.text.match(completed)?.length ?? 0);
  }

  /** What it names in lines of this kind. */
  named(line: RegExp, group: 'id' | 'fence'): string[] {
    return [...this.text.matchAll(line)].map(({ groups }) => groups?.[group] ?? '');
  }
}

/** A newcomer's first minutes: the quick start, pasted into an application that `nest new` has made. */
export function proveQuickStart(template: Template): void {
  // npm, a compiler and an application, on a machine that does other things as well.
  jest.setTimeout(600_000);

  describe(`the quick start, in what \`nest new\` makes (${template})`, () => {
    let app: UserApp;
    let redis: LocalRedis;
    let shown: QuickStart['shown'];
    let terminals: Terminal[] = [];

    beforeAll(async () => {
      const [made, started, { program, shown: lines }] = await Promise.all([
        UserApp.copy(template),
        startRedis(),
        quickStart(),
      ]);
      [app, redis, shown] = [made, started, lines];
      expect(program).toContain(`'${ADDRESS}'`);
      // Word for word, but for the place of this Redis.
      await app.write('src/main.ts', program.replace(ADDRESS, redis.url));
      await cp(join(projectRoot, 'test/package/fixtures/loggers'), join(app.folder, 'src'), {
        recursive: true,
      });
      // As their users do: one of them does not name NestJS 12 among its peers yet.
      await npm(['install', '--no-package-lock', '--force', ...LOGGERS], app.folder);
      await app.run(['@nestjs/cli/bin/nest.js', 'build']);
      terminals = [await open(), await open()];
    });

    afterAll(async () => {
      await Promise.all(terminals.map(({ child }) => child.kill()));
      await app?.remove();
      await redis?.stop();
    });

    const open = async (): Promise<Terminal> =>
      new Terminal(await spawnChild(join(app.folder, 'dist/main'), { cwd: app.folder, env: USERS_OWN }));
    const sees = <T>(what: string, condition: () => T | Promise<T>) =>
      until(condition, {
        timeout: 60_000,
        message: () => `${what}\n${terminals.map(({ text }) => text).join('\n=====\n')}`,
      });
    const isTaken = async (): Promise<boolean> =>
      (await redisCommand(redis.url, 'EXISTS', 'scheduler:auto-refresh:lock')) === 1;

    /** Waits until one of them runs the job. The other one has been up for long enough to be asked as well. */
    const inTheMiddle = async (): Promise<{ busy: Terminal; other: Terminal }> => {
      const busy = await sees('a run of the job', () => terminals.find((terminal) => terminal.runs(shown)));
      return { busy, other: terminals.find((terminal) => terminal !== busy) as Terminal };
    };

    test('each run shows the lines of the README in one terminal, and the other one names its holder', async () => {
      await sees('a run in one terminal that the other one names', () =>
        terminals.some((terminal, n) => {
          const holders = terminal.named(shown.runs, 'id');
          const ended = terminal.text.match(shown.completed) !== null;
          return ended && terminals[1 - n]?.named(shown.skipped, 'id').some((id) => holders.includes(id));
        }),
      );
      const tokens = terminals.flatMap((terminal) => terminal.named(shown.acquired, 'fence'));
      // The job is told of the fencing token that the log has.
      for (const token of terminals.flatMap((terminal) => terminal.named(shown.runs, 'fence')))
        expect(tokens).toContain(token);
      expect(new Set(tokens).size).toBe(tokens.length);
    });

    test('kill -9 in the middle of a run: the other one goes on after the ttl', async () => {
      const { killed, other } = await killInTheMiddle();
      const last = Math.max(...killed.named(shown.acquired, 'fence').map(Number));
      const next = await sees('a run of the other one', () =>
        other
          .named(shown.acquired, 'fence')
          .map(Number)
          .find((fence) => fence > last),
      );
      // Fencing tokens are times of Redis, in microseconds. It expires keys by a time that it has read a little before.
      expect(next - last).toBeGreaterThan((TTL - 100) * 1_000);
      terminals = [other, await open()];
    });

    /** On a busy machine a run may end before its process is killed: then the next one is. */
    const killInTheMiddle = (): Promise<{ killed: Terminal; other: Terminal }> =>
      sees('a process that is killed in a run', async () => {
        const { busy, other } = await inTheMiddle();
        busy.child.pause();
        await busy.child.kill();
        if (await isTaken()) return { killed: busy, other };
        terminals = [other, await open()];
        return undefined;
      });

    // Kubernetes and Docker send the first one, Ctrl+C is the second one.
    test.each(['SIGTERM', 'SIGINT'] as const)('%s: the other one runs the next tick', async (signal) => {
      const { busy, other } = await inTheMiddle();
      const before = other.named(shown.acquired, 'fence').length;
      process.kill(busy.child.pid, signal);
      expect(await busy.child.ended()).toEqual({ code: null, signal });
      // It has ended its run, and given back its lease.
      expect(busy.text.match(shown.completed)).toHaveLength(busy.named(shown.runs, 'id').length);
      await sees('the next run of the other one', () => other.named(shown.acquired, 'fence').length > before);
      terminals = [other, await open()];
    });

    const ALL = ['debug: acquired', 'debug: released'];
    test.each([
      ['the default logger', 'default', ALL],
      ['the levels of the application', 'levels', ALL],
      ['levels without debug', 'no-debug', []],
      ['no logger', 'none', []],
      ['a ConsoleLogger', 'console', ALL],
      ['a ConsoleLogger with levels', 'console-levels', ALL],
      ['a ConsoleLogger with levels without debug', 'console-no-debug', []],
      ['pino', 'pino', ALL],
      ['pino from info on', 'pino-info', []],
      ['winston', 'winston', ALL],
      ['winston from info on', 'winston-info', []],
      ['a logger after levels without debug', 'levels-then-own', ALL],
    ])('lines at debug are left to the logger: %s', async (_name, logger, lines) => {
      const env = { ...USERS_OWN, LOGGER: logger };
      const terminal = new Terminal(
        await spawnChild(join(app.folder, 'dist/loggers'), { cwd: app.folder, env }),
      );
      expect(await terminal.child.ended()).toEqual({ code: 0, signal: null });
      expect(terminal.text).toContain('RAN');
      const found = [/\breport: acquired, fencing token \d+/, /\breport: completed after .*released/];
      expect({ text: terminal.text, found: ALL.filter((_, n) => found[n]?.test(terminal.text)) }).toEqual({
        text: terminal.text,
        found: lines,
      });
    });
  });
}
