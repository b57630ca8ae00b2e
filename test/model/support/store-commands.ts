import {
  array,
  assert,
  type AsyncCommand,
  asyncModelRun,
  asyncProperty,
  boolean,
  commands,
  constantFrom,
  nat,
  record,
  tuple,
} from 'fast-check';
import type { LockStore, ReleaseOutcome } from '../../../lib/index.js';
import type { LeaseRef } from '../../../lib/contract/lease-ref.js';
import type { ReleaseOptions } from '../../../lib/contract/lock-store.js';
import { parameters } from './parameters.js';
import { absolute, newLease, ofJob, ofTick, outcome, runOutcome } from './start-arbitraries.js';
import type { StartFields } from './start-model.js';
import { type ModelLease, refOf, requestOf, startOf, StoreModel } from './store-model.js';

/** A store and what can happen to it. What is missing cannot. */
export interface StoreSubject {
  /** Stores over the same data, as several instances have. */
  readonly stores: readonly [LockStore, ...LockStore[]];
  /** Lets the leases of these locks expire. `all`: of every lock at once, as where only time as a whole can be moved. */
  readonly expire: (names: readonly string[]) => Promise<void>;
  readonly expires: 'one' | 'all';
  readonly evict?: (name: string) => Promise<void>;
  readonly forgetAll: () => Promise<void>;
  readonly close?: () => Promise<void>;
  /** See {@link StoreModel}. */
  readonly durable?: boolean;
}

type Command = AsyncCommand<StoreModel, StoreSubject>;

const NAMES = ['refresh', 'refresh:lock', 'invoices'];

function command(text: string, run: Command['run'], check: Command['check'] = () => true): Command {
  return { check, run, toString: () => text };
}

/** A command about a lease that was made before. */
function aboutLease(
  text: string,
  pick: number,
  run: (m: StoreModel, s: StoreSubject, l: ModelLease) => Promise<void>,
): Command {
  return command(
    `${text} #${pick}`,
    (model, subject) => run(model, subject, model.lease(pick)),
    (model) => model.leases.length > 0,
  );
}

function expectAs(expected: string | undefined, call: string, lease: LeaseRef, answer: unknown): void {
  if (expected === undefined) return;
  throw new Error(
    `${call} of "${lease.name}" by ${lease.holder} should be ${expected}, but is ${JSON.stringify(answer)}`,
  );
}

async function acquire(model: StoreModel, store: LockStore, lease: ModelLease): Promise<void> {
  const answer = await store.acquire(requestOf(lease));
  expectAs(model.acquired(lease, answer), 'acquire', lease, answer);
}

async function release(
  model: StoreModel,
  { stores: [store] }: StoreSubject,
  lease: ModelLease,
  options: ReleaseOptions,
): Promise<void> {
  // A run that has ended is not abandoned afterwards. Of an interval's end Redis keeps nothing to tell that by.
  if (options.outcome === 'abandoned' && lease.interval !== undefined && model.hasEnded(lease)) return;
  const answer = await store.release(refOf(lease), options);
  expectAs(model.released(lease, options, answer), 'release', lease, answer);
}

/** A renewal before a release and one behind it, all under way at once: they take effect in this order. */
async function extendAndRelease(
  model: StoreModel,
  { stores: [store] }: StoreSubject,
  lease: ModelLease,
): Promise<void> {
  const [[before], released, [after]] = await Promise.all([
    store.extend([refOf(lease)]),
    store.release(refOf(lease)),
    store.extend([refOf(lease)]),
  ]);
  if (before === undefined || after === undefined) throw new Error('extend of one lease answered nothing');
  expectAs(model.extended(lease, before), 'extend', lease, before);
  expectAs(model.released(lease, {}, released), 'release', lease, released);
  expectAs(model.extended(lease, after), 'extend', lease, after);
}

