import { describe, expect, test } from '@jest/globals';
import { array, assert, constantFrom, integer, option, property, record } from 'fast-check';
import type { ReleaseOutcome } from '../../../lib/index.js';
import type { AcquireRequest } from '../../../lib/contract/lock-store.js';
import { acquire, extend, release } from '../../../lib/rules/lock/leases.js';
import { type LockDocument, NOTHING, become } from '../../../lib/rules/lock/document.js';
import {
  endStart,
  noteStart,
  refusedStart,
  type Start,
  type Starts,
} from '../../../lib/rules/lock/starts.js';
import { acquireInLine, releaseInLine } from '../../../lib/rules/lock/in-line.js';
import { missedTick, startsIn } from '../../../lib/rules/lock/inspect.js';
import { written } from '../../model/support/rule-book.js';

const NOW = 1_760_000_000_000;
const HOUR = 3_600_000;
const RUNS = { numRuns: 2_000 };

const request = (fields: Partial<AcquireRequest> = {}): AcquireRequest => ({
  name: 'a',
  token: 'token',
  ttl: HOUR,
  holder: 'host',
  ...fields,
});

const outcome = constantFrom<ReleaseOutcome>('completed', 'failed', 'timed-out', 'aborted');
const start = record(
  { tick: integer({ min: 0, max: 9 }), attempt: integer({ min: 1, max: 3 }), outcome, by: constantFrom('x') },
  { requiredKeys: ['tick', 'attempt'] },
).map((found): Start => ({ schedule: 'nightly', ...found }));
const starts = option(start, { nil: undefined }).map(
  (found): Starts => new Map(found === undefined ? [] : [['job', found]]),
);
const document = record({
  fencingToken: integer({ min: 1, max: NOW * 2_000 }),
  token: constantFrom('token', 'other'),
  ended: option(outcome, { nil: undefined }),
  stranger: option(constantFrom('stranger'), { nil: undefined }),
  starts,
  until: integer({ min: NOW - HOUR, max: NOW + HOUR }),
}).map(({ fencingToken, token, ended, stranger, starts: found, until }): LockDocument => ({
  lease: { token, holder: 'host', fencingToken, job: 'job' },
  ended,
  stranger,
  starts: found,
  until,
  since: NOW - HOUR,
}));

/** What an attempt makes of a document. */
function after(found: LockDocument | undefined, asked: AcquireRequest, now = NOW): LockDocument | undefined {
  const { change } = acquire(found, now, asked);
  return change === undefined ? found : become(found, change, now);
}

test('rules 1 and 8: a taken lock is granted to nobody but its token, and a refusal changes nothing', () => {
  assert(
    property(document, option(integer({ min: 0, max: 9 }), { nil: undefined }), (found, tick) => {
      const { answer, change } = acquire(
        found,
        NOW,
        request({ job: 'job', ...(tick === undefined ? {} : { tick }) }),
      );
      if (!answer.acquired) expect(change).toBeUndefined();
      const isOwn =
        found.lease?.token === 'token' && found.ended === undefined && found.stranger === undefined;
      if (found.until > NOW) expect(answer.acquired).toBe(isOwn);
    }),
    RUNS,
  );
});

test('rule 6: fencing tokens grow, by the clock if it has gone on', () => {
  assert(
    property(document, (found) => {
      const free = { ...found, until: NOW };
      const { answer } = acquire(free, NOW, request());
      const last = found.lease?.fencingToken ?? 0;
      expect(answer).toMatchObject({ acquired: true, fencingToken: Math.max(last + 1, NOW * 1_000) });
    }),
    RUNS,
  );
});

test('rule 3: nothing but a renewal by its holder, and a release, ends a live lease sooner', () => {
  assert(
    property(
      document,
      integer({ min: 0, max: 2 }),
      constantFrom('token', 'other'),
      (found, behind, token) => {
        const live = { ...found, until: NOW + HOUR, ended: undefined, stranger: undefined };
        const fencingToken = (live.lease?.fencingToken ?? 0) - behind;
        const lease = { ...request({ token, ttl: 1 }), fencingToken };
        const isIt = token === live.lease?.token && (behind === 0 || fencingToken === 0);
        for (const { change } of [
          acquire(live, NOW, request({ token, ttl: 1 })),
          acquire(live, NOW, request({ token, ttl: 1, wait: { limit: 1, priority: 0, process: 'p' } })),
          ...(isIt
            ? []
            : [
                extend(live, NOW, lease),
                release(live, NOW, lease),
                release(live, NOW, lease, { keepFor: 1 }),
              ]),
        ])
          expect(change?.end ?? HOUR).toBeGreaterThanOrEqual(HOUR);
      },
    ),
    RUNS,
  );
});

test('rule 5: a lock that was released is free by a clock that was set back by hours', () => {
  assert(
    property(document, integer({ min: 0, max: 23 }), (found, hours) => {
      const live = { ...found, ended: undefined, stranger: undefined };
      const lease = {
        ...request({ token: live.lease?.token ?? '' }),
        fencingToken: live.lease?.fencingToken ?? 0,
      };
      const { change } = release(live, NOW, lease);
      const released = change === undefined ? live : become(live, change, NOW);
      const then = NOW - hours * HOUR;
      expect(acquire(released, then, request({ token: 'new' })).answer.acquired).toBe(true);
    }),
    RUNS,
  );
});

