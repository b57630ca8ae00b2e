import type { Times } from '../../../insight/shown.js';
import { type ComponentChildren, Fragment, h } from './templates.js';

/**
 * The time that a line shows.
 *
 * A time line as SVG. Positions are percentages of the width, so the line fits any window. It has no inline styles: the policy of the page
 * allows none.
 */
export interface Span {
  readonly from: number;
  readonly to: number;
}

const MINUTE = 60_000;
const STEPS = [5, 10, 15, 30, 60, 120, 180, 360, 720].map((minutes) => minutes * MINUTE);
/** How many marks have room beside each other. */
const MARKS = 9;

/** Where a time is on the line. */
export const xOf = (time: number, { from, to }: Span): string =>
  `${percent(((time - from) / (to - from)) * 100)}%`;

/** The width of a length of time; never too narrow to be seen. */
export function widthOf(length: number, { from, to }: Span, least = 0.35): string {
  return `${percent(Math.max(least, (length / (to - from)) * 100))}%`;
}

const percent = (value: number): number => Number(Math.min(100, Math.max(0, value)).toFixed(2));

/** Full hours, or parts of one, in the zone of the viewer. */
function marksOf({ from, to }: Span, times: Times): number[] {
  const step = STEPS.find((each) => (to - from) / each <= MARKS) ?? STEPS.at(-1) ?? MINUTE;
  const offset =
    Date.parse(`${times.full(from).slice(0, 19).replace(' ', 'T')}Z`) - Math.floor(from / 1_000) * 1_000;
  const marks: number[] = [];
  for (let at = Math.ceil((from + offset) / step) * step - offset; at <= to; at += step) marks.push(at);
  return marks;
}

/** The hours above a group of lines. */
export function Axis({ span, times }: { span: Span; times: Times }): h.JSX.Element {
  return (
    <svg class="axis" width="100%" height="20" aria-hidden="true">
      {marksOf(span, times).map((mark) => (
        <text key={mark} x={xOf(mark, span)} y="14" class={anchorOf(mark, span)}>
          {times.full(mark).slice(11, 16)}
        </text>
      ))}
    </svg>
  );
}

/** A text that an end of the line would cut off is written inside. */
function anchorOf(mark: number, { from, to }: Span): string {
  const place = (mark - from) / (to - from);
  return place < 0.03 ? 'begin' : place > 0.97 ? 'end' : 'middle';
}

/** One line, with marks in the background. */
export function Line(props: {
  span: Span;
  times: Times;
  height: number;
  label: string;
  children?: ComponentChildren;
}): h.JSX.Element {
  const { span, times, height, label, children } = props;
  return (
    <svg class="line" width="100%" height={height} role="group" aria-label={label}>
      {marksOf(span, times).map((mark) => (
        <line key={mark} class="mark" x1={xOf(mark, span)} x2={xOf(mark, span)} y1="0" y2={height} />
      ))}
      {children}
    </svg>
  );
}

/** A time in which the store was away. Where nobody has told its end, an arrow goes on. */
export function Period(props: {
  from: number;
  to: number;
  isOpen: boolean;
  span: Span;
  y: number;
}): h.JSX.Element {
  const { from, to, isOpen, span, y } = props;
  return (
    <Fragment>
      <rect
        class="outage"
        x={xOf(from, span)}
        width={widthOf(to - Math.max(from, span.from), span, 0.8)}
        y={y}
        height="12"
      />
      {isOpen && <Shape at={to} y={y + 6} span={span} kind="outage" d="M4-6L12 0L4 6Z" />}
    </Fragment>
  );
}

/** A small shape at a time. */
export function Shape(props: { at: number; y: number; span: Span; kind: string; d?: string }): h.JSX.Element {
  const { at, y, span, kind, d = 'M0-5L5 0L0 5L-5 0Z' } = props;
  return (
    <svg x={xOf(at, span)} y={y} class="shape">
      <path class={kind} d={d} />
    </svg>
  );
}
