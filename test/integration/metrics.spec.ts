import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { type DataPoint, type Histogram, MeterProvider, type MetricData } from '@opentelemetry/sdk-metrics';
import { register, Registry } from 'prom-client';
import { SchedulerLockEvents, SchedulerLockModule } from '../../lib/index.js';
import { type Instrument, INSTRUMENTS } from '../../lib/show/metrics/instruments.js';
import { SchedulerLockOtelModule } from '../../lib/show/otel/index.js';
import { SchedulerLockPrometheusModule } from '../../lib/show/prometheus/index.js';
import { labelName, metricName } from '../../lib/show/prometheus/metrics.js';
import { closeApps, LogLines, startFailure, startModule } from './app.js';
import { measuredApp } from './support/measured-app.js';

/* Exports as their users read them, of a real application whose jobs run. */

jest.setTimeout(120_000);

afterEach(closeApps);

const instruments = Object.values(INSTRUMENTS) as readonly Instrument[];

/** A line of the text format, without its value: `name{label="value"}`. */
const series = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.slice(0, line.lastIndexOf(' ')));

const valueOf = (text: string, wanted: string): number =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${wanted} `))
      ?.slice(wanted.length + 1) ?? NaN,
  );

/** What each export says, by a series of the names of Prometheus. */
function checkValues(value: (series: string) => number): void {
  const job = (name: string): string => `scheduler_lock_job_name="${name}"`;
  expect(value(`scheduler_lock_run_active{${job('Measured.failing')}}`)).toBe(0);
  expect(value(`scheduler_lock_run_unlocked_total{${job('Measured.unlocked')}}`)).toBe(1);
  expect(value(`scheduler_lock_run_interruptions_total{${job('Measured.killed')}}`)).toBe(1);
  expect(value(`scheduler_lock_renewal_failures_total{${job('Measured.lost')}}`)).toBeGreaterThan(0);
  expect(
    value(`scheduler_lock_lease_losses_total{${job('Measured.lost')},scheduler_lock_loss_reason="deadline"}`),
  ).toBe(1);
  expect(
    value(`scheduler_lock_skips_total{${job('Measured.failing')},scheduler_lock_skip_reason="held"}`),
  ).toBe(1);
  expect(value(`scheduler_lock_job_overdue_seconds{${job('Measured.often')}}`)).toBe(0);
  expect(value(`scheduler_lock_job_disagree{${job('Measured.often')}}`)).toBe(0);
  expect(value(`scheduler_lock_job_hollow{${job('Measured.often')}}`)).toBe(0);
  expect(value(`scheduler_lock_job_hollow{${job('Measured.hollow')}}`)).toBe(1);
  expect(
    value(`scheduler_lock_run_reported{${job('Measured.hollow')},scheduler_lock_report_name="rows"}`),
  ).toBe(0);
  expect(
    value(`scheduler_lock_run_reported{${job('Measured.hollow')},scheduler_lock_report_name="table"}`),
  ).toBeNaN();
  expect(value(`scheduler_lock_run_age_seconds{${job('Measured.going')}}`)).toBeGreaterThanOrEqual(0);
  expect(value(`scheduler_lock_run_age_seconds{${job('Measured.failing')}}`)).toBeNaN();
  expect(Math.abs(value('scheduler_lock_clock_offset_seconds'))).toBeLessThan(60);
  expect(value('scheduler_lock_store_available')).toBe(1);
  expect(value('scheduler_lock_leader{scheduler_lock_election_name="feed"}')).toBe(1);
}

describe('prom-client', () => {
  test('every instrument is exported in the form of the Collector, with unit, labels and value', async () => {
    const registry = new Registry();
    const app = await measuredApp(SchedulerLockPrometheusModule.forRoot({ registry }));
    const text = await registry.metrics();
    const types = { histogram: 'histogram', counter: 'counter', updown: 'gauge', gauge: 'gauge' };
    for (const instrument of instruments) {
      const name = metricName(instrument);
      expect(text).toContain(
        `# HELP ${name} ${instrument.description}\n# TYPE ${name} ${types[instrument.type]}`,
      );
      const own = series(text).filter((line) =>
        line.replace(/_(bucket|sum|count)(?=\{|$)/, '').startsWith(name),
      );
      const labels = own.flatMap((line) => [...line.matchAll(/(\w+)="/g)].map(([, label = '']) => label));
      const expected = [...instrument.attributes.map(labelName), ...(instrument.buckets ? ['le'] : [])];
      expect({ name, labels: [...new Set(labels)].sort() }).toEqual({ name, labels: expected.sort() });
    }
    checkValues((wanted) => valueOf(text, wanted));
    const failed =
      'scheduler_lock_run_duration_seconds_count{scheduler_lock_job_name="Measured.failing",scheduler_lock_run_outcome="failed",error_type="TypeError"}';
    expect(valueOf(text, failed)).toBe(1);
    expect(text).toContain('scheduler_lock_run_duration_seconds_bucket{le="3600",');
    expect(text).not.toMatch(/Alice|one for/);

    await app.close();
    expect(await registry.metrics()).toBe('\n');
  });

  test('no more is made for it than it measures: an attempt that is refused may stay brief', async () => {
    const metrics = SchedulerLockPrometheusModule.forRoot({ registry: new Registry() });
    const module = await Test.createTestingModule({
      imports: [SchedulerLockModule.forRoot({ store: 'memory', log: false }), metrics],
    })
      .setLogger(new LogLines())
      .compile();
    await module.init();
    const { hears } = module.get(SchedulerLockEvents);
    expect((['acquired', 'released', 'skipped'] as const).filter(hears)).toHaveLength(3);
    expect((['refusal', 'renewed', 'waiting', 'overrun'] as const).filter(hears)).toEqual([]);
    await module.close();
    expect((['acquired', 'released', 'skipped'] as const).filter(hears)).toEqual([]);
  });

  test('a second application that shares the registry is refused', async () => {
    const registry = new Registry();
    const imports = [
      SchedulerLockModule.forRoot({ store: 'memory' }),
      SchedulerLockPrometheusModule.forRoot({ registry }),
    ];
    await startModule({ imports });
    expect(await startFailure(startModule({ imports }))).toMatch(
      /registry has a metric scheduler_lock_run_duration_seconds already\..*new Registry\(\)/,
    );
  });
});