describe('rule 4', () => {
  test('a start that is abandoned is as if it had not been, as long as nothing else has started the job', () => {
    assert(
      property(starts, integer({ min: 0, max: 9 }), integer({ min: 0, max: 2 }), (found, tick, rerun) => {
        const asked = { ...request({ job: 'job', rerun }), tick };
        if (refusedStart(found, NOW, asked) !== undefined) return;
        const begun = noteStart(found, NOW, asked).starts;
        const undone = endStart(begun, asked, 'abandoned');
        const plain = [...found].map(([job, { by: _by, before: _before, ...rest }]) => [job, rest]);
        expect([...undone]).toEqual(plain);
        const ended = endStart(begun, asked, 'completed');
        expect(endStart(ended, asked, 'abandoned')).toBe(ended);
        expect(endStart(begun, { job: 'job', token: 'another' }, 'abandoned')).toBe(begun);
      }),
      RUNS,
    );
  });

  test('an interval starts once per interval, whenever instances ask, and never drifts', () => {
    const interval = 1_000;
    assert(
      property(array(integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 60 }), (steps) => {
        let found: Starts = new Map();
        let now = NOW;
        const begun: number[] = [];
        for (const step of steps) {
          now += step;
          const asked = { ...request({ job: 'job' }), interval };
          if (refusedStart(found, now, asked) !== undefined) continue;
          found = noteStart(found, now, asked).starts;
          begun.push(now);
        }
        const [first = 0] = begun;
        // A start is early by a tenth at most, and late by as long as nobody has asked.
        for (const [i, at] of begun.entries())
          expect(at).toBeGreaterThanOrEqual(first + i * interval - interval / 10);
      }),
      RUNS,
    );
  });

  test('a due time further ahead than an interval can put it is not believed', () => {
    assert(
      property(integer({ min: -5_000, max: 5_000 }), (ahead) => {
        const interval = 1_000;
        const found: Starts = new Map([['job', { due: NOW + ahead, interval }]]);
        const refusal = refusedStart(found, NOW, { ...request({ job: 'job' }), interval });
        const isRefused = ahead > interval / 10 && ahead <= interval * 1.1 + 1;
        expect(refusal?.reason).toBe(isRefused ? 'already-ran' : undefined);
        if (isRefused) expect(refusal?.expiresIn).toBe(ahead - interval / 10);
      }),
      RUNS,
    );
  });

  test('a tick too far ahead is refused with the time of the place', () => {
    const asked = { ...request({ maxClockSkew: 1_000 }), tick: NOW + 1_001 };
    expect(refusedStart(new Map(), NOW, asked)).toEqual({
      acquired: false,
      reason: 'clock-skew',
      storeTime: NOW,
    });
    expect(refusedStart(new Map(), NOW + 1, asked)).toBeUndefined();
  });
});

test('a document is read as it was written, whatever the jobs are called, and what a newer version has added stays', () => {
  const odd = ['__proto__', '', 'constructor', '"', '\u0000', '\ud800'];
  let found: LockDocument = NOTHING;
  for (const job of odd) found = after({ ...found, until: 0 }, request({ job, tick: 1 })) ?? found;
  const more = { added: { later: [1] } };
  const again = written('a', { ...found, more });
  expect(again).toEqual({ ...found, ended: undefined, stranger: undefined, more });
  expect([...again.starts.keys()].sort()).toEqual(odd.toSorted());
});

test('a line that nobody stands in forgets who did not come when called: processes that died are not kept for ever', () => {
  const lease = { ...request(), fencingToken: 1 };
  const held = { lease, starts: new Map(), until: NOW + HOUR, since: NOW };
  const document = { ...held, more: { line: { until: NOW + HOUR, absent: ['dead'] } } };
  const waits = { token: 'next', process: 'alive', place: 1, until: NOW + HOUR };
  const markAfter = (...standing: (typeof waits)[]): unknown =>
    releaseInLine(document, NOW, lease, {}, standing).change?.kept.more?.['line'];
  expect(markAfter(waits)).toMatchObject({ called: { token: 'next' }, absent: ['dead'] });
  expect(markAfter()).toEqual({ until: NOW + HOUR });
});

test.each([
  ['in the same microsecond', 0],
  ['after the clock was set back', -HOUR],
])('rule 10.2: a call that comes %s stands behind those who came before it', (_what, later) => {
  const held = { starts: new Map(), lease: { ...request(), fencingToken: 1 }, until: NOW + HOUR, since: NOW };
  const place = NOW * 1_000;
  const standing = [{ token: 'z', process: 'one', place, until: NOW + HOUR }];
  const asked = request({ token: 'a', wait: { limit: HOUR, priority: 0, process: 'two' } });
  const { answer, first } = acquireInLine(held, NOW + later, asked, standing);
  expect(answer).toMatchObject({ acquired: false, waiting: { place: place + 1, ahead: 1 } });
  expect(first).toMatchObject({ enters: { token: 'a', place: place + 1 } });
});

test('rule 17: a tick is not missed while a run of its job goes on; a run whose lease is over does not', () => {
  const lease = { ...request({ job: 'job' }), fencingToken: 1 };
  const running: LockDocument = { lease, starts: new Map(), until: NOW + 1, since: NOW - HOUR };
  const missed = (document: LockDocument): number | undefined =>
    missedTick(startsIn(document, NOW), { job: 'job', tick: NOW - 1 });
  expect(missed(running)).toBeUndefined();
  expect(missed({ ...running, until: NOW })).toBe(NOW - 1);
  expect(missed({ ...running, ended: 'completed' })).toBe(NOW - 1);
  expect(missed({ ...running, stranger: 'shedlock-host' })).toBe(NOW - 1);
});
