import type { Clock } from '../base/clock.js';
import { formatDuration } from '../base/duration.js';
import type { HistoryStore } from '../contract/history-store.js';
import type { LockStore } from '../contract/lock-store.js';
import { Beats, type Shown } from './beats.js';
import { given } from '../base/shared.js';
import { problemsWith } from './others.js';
import { Reader, toldOf } from './read.js';
import { Watch } from './watch.js';
import type { Refused, Watcher } from './watched-job.js';

/** The instance that is present. */
export interface Self
  extends
    Omit<Watcher, 'clockOffset' | 'withTicks'>,
    Pick<Shown, 'application' | 'version' | 'every' | 'jobs' | 'leads'> {
  /** Whether it has a job, or may have it again. */
  readonly knows: (job: string) => boolean;
  /** The store has answered a beat. @param took how long that took, ms */
  readonly heard: (took: number) => void;
  /** What is wrong, for people. */
  readonly warn: (problem: string) => void;
}

/** Shows the fleet that an instance is up, and notices jobs that did not run, and runs of it that hang. */
export class Presence {
  readonly watch: Watch;
  readonly beats: Beats;
  #hasLooked = false;
  /** The last beat. */
  #left: Promise<void> | undefined;

  constructor(
    private readonly history: HistoryStore,
    inspect: LockStore['inspect'],
    clock: Clock,
    private readonly self: Self,
  ) {
    const { every, runs } = self;
    const [withTicks, clockOffset] = [every === 'with-ticks', () => this.beats.clockOffset];
    this.watch = new Watch(new Reader(history, inspect), history, clock, { ...self, withTicks, clockOffset });
    this.beats = new Beats(history, clock, {
      ...self,
      jobs: () => this.#shown(),
      hung: () =>
        runs().flatMap(({ hung, job = '', fencingToken, tick }) =>
          hung ? [{ job, fencingToken, ...given({ tick }) }] : [],
        ),
      answered: (took) => {
        self.heard(took);
        this.watch.answered(undefined);
        this.#lookForOthers();
      },
      skewed: (offset) => self.warn(skewedBy(offset)),
      problem: (problem) => {
        self.warn(`Runs are not remembered at the moment: ${problem}`);
        this.watch.answered(problem);
      },
    });
  }

  /** A run of a job that is scheduled begins here. */
  began(job: string, tick: number | undefined, isUnlocked: boolean): void {
    this.watch.began(job, tick, isUnlocked);
    this.beats.ticked();
  }

  /** A call by the scheduler did not start its job. */
  refused(job: string, tick: number | undefined, why: Refused): void {
    this.watch.refused(job, tick, why);
    this.beats.ticked();
  }

  /** The instance shuts down. */
  stop(): void {
    this.watch.stop();
    this.#left = this.beats.stop();
  }

  /** Resolves when the last beat is over. */
  async left(): Promise<void> {
    await this.#left;
  }

  /** What this instance shows of its jobs. One that was made at run time and deleted is not watched any more. */
  #shown(): ReturnType<Self['jobs']> {
    for (const job of this.watch.jobs) if (!this.self.knows(job)) this.watch.remove(job);
    return this.self.jobs();
  }

  /** Looks once, after an answer of the store: so if two start at the same time, one sees the other. */
  #lookForOthers(): void {
    if (this.#hasLooked) return;
    this.#hasLooked = true;
    const { application, jobs, warn } = this.self;
    const look = async (): Promise<void> => {
      const others = toldOf(await this.history.instances());
      for (const problem of problemsWith(others, jobs(), application)) warn(problem);
    };
    // Only a hint: it looks again at the next answer of the store.
    void look().catch(() => (this.#hasLooked = false));
  }
}

function skewedBy(offset: number): string {
  const differs = `${formatDuration(Math.abs(offset))} ${offset < 0 ? 'ahead of' : 'behind'}`;
  const so =
    offset < 0 ? 'No other instance runs the ticks of that time' : 'Other instances start each tick first';
  return `The clock of this machine is ${differs} that of the store. ${so}. Keep the clocks of all machines in step (NTP).`;
}
