import { expect, test } from '@jest/globals';
import { type Instrument, INSTRUMENTS } from '../../../lib/show/metrics/instruments.js';
import { metricName } from '../../../lib/show/prometheus/metrics.js';
import { tableOf, textOf } from './support/documents.js';

const PAGE = 'docs/observe/metrics.md';

test('the instruments of the page are those of the code, in the same order', () => {
  const expected = (Object.values(INSTRUMENTS) as readonly Instrument[]).map((instrument) => ({
    instrument: instrument.name,
    type: instrument.type,
    unit: instrument.unit,
    attributes: instrument.attributes.join(', '),
    'for Prometheus': metricName(instrument),
  }));
  expect(tableOf(PAGE, 'Instruments')).toEqual(expected);
});

test('the alerts of the page are those of the rules', () => {
  const rules = [...textOf('monitoring/alerts.yml').matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
  expect(tableOf(PAGE, 'Alerts').map((row) => row['alert'])).toEqual(rules);
});

test('names begin alike and say no "total", and times are seconds', () => {
  for (const { name, unit, attributes } of Object.values(INSTRUMENTS) as readonly Instrument[]) {
    expect(name).toMatch(/^scheduler_lock(\.[a-z]+)+$/);
    expect(name).not.toMatch(/total|seconds/);
    expect(unit).toMatch(/^(s|\{[a-z]+\})$/);
    for (const attribute of attributes) expect(attribute).toMatch(/^(scheduler_lock\.|error\.type$)/);
  }
});