test('options that there are not are told of, with what is meant', () => {
  expect(() => SchedulerLockPrometheusModule.forRoot({ registy: 1 } as object)).toThrow(
    'SchedulerLockPrometheusModule: registy: there is no such option here. Did you mean `registry`?',
  );
  expect(() => SchedulerLockOtelModule.forRoot({ exporter: 1 } as object)).toThrow(
    'SchedulerLockOtelModule: exporter: there is no such option here. There are meter, tracer, spans.',
  );
});

describe('OpenTelemetry', () => {
  test('every instrument is exported with its unit, attributes and value', async () => {
    const exporter = new PrometheusExporter({ preventServerStart: true });
    const meter = new MeterProvider({ readers: [exporter] }).getMeter('test');
    await measuredApp(SchedulerLockOtelModule.forRoot({ meter, spans: false }));
    const { resourceMetrics } = await exporter.collect();
    const found = new Map(
      resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics).map((one) => [one.descriptor.name, one]),
    );
    expect([...found.keys()].sort()).toEqual(instruments.map(({ name }) => name).sort());
    for (const instrument of instruments) {
      const { name, unit, description, attributes } = instrument;
      const metric = found.get(name) as MetricData;
      expect(metric.descriptor).toMatchObject({ unit, description });
      const seen = new Set(metric.dataPoints.flatMap((point) => Object.keys(point.attributes)));
      expect({ name, seen: [...seen].sort() }).toEqual({ name, seen: [...attributes].sort() });
      if (instrument.buckets === undefined) continue;
      const [point] = metric.dataPoints as DataPoint<Histogram>[];
      expect(point?.value.buckets.boundaries).toEqual(instrument.buckets);
    }
    // As this exporter writes them: without units.
    const text = new PrometheusSerializer().serialize(resourceMetrics);
    const plain = text.replaceAll(/,?otel_scope_name="test"/g, '').replaceAll('{}', '');
    checkValues((wanted) => valueOf(plain, wanted.replace('_seconds', '')));
    const [duration] = (found.get('scheduler_lock.run.duration') as MetricData).dataPoints.filter(
      ({ attributes }) => attributes['scheduler_lock.job.name'] === 'Measured.failing',
    );
    expect(duration?.attributes).toEqual({
      'scheduler_lock.job.name': 'Measured.failing',
      'scheduler_lock.run.outcome': 'failed',
      'error.type': 'TypeError',
    });
    expect(JSON.stringify([...found.values()])).not.toContain('Alice');
  });
});

describe('without what they need', () => {
  const modules = [SchedulerLockPrometheusModule, SchedulerLockOtelModule];

  test.each(modules)(
    '$name without SchedulerLockModule stops the start, and says what to import',
    async (type) => {
      const wanted = new RegExp(
        `${type.name}: this application has no SchedulerLockModule.*beside ${type.name}`,
      );
      for (const each of [type, type.forRoot()]) {
        const compiled = Test.createTestingModule({ imports: [each] })
          .setLogger(new LogLines())
          .compile();
        expect(await startFailure(compiled.then((module) => module.init()))).toMatch(wanted);
      }
    },
  );

  test('without forRoot() they measure as forRoot() does without options', async () => {
    const imports = [SchedulerLockModule.forRoot({ store: 'memory' }), ...modules];
    const app = await startModule({ imports });
    const event = { lock: 'a', job: 'a', instance: 'here', at: 0, reason: 'held' } as const;
    app.get(SchedulerLockEvents).emit({ type: 'skipped', ...event });
    expect(await register.metrics()).toContain('scheduler_lock_skips_total{');
    await app.close();
    expect(await register.metrics()).not.toContain('scheduler_lock');
  });
});
