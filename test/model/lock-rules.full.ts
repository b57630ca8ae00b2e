import { describe, expect, test } from '@jest/globals';
import { array, assert, constantFrom, nat, oneof, property, record, tuple } from 'fast-check';
import type { ReleaseOptions } from '../../lib/contract/lock-store.js';
import { parameters } from './support/parameters.js';
import { RuleBook, type Rules, RULES } from './support/rule-book.js';
import { newLease, ofJob, outcome, runOutcome } from './support/start-arbitraries.js';
import type { StartFields } from './support/start-model.js';
import { type ModelLease, refOf, requestOf, StoreModel } from './support/store-model.js';

const DAY = 86_400_000;
const HOUR = 3_600_000;
const NAMES = ['refresh', '__proto__'];

/** One call, or one mishap, on the rules and on the model. */
type Step = (play: Play) => void;

class Play {
  readonly model = new StoreModel();
  readonly book: RuleBook;

  constructor(rules?: Rules) {
    this.book = new RuleBook(rules);
  }

  acquire(lease: ModelLease): void {
    // Of simultaneous calls none begins in the microsecond of another.
    this.book.now += 1;
    const before = this.book.documents.get(lease.name);
    const answer = this.book.acquire(requestOf(lease));
    if (!answer.acquired) expect(this.book.documents.get(lease.name)).toBe(before);
    this.#same(this.model.acquired(lease, answer), 'acquire', lease, answer);
  }

  extend(lease: ModelLease): void {
    const answer = this.book.extend(refOf(lease));
    this.#same(this.model.extended(lease, answer), 'extend', lease, answer);
  }

  release(lease: ModelLease, options: ReleaseOptions): void {
    // A run that has ended is not abandoned afterwards: the model knows no end of an interval.
    if (options.outcome === 'abandoned' && lease.interval !== undefined && this.model.hasEnded(lease)) return;
    const answer = this.book.release(refOf(lease), options);
    this.#same(this.model.released(lease, options, answer), 'release', lease, answer);
  }

  /** The answer to its acquire never arrived, so the fencing token is not known. */
  abandonUnanswered(lease: ModelLease): void {
    if (lease.interval !== undefined && this.model.hasEnded(lease)) return;
    const unanswered = { ...lease, fencingToken: 0 };
    const options = { outcome: 'abandoned' } as const;
    const answer = this.book.release(refOf(unanswered), options);
    const isNewest = this.model.lock(lease.name).record?.lease.token === lease.token;
    const expected = this.model.released(isNewest ? lease : unanswered, options, answer);
    this.#same(expected, 'abandon', lease, answer);
  }

  expire(): void {
    this.book.now += DAY;
    for (const name of this.model.names) this.model.expire(name);
  }

  forgetAll(): void {
    this.book.now += 1;
    this.book.documents.clear();
    for (const name of this.model.names) {
      this.model.expire(name);
      this.model.evict(name);
    }
  }

  #same(expected: string | undefined, call: string, lease: ModelLease, answer: unknown): void {
    if (expected === undefined) return;
    throw new Error(
      `${call} of "${lease.name}" by ${lease.holder} should be ${expected}, but is ${JSON.stringify(answer)}`,
    );
  }
}

const name = constantFrom(...NAMES);
const pick = nat(20);
const asked = oneof({ weight: 3, arbitrary: ofJob }, { weight: 1, arbitrary: constantFrom<StartFields>({}) });

/** A step about a lease that was made before, if there is one. */
const about =
  (at: number, step: (play: Play, lease: ModelLease) => void): Step =>
  (play) => {
    if (play.model.leases.length > 0) step(play, play.model.lease(at));
  };

