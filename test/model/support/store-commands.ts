import {
  array,
  assert,
  type AsyncCommand,
  asyncModelRun,
  asyncProperty,
  commands,
  constantFrom,
  nat,
  record,
} from 'fast-check';
import type {
  AcquireRequest,
  LeaseRef,
  LockStore,
  ReleaseOptions,
  ReleaseOutcome,
} from '../../../lib/index.js';
import { parameters } from './parameters.js';
import { StoreModel } from './store-model.js';

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
  run: (m: StoreModel, s: StoreSubject, l: LeaseRef) => Promise<void>,
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

function requestOf({ name, token, ttl, holder }: LeaseRef): AcquireRequest {
  return { name, token, ttl, holder };
}

async function acquire(model: StoreModel, store: LockStore, lease: LeaseRef): Promise<void> {
  const answer = await store.acquire(requestOf(lease));
  expectAs(model.acquired(lease, answer), 'acquire', lease, answer);
}

async function release(
  model: StoreModel,
  { stores: [store] }: StoreSubject,
  lease: LeaseRef,
  options: ReleaseOptions,
): Promise<void> {
  const answer = await store.release(lease, options);
  expectAs(model.released(lease, options.keepFor !== undefined, answer), 'release', lease, answer);
}

/** A renewal before a release and one behind it, all under way at once: they take effect in this order. */
async function extendAndRelease(
  model: StoreModel,
  { stores: [store] }: StoreSubject,
  lease: LeaseRef,
): Promise<void> {
  const [[before], released, [after]] = await Promise.all([
    store.extend([lease]),
    store.release(lease),
    store.extend([lease]),
  ]);
  if (before === undefined || after === undefined) throw new Error('extend of one lease answered nothing');
  expectAs(model.extended(lease, before), 'extend', lease, before);
  expectAs(model.released(lease, false, released), 'release', lease, released);
  expectAs(model.extended(lease, after), 'extend', lease, after);
}

/** Many instances at once: exactly one of them wins a free lock. */
async function compete(
  model: StoreModel,
  { stores }: StoreSubject,
  name: string,
  count: number,
): Promise<void> {
  const free = model.isFree(name);
  const leases = Array.from({ length: count }, () => model.newLease(name));
  const answers = await Promise.all(
    leases.map((lease, i) => (stores[i % stores.length] ?? stores[0]).acquire(requestOf(lease))),
  );
  const winners = leases.filter((_, i) => answers[i]?.acquired);
  if (winners.length !== (free ? 1 : 0))
    throw new Error(
      `${winners.length} of ${count} attempts got "${name}", which was ${free ? 'free' : 'taken'}`,
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
  leases: readonly LeaseRef[],
): Promise<void> {
  const answers = await store.extend(leases);
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
}

async function forgetAll(model: StoreModel, subject: StoreSubject): Promise<void> {
  await subject.forgetAll();
  for (const name of model.names) {
    model.expire(name);
    model.evict(name);
  }
}

const name = constantFrom(...NAMES);
const pick = nat(50);
const outcome = constantFrom<ReleaseOutcome>('completed', 'failed', 'timed-out', 'aborted', 'abandoned');

const anyCommands = (evicts: boolean) => [
  name.map((n) => command(`acquire ${n}`, (m, s) => acquire(m, s.stores[0], m.newLease(n)))),
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
    record({ outcome, keepFor: constantFrom(3_600_000) }, { requiredKeys: ['outcome'] }).map((options) =>
      aboutLease(`release ${JSON.stringify(options)}`, p, (m, s, lease) => release(m, s, lease, options)),
    ),
  ),
  pick.map((p) => aboutLease('extend and release', p, extendAndRelease)),
  // The answer to the acquire never arrived, so the fencing token is not known.
  pick.map((p) =>
    aboutLease('extend unanswered', p, (m, s, lease) => extend(m, s, [{ ...lease, fencingToken: 0 }])),
  ),
  // A lease that the store never heard of.
  name.map((n) => command(`release unknown ${n}`, (m, s) => release(m, s, m.newLease(n), {}))),
  name.map((n) => command(`expire ${n}`, (m, s) => expire(m, s, n))),
  constantFrom(command('forget all', forgetAll)),
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
