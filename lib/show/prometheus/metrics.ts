import type { Gauge, Registry } from 'prom-client';
import { SchedulerLockConfigError } from '../../base/errors.js';
import { type Instrument, type InstrumentKey, INSTRUMENTS } from '../metrics/instruments.js';
import type { Measurement } from '../metrics/measurements.js';

export type PromClient = typeof import('prom-client');

type Recorder = (value: number, labels: Record<string, string>) => void;

/** The metrics of an application in a registry. */
export class Metrics {
  readonly #record = new Map<InstrumentKey, Recorder>();

  readonly #registry: Registry;

  /**
   * @param registry by default that of the package
   * @param now reads the gauges
   * @throws SchedulerLockConfigError if the registry has one of them already
   */
  constructor(
    private readonly client: PromClient,
    registry: Registry | undefined,
    private readonly now: () => readonly Measurement[],
  ) {
    this.#registry = registry ?? client.register;
    const taken = Object.values(INSTRUMENTS)
      .map(metricName)
      .find((name) => this.#registry.getSingleMetric(name));
    if (taken !== undefined)
      throw new SchedulerLockConfigError([
        `SchedulerLockPrometheusModule: the registry has a metric ${taken} already. Import the module once, and give each ` +
          'application in this process a registry of its own: forRoot({ registry: new Registry() }).',
      ]);
    for (const [key, instrument] of Object.entries(INSTRUMENTS) as [InstrumentKey, Instrument][])
      this.#record.set(key, this.#make(key, instrument));
  }

  record({ instrument, value, attributes }: Measurement): void {
    this.#record.get(instrument)?.(value, labelsOf(attributes));
  }

  /** Takes the metrics out of the registry. */
  remove(): void {
    for (const each of Object.values(INSTRUMENTS)) this.#registry.removeSingleMetric(metricName(each));
  }

  #make(key: InstrumentKey, instrument: Instrument): Recorder {
    const { type, description, attributes, buckets = [] } = instrument;
    const common = {
      name: metricName(instrument),
      help: description,
      labelNames: attributes.map(labelName),
      registers: [this.#registry],
    };
    if (type === 'histogram') {
      const histogram = new this.client.Histogram({ ...common, buckets: [...buckets] });
      return (value, labels) => histogram.observe(labels, value);
    }
    if (type !== 'gauge') {
      const metric = new this.client[type === 'counter' ? 'Counter' : 'Gauge'](common);
      return (value, labels) => metric.inc(labels, value);
    }
    const fill = (own: Gauge): void => this.#fill(key, own);
    new this.client.Gauge({
      ...common,
      collect(this: Gauge) {
        fill(this);
      },
    });
    return () => undefined;
  }

  #fill(key: InstrumentKey, gauge: Gauge): void {
    // A value that is no longer reported has to go.
    gauge.reset();
    for (const { instrument, value, attributes } of this.now())
      if (instrument === key) gauge.set(labelsOf(attributes), value);
  }
}

function labelsOf(attributes: Readonly<Record<string, string>>): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const [name, value] of Object.entries(attributes)) labels[labelName(name)] = value;
  return labels;
}

/** The name of a metric as the OpenTelemetry Collector makes it: unit and type at its end. A unit in braces, which names what is counted, is left out. */
export function metricName({ name, type, unit }: Instrument): string {
  const base = labelName(name);
  const withUnit = unit === 's' ? `${base}_seconds` : base;
  return type === 'counter' ? `${withUnit}_total` : withUnit;
}

export const labelName = (attribute: string): string => attribute.replaceAll(/[^a-zA-Z0-9_]/g, '_');