/** Many instances at once: exactly one of them wins a free lock. */
async function compete(
  model: StoreModel,
  { stores }: StoreSubject,
  name: string,
  count: number,
  asked: StartFields = {},
): Promise<void> {
  const free = model.isFree(name, asked);
  const leases = Array.from({ length: count }, () => model.newLease(name, asked));
  const answers = await Promise.all(
    leases.map((lease, i) => (stores[i % stores.length] ?? stores[0]).acquire(requestOf(lease))),
  );
  const winners = leases.filter((_, i) => answers[i]?.acquired);
  if (winners.length !== (free ? 1 : 0))
    throw new Error(
      `${winners.length} of ${count} attempts got "${name}", which ${free ? 'may start' : 'may not start'}`,
    );
  // The winner came first, whatever the order in which the answers came.
  const order = [...leases].sort((a, b) => Number(winners.includes(b)) - Number(winners.includes(a)));
  for (const lease of order) {
    const answer = answers[leases.indexOf(lease)];
    if (answer !== undefined) expectAs(model.acquired(lease, answer), 'acquire', lease, answer);
  }
}

async function extend(
  model: StoreModel,
  { stores: [store] }: StoreSubject,
  leases: readonly ModelLease[],
): Promise<void> {
  const answers = await store.extend(leases.map(refOf));
  if (answers.length !== leases.length) throw new Error(`extend answered ${JSON.stringify(answers)}`);
  for (const [i, lease] of leases.entries()) {
    const answer = answers[i] ?? { held: false, reason: 'expired' };
    expectAs(model.extended(lease, answer), 'extend', lease, answer);
  }
  // A repeated acquire shows the fencing token that was written back.
  for (const [i, lease] of leases.entries())
    if (answers[i]?.held && 'restored' in answers[i]) await acquire(model, store, lease);
}

async function expire(model: StoreModel, subject: StoreSubject, name: string): Promise<void> {
  const names = subject.expires === 'one' ? [name] : model.names;
  await subject.expire(names);
  for (const each of names) model.expire(each);
  if (subject.expires === 'all') model.pass();
}

async function forgetAll(model: StoreModel, subject: StoreSubject): Promise<void> {
  await subject.forgetAll();
  for (const name of model.names) {
    model.expire(name);
    model.evict(name);
  }
}

/** A run from its start to its end, if it may start. */
async function startAndEnd(
  model: StoreModel,
  subject: StoreSubject,
  lease: ModelLease,
  outcome: ReleaseOutcome,
): Promise<void> {
  const mayStart = model.isFree(lease.name, lease);
  await acquire(model, subject.stores[0], lease);
  if (mayStart) await release(model, subject, model.granted(lease), { outcome });
}

/** A run that ends each of its holders: once more than it may be repeated. */
async function interruptAll(
  model: StoreModel,
  subject: StoreSubject,
  lockName: string,
  asked: StartFields,
): Promise<void> {
  const fixed = absolute(model, lockName, asked);
  for (let run = 0; run <= (asked.rerun ?? 0) + 1; run++)
    await startAndEnd(model, subject, model.newLease(lockName, fixed), 'aborted');
}

/** A lease of which nothing ran is over, and another one has its lock, or had it, when its abandon comes. */
async function abandonLate(
  model: StoreModel,
  subject: StoreSubject,
  lease: ModelLease,
  later: { readonly asked: StartFields; readonly ends: boolean },
): Promise<void> {
  await acquire(model, subject.stores[0], lease);
  await expire(model, subject, lease.name);
  const next = newLease(model, lease.name, later.asked);
  await acquire(model, subject.stores[0], next);
  if (later.ends) await release(model, subject, model.granted(next), {});
  await release(model, subject, { ...model.granted(lease), fencingToken: 0 }, { outcome: 'abandoned' });
  await acquire(model, subject.stores[0], model.newLease(lease.name, startOf(lease)));
}

/** The store loses all data, and its holders notice before anybody else comes. */
async function forgetAndRestore(model: StoreModel, subject: StoreSubject): Promise<void> {
  const holders = model.names.flatMap((each) => model.lock(each).owner ?? []);
  await forgetAll(model, subject);
  await extend(model, subject, holders);
}

const name = constantFrom(...NAMES);
const pick = nat(50);

