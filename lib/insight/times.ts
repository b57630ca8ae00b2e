/*
 * Times as people read and write them: `2026-11-22 03:00:00Z`, or with the offset of a zone, `2026-11-22 04:00:00+01:00`. A time that is
 * shown can be given back in a question.
 */

/**
 * Shows a time in a zone, to the second.
 *
 * @param zone a name such as `Europe/Berlin`; UTC without one
 * @throws RangeError for a zone that this Node.js does not know
 */
export function timesIn(zone = 'UTC'): (time: number) => string {
  const offsetAt = offsetsOf(zone);
  return (time) => {
    const offset = offsetAt(time);
    return `${new Date(time + offset).toISOString().slice(0, 19).replace('T', ' ')}${suffix(offset)}`;
  };
}

/** `Z` or `+01:00`. */
function suffix(offset: number): string {
  if (offset === 0) return 'Z';
  const minutes = Math.round(Math.abs(offset) / 60_000);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/** How far the clocks of a zone are ahead of UTC at a time, milliseconds. */
function offsetsOf(zone: string): (time: number) => number {
  // The usual zone, and a formatter is slow to make.
  if (zone === 'UTC') return () => 0;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (time) => {
    const numbers = format.format(time).match(/\d+/g) ?? [];
    const [month = 1, day = 1, year = 0, hour = 0, minute = 0, second = 0] = numbers.map(Number);
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(time / 1_000) * 1_000;
  };
}

const TEXT = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)(?:\s?(Z|[+-]\d\d:\d\d))?$/i;

/**
 * Reads a time that a person has written: a date and a time, with an offset or without one.
 *
 * @param zone in which a text without an offset is meant
 * @returns epoch milliseconds; `undefined` for a text that is no such time
 */
export function readTime(text: string, zone = 'UTC'): number | undefined {
  const [, date, time, offset] = TEXT.exec(text.trim()) ?? [];
  if (date === undefined || time === undefined) return undefined;
  const asUtc = Date.parse(`${date}T${time}Z`);
  // `Date.parse` takes the 30th of February for a day in March.
  if (Number.isNaN(asUtc) || !new Date(asUtc).toISOString().startsWith(date)) return undefined;
  if (offset !== undefined) return Date.parse(`${date}T${time}${offset.toUpperCase()}`);
  const offsetAt = offsetsOf(zone);
  // The offset of the first guess is wrong near a change of daylight saving time.
  return asUtc - offsetAt(asUtc - offsetAt(asUtc));
}

/** Whether it names a time zone. */
export function isZone(zone: string): boolean {
  if (zone === '') return false;
  try {
    timesIn(zone);
    return true;
  } catch {
    return false;
  }
}
