import type { Instrument } from '../metrics/instruments.js';

/** The name of a metric as the OpenTelemetry Collector makes it: unit and type at its end. A unit in braces, which names what is counted, is left out. */
export function metricName({ name, type, unit }: Instrument): string {
  const base = labelName(name);
  const withUnit = unit === 's' ? `${base}_seconds` : base;
  return type === 'counter' ? `${withUnit}_total` : withUnit;
}

export const labelName = (attribute: string): string => attribute.replaceAll(/[^a-zA-Z0-9_]/g, '_');