const anyCommands = (evicts: boolean) => [
  name.map((n) => command(`acquire ${n}`, (m, s) => acquire(m, s.stores[0], m.newLease(n)))),
  tuple(name, ofJob).map(([n, asked]) =>
    command(`acquire ${n} ${JSON.stringify(asked)}`, (m, s) =>
      acquire(m, s.stores[0], newLease(m, n, asked)),
    ),
  ),
  tuple(name, ofTick).map(([n, asked]) =>
    command(`compete ${n} ${JSON.stringify(asked)}`, (m, s) => compete(m, s, n, 4, absolute(m, n, asked))),
  ),
  tuple(name, ofJob, runOutcome).map(([n, asked, end]) =>
    command(`start ${n} ${JSON.stringify(asked)}, ${end}`, (m, s) =>
      startAndEnd(m, s, newLease(m, n, asked), end),
    ),
  ),
  tuple(name, ofTick).map(([n, asked]) =>
    command(`interrupt ${n} ${JSON.stringify(asked)}`, (m, s) => interruptAll(m, s, n, asked)),
  ),
  tuple(name, ofJob, ofJob, boolean()).map(([n, asked, later, ends]) =>
    command(`abandon late ${n} ${JSON.stringify(asked)} ${JSON.stringify(later)} ${ends}`, (m, s) =>
      abandonLate(m, s, newLease(m, n, asked), { asked: later, ends }),
    ),
  ),
  pick.map((p) => aboutLease('acquire again', p, (m, s, lease) => acquire(m, s.stores[0], lease))),
  name.chain((n) => nat(6).map((c) => command(`compete ${n} ${c + 2}`, (m, s) => compete(m, s, n, c + 2)))),
  array(pick, { maxLength: 6 }).map((picks) =>
    command(
      `extend [${picks.join(', ')}]`,
      (m, s) =>
        extend(
          m,
          s,
          picks.map((p) => m.lease(p)),
        ),
      (m) => m.leases.length > 0,
    ),
  ),
  pick.chain((p) =>
    record(
      { outcome, keepFor: constantFrom(3_600_000), retryIn: constantFrom(0, 3_600_000) },
      { requiredKeys: ['outcome'] },
    ).map(({ retryIn, ...rest }) => {
      // Only a run that failed is tried again.
      const options = rest.outcome === 'failed' && retryIn !== undefined ? { ...rest, retryIn } : rest;
      return aboutLease(`release ${JSON.stringify(options)}`, p, (m, s, lease) =>
        release(m, s, lease, options),
      );
    }),
  ),
  pick.map((p) => aboutLease('extend and release', p, extendAndRelease)),
  // The answer to the acquire never arrived, so the fencing token is not known.
  pick.map((p) =>
    aboutLease('extend unanswered', p, (m, s, lease) => extend(m, s, [{ ...lease, fencingToken: 0 }])),
  ),
  // Leases that a store which was set back does not know, nor what was recorded of them.
  tuple(name, ofJob).map(([n, asked]) =>
    command(`extend missed ${n} ${JSON.stringify(asked)}`, (m, s) =>
      extend(m, s, [m.missed(n, absolute(m, n, asked))]),
    ),
  ),
  tuple(name, outcome).map(([n, end]) =>
    command(`release missed ${n}, ${end}`, (m, s) => release(m, s, m.missed(n), { outcome: end })),
  ),
  // A lease that the store never heard of.
  name.map((n) => command(`release unknown ${n}`, (m, s) => release(m, s, m.newLease(n), {}))),
  name.map((n) => command(`expire ${n}`, (m, s) => expire(m, s, n))),
  constantFrom(command('forget all', forgetAll), command('forget and restore', forgetAndRestore)),
  ...(evicts
    ? [
        name.map((n) =>
          command(`evict ${n}`, async (m, s) => {
            await s.evict?.(n);
            m.evict(n);
          }),
        ),
      ]
    : []),
];

/** Tries random sequences of calls and mishaps on a store and on the model, which must agree on every answer. */
export async function agreesWithModel(
  create: () => StoreSubject | Promise<StoreSubject>,
  { numRuns, maxCommands, evicts }: { numRuns: number; maxCommands: number; evicts: boolean },
): Promise<void> {
  await assert(
    asyncProperty(commands(anyCommands(evicts), { maxCommands, size: 'max' }), async (sequence) => {
      const real = await create();
      try {
        await asyncModelRun(() => ({ model: new StoreModel(real.durable), real }), sequence);
      } finally {
        await real.close?.();
      }
    }),
    parameters(numRuns),
  );
}
