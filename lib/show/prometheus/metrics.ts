import type { Gauge, Registry } from 'prom-client';
import { SchedulerLockConfigError } from '../../base/errors.js';
import { type Instrument, type InstrumentKey, INSTRUMENTS } from '../metrics/instruments.js';
import type { Measurement } from '../metrics/measurements.js';
import { labelName, metricName } from './names.js';

export type PromClient = typeof import('prom-client');

type Recorder = (value: number, labels: Record<string, string>) => void;

/** The metrics of an application in a registry. */
export class Metrics {
  readonly #names: string[] = [];
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
    for (const [key, instrument] of Object.entries(INSTRUMENTS) as [InstrumentKey, Instrument][]) {
      this.#record.set(key, this.#make(key, instrument));
      this.#names.push(metricName(instrument));
    }
  }

  record({ instrument, value, attributes }: Measurement): void {
    this.#record.get(instrument)?.(value, labelsOf(attributes));
  }

  /** Takes the metrics out of the registry. */
  remove(): void {
    for (const name of this.#names) this.#registry.removeSingleMetric(name);
  }

  #make(key: InstrumentKey, instrument: Instrument): Recorder {
    const { type, description, attributes, buckets = [] } = instrument;
    const common = {
      name: metricName(instrument),
      help: description,
      labelNames: attributes.map(labelName),
      registers: [this.#registry],
    };
    switch (type) {
      case 'histogram': {
        const histogram = new this.client.Histogram({ ...common, buckets: [...buckets] });
        return (value, labels) => histogram.observe(labels, value);
      }
      case 'counter': {
        const counter = new this.client.Counter(common);
        return (value, labels) => counter.inc(labels, value);
      }
      case 'updown': {
        const gauge = new this.client.Gauge(common);
        return (value, labels) => gauge.inc(labels, value);
      }
      case 'gauge': {
        const fill = (own: Gauge): void => this.#fill(key, own);
        new this.client.Gauge({
          ...common,
          collect(this: Gauge) {
            fill(this);
          },
        });
        return () => undefined;
      }
    }
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
