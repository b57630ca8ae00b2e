import type { BatchObservableCallback, Meter, ObservableGauge } from '@opentelemetry/api';
import type { SchedulerLockEvents } from '../../nest/log/scheduler-lock.events.js';
import { type Instrument, type InstrumentKey, INSTRUMENTS } from '../metrics/instruments.js';
import type { Measurement, Measurements } from '../metrics/measurements.js';

type Attributes = Measurement['attributes'];

/**
 * Records all instruments with a meter.
 *
 * @returns functions that end this
 */
export function measureWith(
  meter: Meter,
  measurements: Measurements,
  events: SchedulerLockEvents,
): (() => void)[] {
  const records = new Map<InstrumentKey, (value: number, attributes: Attributes) => void>();
  const gauges = new Map<InstrumentKey, ObservableGauge>();
  for (const [key, instrument] of Object.entries(INSTRUMENTS) as [InstrumentKey, Instrument][]) {
    const record = recorder(meter, instrument);
    if (record === undefined) gauges.set(key, meter.createObservableGauge(...named(instrument)));
    else records.set(key, record);
  }
  const observe: BatchObservableCallback = (result) => {
    for (const { instrument, value, attributes } of measurements.now()) {
      const gauge = gauges.get(instrument);
      if (gauge !== undefined) result.observe(gauge, value, attributes);
    }
  };
  const all = [...gauges.values()];
  meter.addBatchObservableCallback(observe, all);
  return [
    measurements.listen(events, ({ instrument, value, attributes }) =>
      records.get(instrument)?.(value, attributes),
    ),
    () => meter.removeBatchObservableCallback(observe, all),
  ];
}

/** How a value is recorded; `undefined` for a gauge, which is read. */
function recorder(
  meter: Meter,
  instrument: Instrument,
): ((value: number, attributes: Attributes) => void) | undefined {
  const { type } = instrument;
  if (type === 'gauge') return undefined;
  if (type === 'histogram') {
    const histogram = meter.createHistogram(...named(instrument));
    return (value, attributes) => histogram.record(value, attributes);
  }
  const counter = meter[type === 'counter' ? 'createCounter' : 'createUpDownCounter'](...named(instrument));
  return (value, attributes) => counter.add(value, attributes);
}

function named({ name, unit, description, buckets }: Instrument) {
  const options = { unit, description };
  const advice = buckets === undefined ? {} : { advice: { explicitBucketBoundaries: [...buckets] } };
  return [name, { ...options, ...advice }] as const;
}