const steps = oneof(
  tuple(name, asked).map(
    ([lock, start]): Step =>
      (play) =>
        play.acquire(newLease(play.model, lock, start)),
  ),
  tuple(name, asked, runOutcome).map(([lock, start, end]): Step => (play) => {
    const lease = newLease(play.model, lock, start);
    const mayStart = play.model.isFree(lock, lease);
    play.acquire(lease);
    if (mayStart) play.release(play.model.granted(lease), { outcome: end });
  }),
  pick.map((at) => about(at, (play, lease) => play.acquire(lease))),
  pick.map((at) => about(at, (play, lease) => play.extend(lease))),
  pick.map((at) => about(at, (play, lease) => play.extend({ ...lease, fencingToken: 0 }))),
  tuple(pick, record({ outcome, keepFor: constantFrom(HOUR) }, { requiredKeys: ['outcome'] })).map(
    ([at, options]) => about(at, (play, lease) => play.release(lease, options)),
  ),
  pick.map((at) => about(at, (play, lease) => play.abandonUnanswered(lease))),
  // Leases of a place that was set back since.
  tuple(name, asked).map(
    ([lock, start]): Step =>
      (play) =>
        play.extend(play.model.missed(lock, start)),
  ),
  tuple(name, outcome).map(
    ([lock, end]): Step =>
      (play) =>
        play.release(play.model.missed(lock), { outcome: end }),
  ),
  name.map(
    (lock): Step =>
      (play) =>
        play.release(play.model.newLease(lock), {}),
  ),
  constantFrom<Step>(
    (play) => play.expire(),
    (play) => play.expire(),
    (play) => play.forgetAll(),
  ),
);

function agreesWithModel(rules: Rules, numRuns: number): void {
  assert(
    property(array(steps, { maxLength: 30, size: 'max' }), (sequence) => {
      const play = new Play(rules);
      for (const step of sequence) step(play);
    }),
    parameters(numRuns),
  );
}

test('the rules answer as the model, whatever is called in whatever order', () => {
  agreesWithModel(RULES, 40_000);
});

const { acquire, extend, release } = RULES;
const broken: readonly [what: string, rules: Partial<Rules>][] = [
  [
    'grant a lock that is taken',
    { acquire: (found, now, asked) => acquire(found && { ...found, until: 0 }, now, asked) },
  ],
  [
    'refuse the token that has the lock',
    { acquire: (found, now, asked) => acquire(found && { ...found, stranger: 'x' }, now, asked) },
  ],
  [
    'forget ticks',
    { acquire: (found, now, asked) => acquire(found && { ...found, starts: new Map() }, now, asked) },
  ],
  [
    'repeat a run once too often',
    { acquire: (found, now, asked) => acquire(found, now, { ...asked, rerun: (asked.rerun ?? 0) + 1 }) },
  ],
  [
    'start what only an interrupted run may',
    { acquire: (found, now, { only: _only, ...asked }) => acquire(found, now, asked) },
  ],
  [
    'give a fencing token twice',
    {
      acquire: (found, _now, asked) =>
        acquire(found?.lease && { ...found, lease: { ...found.lease, fencingToken: 0 } }, 1, asked),
    },
  ],
  [
    'restore what was released',
    { extend: (found, now, lease) => extend(found && { ...found, ended: undefined }, now, lease) },
  ],
  [
    'restore nothing',
    {
      extend: (found, now, lease) => {
        const decision = extend(found, now, lease);
        const isRestored = decision.answer.held === true && decision.answer.restored === true;
        return isRestored ? { answer: { held: false, reason: 'expired' } } : decision;
      },
    },
  ],
  [
    'restore over a newer lease',
    {
      extend: (found, now, lease) =>
        extend(found?.lease && { ...found, lease: { ...found.lease, fencingToken: -1 } }, now, lease),
    },
  ],
  [
    'restore without the tick',
    { extend: (found, now, { tick: _tick, ...lease }) => extend(found, now, lease) },
  ],
  [
    'take back nothing',
    {
      release: (found, now, lease, options) =>
        release(found, now, lease, {
          ...options,
          outcome: options?.outcome === 'abandoned' ? 'aborted' : 'completed',
        }),
    },
  ],
  [
    'free a lock that is to be kept',
    {
      release: (found, now, lease, { keepFor: _keepFor, ...options } = {}) =>
        release(found, now, lease, options),
    },
  ],
  [
    'release the lease of another',
    {
      release: (found, now, lease, options) =>
        release(
          found?.lease && { ...found, lease: { ...found.lease, token: lease.token } },
          now,
          lease,
          options,
        ),
    },
  ],
  [
    'record no end of a lease that was forgotten',
    {
      release: (found, now, lease, options) => {
        const { answer, change } = release(found, now, lease, options);
        return change?.begins === true ? { answer } : { answer, ...(change && { change }) };
      },
    },
  ],
];

describe('the model finds out about rules that', () => {
  test.each(broken)('%s', (_, rules) => {
    expect(() => agreesWithModel({ ...RULES, ...rules }, 5_000)).toThrow(/Property failed/);
  });
});
