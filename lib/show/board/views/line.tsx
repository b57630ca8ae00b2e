import type { Times } from '../../../insight/shown.js';
import { displayName } from '../../../base/lock-name.js';
import type { InLine } from '../../../contract/lock-info.js';
import { Fragment, h } from './templates.js';
import { Time } from './parts.js';

/** How many calls in one line are shown. */
const MOST_IN_LINE = 5;

/** The calls in line for a lock: the first is the next to have the lock. */
export function Waiting({ line, times }: { line: readonly InLine[]; times: Times }): h.JSX.Element {
  const more = line.length - MOST_IN_LINE;
  return (
    <Fragment>
      {line.slice(0, MOST_IN_LINE).map(({ holder, since }, n) => (
        <span class="waiter" key={n}>
          {displayName(holder ?? 'not known')}, since <Time at={since} times={times} />
        </span>
      ))}
      {more > 0 && <span class="faint">and {more} more</span>}
    </Fragment>
  );
}
