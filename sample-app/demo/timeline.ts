import type { Fact } from './history.js';
import { paint, type Style } from './paint.js';
import type { LockReport } from './reports.js';

/** Reports of different processes arrive in any order within this time: they are sorted before they are shown. */
const SETTLE_MS = 60;

/** How the lines of a demo look. */
export interface Layout {
  /** Columns of a lane. */
  readonly lane: number;
  /** The job that runs long enough to have a beginning, a middle and an end. */
  readonly longJob: string;
  /** How its start is told. */
  readonly starts: (fencingToken: number) => string;
}

const TWO_LANES: Layout = {
  lane: 41,
  longJob: 'report',
  starts: (token) => `starts, fencing token ${token}`,
};

interface Entry {
  at: number;
  /** Which run begins with it: instance and job. */
  begins?: string;
  /** Because of which run it is: a refusal can be heard of before the grant that was its reason. */
  follows?: string;
  show: () => void;
}

/** Prints what happens in one timeline, with a lane for each instance, as it happens. Fits 100 columns. */
export class Timeline {
  readonly #entries: Entry[] = [];
  /** When each run began that has not ended yet, by instance and job. */
  readonly #begun = new Map<string, number>();
  readonly #ended = new Set<string>();
  /** Who stands in line for the long job. */
  readonly #waiting = new Set<string>();
  #printer: NodeJS.Timeout | undefined;

  /** @param start time 0 */
  constructor(
    private readonly lanes: readonly string[],
    private readonly start: number,
    private readonly print: (line: string) => void,
    private readonly layout = TWO_LANES,
  ) {}

  header(titles: readonly string[]): void {
    const cells = titles.map((title) => title.padEnd(this.layout.lane)).join('  ');
    this.print(paint(`${'time'.padStart(6)}  ${'job'.padEnd(6)}  ${cells.trimEnd()}`, 'bold'));
    this.print(
      `${'─'.repeat(6)}  ${'─'.repeat(6)}  ${this.lanes.map(() => '─'.repeat(this.layout.lane)).join('  ')}`,
    );
  }

  fact(fact: Fact): void {
    const { instance, at } = fact;
    if (fact.type === 'instance-ended') return this.#add({ at }, () => void this.#ended.add(instance));
    const key = `${instance} ${fact.job}`;
    this.#add({ at, ...(fact.type === 'run-started' ? { begins: key } : {}) }, () => {
      const token = `fencing token ${fact.fencingToken}`;
      if (fact.type === 'run-started') {
        this.#begun.set(key, at);
        if (!this.#isLong(fact.job)) return;
        this.#waiting.delete(instance);
        this.#line(at, fact.job, instance, `┏ ${this.layout.starts(fact.fencingToken)}`, 'green', 'bold');
        return;
      }
      const took = duration(at - (this.#begun.get(key) ?? at));
      this.#begun.delete(key);
      if (this.#isLong(fact.job)) {
        const how = fact.outcome === 'completed' ? 'done' : 'stopped';
        this.#line(at, fact.job, instance, `┗ ${how} after ${took}`, 'green', 'bold');
      } else if (fact.outcome === 'completed') {
        this.#line(at, fact.job, instance, `● ${took}, ${token}`, 'green');
      } else {
        this.#line(at, fact.job, instance, `✗ fails, ${token}`, 'yellow');
      }
    });
  }

  lock(instance: string, report: LockReport): void {
    const { at, lock, event, ahead = 0 } = report;
    this.#add({ at, ...(event === 'skipped' ? { follows: `${report.holder} ${lock}` } : {}) }, () => {
      if (event === 'renewed') this.#line(at, lock, instance, '┣ heartbeat: lease renewed', 'dim');
      if (event === 'waiting') {
        this.#waiting.add(instance);
        this.#line(
          at,
          lock,
          instance,
          `┊ waits, ${ahead === 0 ? 'first in line' : `${ahead} ahead`}`,
          'cyan',
        );
      }
      if (event === 'lost') this.#line(at, lock, instance, `! lost its lease (${report.reason})`, 'red');
      // That a job does not run beside itself in one process needs no fleet to show.
      if (event === 'skipped' && report.holder !== instance) {
        this.#line(at, lock, instance, `· skipped: ${this.#why(report)}`, 'dim');
      }
    });
  }

  /** A line over all lanes. */
  banner(at: number, text: string, style: Style): void {
    this.#add({ at }, () => {
      const width = 6 + this.lanes.length * (this.layout.lane + 2);
      const line = `━━━━ ${text} `.padEnd(width, '━');
      this.print(`${this.#time(at)}  ${paint(line, style, 'bold')}`);
    });
  }

  /** Prints what still waits to be sorted. */
  flush(): void {
    clearTimeout(this.#printer);
    this.#printer = undefined;
    const entries = this.#entries.splice(0);
    const order = ({ at, follows }: Entry): number => {
      const cause = entries.find(({ begins }) => follows !== undefined && begins === follows);
      return Math.max(at, cause?.at ?? at);
    };
    const rank = ({ follows }: Entry): number => (follows === undefined ? 0 : 1);
    const sorted = entries.toSorted(
      (one, other) => order(one) - order(other) || rank(one) - rank(other) || one.at - other.at,
    );
    for (const { show } of sorted) show();
  }

  #why({ reason, holder, expiresIn }: LockReport): string {
    if (reason === 'already-ran') return 'this tick has been run';
    if (reason !== 'held') return String(reason);
    if (holder === undefined) return 'somebody has the lock';
    if (!this.#ended.has(holder) || expiresIn === undefined) return `${holder} has the lock`;
    return `${holder}'s lease lives on for ${duration(expiresIn)}`;
  }

  #add(entry: Omit<Entry, 'show'>, show: () => void): void {
    this.#entries.push({ ...entry, show });
    this.#printer ??= setTimeout(() => this.flush(), SETTLE_MS);
  }

  #line(at: number, job: string, instance: string, text: string, ...styles: Style[]): void {
    const last = this.lanes.length - 1;
    const lanes = this.lanes.map((lane, index) => {
      const width = index === last ? 0 : this.layout.lane;
      if (lane === instance) return this.#cell(lane, job, text, width, styles);
      return paint(this.#bar(lane).padEnd(width), this.#colour(lane));
    });
    this.print(`${this.#time(at)}  ${job.padEnd(6)}  ${lanes.join('  ')}`.trimEnd());
  }

  /** What another job does while the long one runs goes beside its bar. */
  #cell(lane: string, job: string, text: string, width: number, styles: Style[]): string {
    if (this.#isLong(job) || !this.#runs(lane)) return paint(text.padEnd(width), ...styles);
    return `${paint('┃', 'green')} ${paint(text.padEnd(width - 2), ...styles)}`;
  }

  #bar(lane: string): string {
    if (this.#runs(lane)) return '┃';
    if (this.#ended.has(lane)) return '';
    return this.#waiting.has(lane) ? '┊' : '│';
  }

  #colour(lane: string): Style {
    if (this.#runs(lane)) return 'green';
    return this.#waiting.has(lane) ? 'cyan' : 'dim';
  }

  #isLong(job: string): boolean {
    return job === this.layout.longJob;
  }

  #runs(lane: string): boolean {
    return this.#begun.has(`${lane} ${this.layout.longJob}`) && !this.#ended.has(lane);
  }

  #time(at: number): string {
    return ((at - this.start) / 1_000).toFixed(2).padStart(6);
  }
}

/** `6 ms`, `8.0 s`. */
export function duration(milliseconds: number): string {
  return milliseconds < 100 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1_000).toFixed(1)} s`;
}
