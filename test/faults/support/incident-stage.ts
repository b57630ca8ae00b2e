import { pathToFileURL } from 'node:url';
import type {
  LockHealth,
  LockStore,
  SchedulerLockModuleOptions,
  SchedulerLockOptions,
} from '../../../lib/index.js';
import { type ChildMessage, spawnChild } from '../../support/child.js';
import { builtScript } from '../../support/machine.js';
import { shell } from '../../support/shell.js';
import { until } from '../../support/until.js';
import type { StoreAddress } from '../children/open-store.js';
import type { TcpProxy } from '../proxy/tcp-proxy.js';
import { Instance } from './instance.js';

/* The stage of an incident: a store of its own, a way to it that can be cut, and the processes of a fleet. */

/** What crosses the channel to a member of the fleet: options of its module. */
export type MemberOptions = Pick<
  SchedulerLockModuleOptions,
  | 'ttl'
  | 'heartbeat'
  | 'storeTimeout'
  | 'shutdownTimeout'
  | 'instanceId'
  | 'keyPrefix'
  | 'insight'
  | 'overdue'
> & { readonly store: StoreAddress };

/** Its one job. */
export interface MemberJob extends Pick<SchedulerLockOptions, 'enabled' | 'oncePerTick' | 'timeout'> {
  readonly schedule: string;
  /** @default 'UTC' */
  readonly timeZone?: string;
  /** Whether it goes on until the member is closed, whatever its signal says. @default it ends at once */
  readonly stays?: boolean;
}

/** The metrics that tell how a job is. What is absent is not told. */
export interface Gauges {
  readonly overdue?: number;
  readonly overtime?: number;
  readonly interruptions?: number;
  readonly interrupted?: number;
  readonly available?: number;
}

export interface Readings {
  readonly health: LockHealth;
  readonly gauges: Gauges;
  /** The least that it has ever said of how much the job is overdue; `null`: it has said nothing. */
  readonly least: number | null;
}

/** Where the store of one incident is. */
export interface Place {
  readonly proxy: TcpProxy;
  address(way: 'straight' | 'proxied'): StoreAddress;
  /** What else the module, and the shell, are given. */
  readonly options: Pick<SchedulerLockModuleOptions, 'keyPrefix'>;
  readonly shell: { readonly url: string; readonly args: readonly string[] };
  readonly store: LockStore;
  close(): Promise<void>;
}

/** How long after its tick the job is overdue, ms. */
export const GRACE = 2_000;
/** The time between the choice of a tick and that tick, ms: members start within it. */
export const LEAD = 4_000;
/** How long before its tick all has to be in place, ms. */
const MARGIN = 300;

/** The machine was too slow for a story: its tick came before all was in place. */
export class TooSlow extends Error {}

/** An instance of the fleet. */
export class Member extends Instance {
  /** Closes the application; the process goes on, for another one. */
  async leave(): Promise<void> {
    this.child.send({ type: 'stop' });
    await this.next('stopped');
  }

  /** Is as one that has just been loaded. */
  refresh(): void {
    this.child.forget();
  }

  start(options: MemberOptions, job: MemberJob): Promise<ChildMessage> {
    this.child.send({ type: 'start', options, job });
    return this.next('ready');
  }

  async read(): Promise<Readings> {
    this.child.send({ type: 'read' });
    return (await this.next('readings')) as unknown as Readings;
  }

  /** Runs the tick of the day before, to its end if the job ends by itself. */
  async runYesterday({ stays = false } = {}): Promise<void> {
    if (!(await this.fire())) throw new Error('The run of the day before was refused');
    if (!stays) await this.next('event:released');
  }
}

export interface MemberSettings extends Partial<MemberOptions> {
  readonly job?: Partial<MemberJob>;
  readonly way?: 'straight' | 'proxied';
}

export class Stage {
  readonly members: Member[] = [];
  readonly #started: Member[] = [];
  /** Their clocks are wrong. */
  readonly #shifted = new Set<Member>();
  /** The tick of this day, soon: see {@link choose}. */
  tick = Infinity;

