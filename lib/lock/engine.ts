import { processOf } from '../contract/line.js';
import { type Clock, inModuleContext, UnderWay } from '../base/clock.js';
import { LockStateError } from '../base/errors.js';
import type { Emit, Hears } from '../contract/events/events.js';
import { SafeStore, wasNotApplied } from './access/safe-store.js';
import { Outages } from './access/outages.js';
import { TimeLimits } from './access/time-limits.js';
import type { ExtendResult, LeaseRef, LockStore } from '../contract/lock-store.js';
import { Heartbeat } from './heartbeat.js';
import type { Recorder } from './recorder.js';
import { Releases } from './releases.js';
import { Waits } from './waits.js';

/** What all runs of one application share: the store, the leases that are kept, and whom to report to. */
export class Engine {
  readonly store: SafeStore;
  readonly limits: TimeLimits;
  /** Runs that wait for the store, and tries of releases: a shutdown waits for them. */
  readonly underWay = new UnderWay();
  readonly outages: Outages;
  readonly releases: Releases;
  readonly heartbeat: Heartbeat;
  readonly waits: Waits;
  recorder: Recorder | undefined;
  /** Jobs whose schedule was found to differ between instances. */
  readonly mismatched = new Set<string>();
  /** The jobs whose last run here went wrong. */
  readonly wrong = new Map<string, 'failed' | 'hollow'>();
  /** Whether the application shuts down: no lease is taken any more, and one that the store still grants is given back at once. */
  closing = false;
  /** Whether the shutdown is over: leases of jobs that go on are left to expire. */
  closed = false;
  readonly #stopListening: () => void;

  constructor(
    store: LockStore,
    readonly instance: string,
    readonly clock: Clock,
    readonly emit: Emit,
    private readonly storeTimeout: number,
    readonly hears: Hears = () => true,
  ) {
    this.limits = new TimeLimits(clock, () => store.onSilence);
    this.store = new SafeStore(store, this.limits);
    this.outages = new Outages(instance, clock, emit, () => store.partitioned === true);
    this.releases = new Releases(this.store, clock, this.outages, this.underWay);
    this.heartbeat = new Heartbeat(clock, (refs) => this.#extend(refs));
    this.waits = new Waits(store, clock, processOf(instance));
    const retry = (): void => {
      this.heartbeat.renewFailed();
      this.releases.reconnected();
      this.waits.reconnected();
    };
    // A connection may notify in the async context of the call that opened it.
    const stops = [
      store.onAvailable?.(() => inModuleContext(retry)),
      store.onLost?.((name, holder) => this.heartbeat.lost(name, holder)),
    ];
    this.#stopListening = () => stops.forEach((stop) => stop?.());
  }

  /** Renews no more. Resolves when no timer and no store call is left. */
  async close(): Promise<void> {
    const renewals = this.heartbeat.leases().flatMap(({ renewal }) => renewal ?? []);
    this.heartbeat.stop();
    this.#stopListening();
    this.waits.stop();
    await Promise.all(renewals);
    this.releases.close();
    // Each pending store call, and each release that follows from it, is answered or given up within its limit.
    await this.underWay.idle();
    this.limits.stop();
    this.closed = true;
  }

  async #extend(refs: readonly LeaseRef[]): Promise<ExtendResult[]> {
    // A lease with a short ttl cannot wait for as long as one with a long ttl.
    const limit = refs.reduce((least, { ttl }) => Math.min(least, ttl / 3), this.storeTimeout);
    try {
      const results = await this.limits.within(this.store.extend(refs, { limit }), limit);
      // While one node of a cluster is away, the answers of the others do not end the outage.
      const away = results.some(
        (result) => result.held === null && !(result.error instanceof LockStateError),
      );
      for (const [index, result] of results.entries()) {
        const { name = '' } = refs[index] ?? {};
        if (result.held === null) this.outages.failed(result.error, 'extend', [name]);
        else if (!away) this.outages.succeeded('extend', name);
      }
      return results;
    } catch (error) {
      // The next try goes over another connection.
      if (!wasNotApplied(error as Error)) void this.store.reconnect(limit);
      const locks = refs.map(({ name }) => name);
      this.outages.failed(error as Error, 'extend', locks);
      throw error;
    }
  }
}
