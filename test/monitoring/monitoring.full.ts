import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Instrument, INSTRUMENTS } from '../../lib/show/metrics/instruments.js';
import { labelName, metricName } from '../../lib/show/prometheus/metrics.js';
import { projectRoot } from '../support/machine.js';
import { findPromtool } from '../support/promtool.js';
import type { UnpackedProgram } from '../support/server-programs.js';

// A first run downloads promtool.
jest.setTimeout(300_000);

const run = promisify(execFile);
const instruments = Object.values(INSTRUMENTS) as readonly Instrument[];

const FILES = ['monitoring/alerts.yml', 'monitoring/grafana.json', 'test/monitoring/alerts.test.yml'];
const textOf = (file: string): string => readFileSync(join(projectRoot, file), 'utf8');

/** All names that the metrics and their labels have. */
const known = new Set(
  instruments.flatMap((instrument) => {
    const name = metricName(instrument);
    const series =
      instrument.type === 'histogram' ? ['_bucket', '_count', '_sum'].map((end) => name + end) : [name];
    return [...series, ...instrument.attributes.map(labelName)];
  }),
);

const namesIn = (text: string): string[] => [...new Set(text.match(/\bscheduler_lock_\w+/g))];

test.each(FILES)('%s has names of the table of instruments only', (file) => {
  const names = namesIn(textOf(file));
  expect(names.length).toBeGreaterThan(5);
  expect(names.filter((name) => !known.has(name))).toEqual([]);
});

test('the dashboard shows every instrument', () => {
  const names = namesIn(textOf('monitoring/grafana.json'));
  const shown = instruments.filter((one) => names.some((name) => name.startsWith(metricName(one))));
  expect(shown.map(({ name }) => name)).toEqual(instruments.map(({ name }) => name));
});

test('the dashboard asks the data source that its reader has chosen, with a panel of its own for each place', () => {
  interface Panel {
    id: number;
    datasource: object;
    gridPos: object;
    targets: { datasource: object; expr: string }[];
  }
  const { panels, templating } = JSON.parse(textOf('monitoring/grafana.json')) as {
    panels: Panel[];
    templating: { list: { name: string; type: string }[] };
  };
  const chosen = { type: 'prometheus', uid: '${datasource}' };
  expect(templating.list[0]).toMatchObject({ name: 'datasource', type: 'datasource' });
  for (const { datasource, targets } of panels) {
    expect(datasource).toEqual(chosen);
    for (const target of targets) expect(target.datasource).toEqual(chosen);
  }
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  expect(new Set(panels.map(({ gridPos }) => JSON.stringify(gridPos))).size).toBe(panels.length);
});

test('each alert has a test that sees it fire and one that sees it silent', () => {
  const alerts = [...textOf('monitoring/alerts.yml').matchAll(/- alert: (\w+)/g)].map(
    ([, name = '']) => name,
  );
  expect(alerts).toEqual([
    'JobOverdue',
    'JobHung',
    'JobUnwatched',
    'JobDisagrees',
    'ClockOff',
    'JobFailing',
    'RunInterrupted',
    'JobHollow',
    'LeaseLost',
    'StoreAway',
    'RunsUnlocked',
    'NobodyWatches',
  ]);
  const tests = textOf('test/monitoring/alerts.test.yml');
  for (const alert of alerts) {
    expect(tests).toMatch(new RegExp(`alertname: ${alert}\\n +exp_alerts: \\[\\]`));
    expect(tests).toMatch(new RegExp(`alertname: ${alert}\\n +exp_alerts:(?! \\[\\])`));
  }
});

describe('promtool', () => {
  let promtool: UnpackedProgram | undefined;

  beforeAll(async () => {
    promtool = await findPromtool().catch((error: unknown) => {
      process.stderr.write(`LEFT OUT: promtool has not checked monitoring/alerts.yml: ${String(error)}\n`);
      return undefined;
    });
  });

  /** What it says; `undefined` where it cannot be had, which was said aloud. */
  async function said(...args: string[]): Promise<string | undefined> {
    if (promtool === undefined) return undefined;
    const { command, env } = promtool;
    const { stdout } = await run(command, args, { cwd: projectRoot, env, timeout: 60_000 }).catch(
      (error: { stdout: string; stderr: string }) => ({ stdout: `${error.stdout}${error.stderr}` }),
    );
    return stdout;
  }

  test('finds no fault in the rules', async () => {
    expect((await said('check', 'rules', 'monitoring/alerts.yml')) ?? 'SUCCESS').toMatch(/SUCCESS/);
  });

  test('can read what the panels of the dashboard ask', async () => {
    const { panels } = JSON.parse(textOf('monitoring/grafana.json')) as {
      panels: { targets: { expr: string }[] }[];
    };
    const rules = panels
      .flatMap(({ targets }) => targets)
      .map(({ expr }, index) => ({
        record: `panel_${index}`,
        expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', '.*'),
      }));
    expect(rules.length).toBeGreaterThan(10);
    const folder = await mkdtemp(join(tmpdir(), 'scheduler-lock-dashboard-'));
    const file = join(folder, 'rules.yml');
    // JSON is YAML.
    await writeFile(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
    expect((await said('check', 'rules', file)) ?? 'SUCCESS').toMatch(/SUCCESS/);
    await rm(folder, { recursive: true });
  });

  test('sees each alert fire when it has to, and only then', async () => {
    expect((await said('test', 'rules', 'test/monitoring/alerts.test.yml')) ?? 'SUCCESS').toMatch(
      /SUCCESS\s*$/,
    );
  });
});