  /** @param idle processes without an application, of earlier incidents: to start one takes long */
  constructor(
    readonly place: Place,
    private readonly idle: Member[],
    private readonly lead: number,
  ) {}

  /** Processes that are ready to start. @param offsets by how much the clock of each is wrong, ms */
  async load(...offsets: number[]): Promise<Member[]> {
    const shift = pathToFileURL(builtScript('test/chaos/worker/shift-clock.js')).href;
    const members = offsets.map(async (offset) => {
      const used = offset === 0 ? this.idle.pop() : undefined;
      if (used !== undefined) {
        this.#started.push(used);
        return used;
      }
      const env = { NODE_OPTIONS: `--import=${shift}`, CHAOS_CLOCK_OFFSET: String(offset) };
      const child = await spawnChild(
        builtScript('test/faults/children/incident.js'),
        offset === 0 ? {} : { env },
      );
      const member = new Member(child);
      this.#started.push(member);
      if (offset !== 0) this.#shifted.add(member);
      await member.next('loaded');
      return member;
    });
    const loaded = await Promise.all(members);
    this.members.push(...loaded);
    return loaded;
  }

  /** The job is due once a day, in a few seconds for the first time. */
  choose(lead = this.lead): void {
    this.tick = Math.ceil((Date.now() + lead) / 1_000) * 1_000;
  }

  /** Starts a member with the nightly job, if it is told nothing else. */
  async start(
    member: Member,
    instanceId: string,
    { job, way = 'straight', ...options }: MemberSettings = {},
  ): Promise<void> {
    await member.start(
      {
        store: this.place.address(way),
        ...this.place.options,
        instanceId,
        ttl: 1_500,
        heartbeat: 300,
        shutdownTimeout: 1_000,
        insight: { beat: '1s' },
        overdue: GRACE,
        ...options,
      },
      { schedule: dailyAt(this.tick), ...job },
    );
    const { history } = this.place.store;
    const known = async () => (await history?.instances())?.some(({ instance }) => instance === instanceId);
    await until(known, { message: `${instanceId} to be known`, interval: 20 });
  }

  /** All is in place. @throws TooSlow if the tick has come, or may come at any moment */
  inTime(): void {
    if (Date.now() > this.tick - MARGIN) throw new TooSlow('The tick came before all was in place');
  }

  /** The job is overdue, if nobody has started it. */
  async pass(graces = 1): Promise<void> {
    await until(() => Date.now() > this.tick + graces * GRACE, { interval: 20 });
  }

  /** All of the shell but its process, whose start would be most of the work: see test/package/shell for that. */
  async shell(command: 'status' | 'why'): Promise<{ readonly code: number; readonly said: unknown }> {
    const { url, args } = this.place.shell;
    const about = command === 'why' ? ['nightly'] : [];
    const { code, out, err } = await shell(url, command, ...about, '--json', ...args);
    if (err !== '') throw new Error(`${command}: ${err}`);
    return { code, said: JSON.parse(out) as unknown };
  }

  /** What is left of the fleet has to close cleanly. */
  async clear(): Promise<void> {
    await this.place.proxy.refuse(false);
    this.place.proxy.delay(0);
    const alive = this.#started.filter((member) => member.running);
    await Promise.all(alive.map((member) => member.leave()));
    for (const member of alive) member.refresh();
    this.idle.push(...alive.filter((member) => !this.#shifted.has(member)));
    await Promise.all([...this.#shifted].map((member) => member.close()));
    await this.place.close();
  }

  /** Ends it, however it is. */
  async drop(): Promise<void> {
    await Promise.all(this.#started.map((member) => member.discard()));
    await this.place.close();
  }
}

function dailyAt(time: number): string {
  const date = new Date(time);
  return `${date.getUTCSeconds()} ${date.getUTCMinutes()} ${date.getUTCHours()} * * *`;
}
