import { describe, expect, it } from '@jest/globals';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkHistory } from '../../chaos/checker/check.js';
import { reportLines } from '../../chaos/checker/report.js';
import { HistoryWriter, parse, readHistory } from '../../chaos/history.js';
import { projectRoot } from '../../support/machine.js';
import { HandMade } from './support/hand-made.js';

const up = (m: number, i: string) => ({ k: 'up', m, i, n: 1 }) as const;

describe('a history', () => {
  it('is read from all its files in the order in which things happened', () => {
    const folder = mkdtempSync(join(tmpdir(), 'chaos-history-'));
    try {
      for (const [i, m] of [
        ['b', 2],
        ['a', 3],
        ['a', 1],
      ] as const) {
        const writer = new HistoryWriter(folder, i);
        writer.write(up(m, i));
        writer.close();
      }
      writeFileSync(join(folder, 'notes.txt'), 'not a part of it');
      expect(readHistory(folder)).toEqual([up(1, 'a'), up(2, 'b'), up(3, 'a')]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('may end in half a line, which a kill has left', () => {
    expect(parse(`${JSON.stringify(up(1, 'a'))}\n{"k":"up","m":`)).toEqual([up(1, 'a')]);
    expect(parse('{"k":')).toEqual([]);
  });

  it('that is broken elsewhere, or has no beginning, is not judged', () => {
    expect(() => parse(`{"k":\n${JSON.stringify(up(1, 'a'))}\n`)).toThrow(SyntaxError);
    expect(() => checkHistory([up(1, 'a')])).toThrow('no beginning');
  });
});

describe('the report', () => {
  it('says of each check whether it holds, and lists what does not', () => {
    const good = new HandMade().run({ at: 1_000, token: 1 });
    expect(reportLines([good.check('duplicates')]).join('\n')).toMatch(/^no tick started twice +ok\n/);
    const bad = good.run({ at: 1_100, tick: 1_000, token: 2, i: 'instance-2' });
    const lines = reportLines([bad.check('duplicates')]);
    expect(lines[0]).toMatch(/1 VIOLATIONS$/);
    expect(lines.at(-1)).toMatch(/^ {2}- job of tick .* although /);
  });
});

it('the checker shares no code with the library, nor with who made the history', () => {
  const folder = join(projectRoot, 'test/chaos/checker');
  const imports = ['../history.ts', ...readdirSync(folder)].flatMap((file) =>
    [...readFileSync(join(folder, file), 'utf8').matchAll(/from '([^']+)'/g)].map(([, target]) => target),
  );
  expect(imports.length).toBeGreaterThan(20);
  expect(imports.filter((target) => !/^(\.\/[a-z-]+|\.\.\/history)\.js$|^node:/.test(target ?? ''))).toEqual(
    [],
  );
});
