import type { Clock } from '../../base/clock.js';
import type { SchedulerLockError } from '../../base/errors.js';
import type { Caller } from '../../contract/fast-port.js';
import { changeOf, isSame } from './changes.js';
import { Guesses, nowOf } from './guesses.js';
import {
  isRenewal,
  type Lane,
  notWritten,
  momentFor,
  overtaken,
  pauseBefore,
  takeFirst,
  type Task,
  tooLate,
  unsettled,
  type Wanted,
} from './lanes.js';
import type { LockDocuments } from '../../contract/port.js';
import type { Lines } from '../entries/lines.js';
import { type Found, Looks } from './looks.js';
import type { Hint, LineChange } from '../lock/document.js';
import { callFirst } from '../lock/in-line.js';
import { hasLine } from '../lock/mark.js';

/** The most locks for one read, and the most changes for one write: what one writes at once, the others cannot have. */
const READ_AT_ONCE = 250;
const WRITE_AT_ONCE = 25;
/** How long somebody is called who has come just when a lock was given back, ms. */
const CALLS = 1_000;

/** What {@link Rounds} need besides a place: see `DocumentLockStoreOptions`. */
interface RoundsOptions {
  readonly clock: Clock;
  readonly hint: ((hint: Hint) => void) | undefined;
  readonly locked: ((name: string) => SchedulerLockError) | undefined;
  /** Absent: no call waits. */
  readonly lines: Lines | undefined;
}

/**
 * Carries calls out: reads, decides, writes if nothing has changed, and tries again if something has. Calls of one turn of the event loop
 * share reads and writes: the jobs of the same second have a timer each, and all of these fire in one turn.
 */
export class Rounds {
  readonly #clock: Clock;
  readonly #lanes = new Map<string, Lane>();
  #ready = new Set<Lane>();
  readonly #guesses: Guesses;
  readonly #looks: Looks;

  constructor(
    private readonly documents: LockDocuments,
    private readonly options: RoundsOptions,
  ) {
    this.#clock = options.clock;
    this.#guesses = new Guesses(options.clock);
    this.#looks = new Looks(documents, options.lines, options.clock, ({ name, version }) =>
      this.#guesses.saw(name, version),
    );
  }

  add<T>(task: Task<T>): void {
    const lane = this.#lanes.get(task.name);
    if (lane !== undefined && !this.#isGivenUp(lane)) return void lane.tasks.push(task);
    // Nobody waits for the first one any more. Those behind it, and this one, wait for its answer no longer.
    const tasks = [...(lane?.tasks.splice(1) ?? []), task];
    const opened = { name: task.name, tasks, tries: 0 };
    this.#lanes.set(task.name, opened);
    this.#start(opened);
  }

  /** One that is not sent yet keeps its place: one read, and one write, names a lock once. */
  #isGivenUp(lane: Lane): boolean {
    const [first] = lane.tasks;
    if (first === undefined || this.#ready.has(lane)) return false;
    return first.told.givenUp ?? this.#clock.monotonic() > first.until;
  }

  #start(lane: Lane): void {
    this.#ready.add(lane);
    if (this.#ready.size === 1) momentFor(lane)(this.#send);
  }

  readonly #send = (): void => {
    const lanes = [...this.#ready];
    this.#ready = new Set();
    const renewals = lanes.filter(isRenewal);
    const others = lanes.filter((lane) => !isRenewal(lane));
    if (renewals.length > 0) void this.#carryOut(renewals);
    for (let i = 0; i < others.length; i += READ_AT_ONCE)
      void this.#carryOut(others.slice(i, i + READ_AT_ONCE));
  };

  /** Carries out the first task of each of these lanes. */
  async #carryOut(lanes: readonly Lane[]): Promise<void> {
    let open = lanes;
    if (open.some(isRenewal)) open = await this.#renew(open);
    else open = await this.#guess(open);
    while (open.length > 0) {
      const unwritten: Lane[] = [];
      for (let i = 0; i < open.length; i += READ_AT_ONCE)
        unwritten.push(...(await this.#readAndWrite(open.slice(i, i + READ_AT_ONCE))));
      await this.#pause(unwritten);
      open = unwritten;
    }
  }

  /** Renews what can be renewed without a look. Returns the others. */
  async #renew(lanes: readonly Lane[]): Promise<readonly Lane[]> {
    const asked = lanes.flatMap((lane) => {
      const renewal = lane.tasks[0]?.renewal;
      return renewal === undefined ? [] : [{ lane, ...renewal }];
    });
    let renewed: readonly boolean[];
    try {
      renewed = Array.from(await this.documents.renew(asked.map(({ of }) => of)));
    } catch (error) {
      return this.#fail(lanes, error);
    }
    return asked.flatMap(({ lane, of, answer }, i) => {
      if (renewed[i] !== true) return [lane];
      this.#guesses.renewed(of.name, of.ttl);
      this.#done(lane, answer);
      return [];
    });
  }

  /** Writes what is to be written if the guesses are right. Returns the others. */
  async #guess(lanes: readonly Lane[]): Promise<readonly Lane[]> {
    const wanted: Wanted[] = [];
    const others = lanes.filter((lane) => {
      const look = this.#guesses.of(lane.name);
      const found = look && this.#byGuess(lane, look);
      if (found !== undefined) wanted.push(found);
      return found === undefined;
    });
    const unwritten = wanted.length === 0 ? [] : await this.#write(wanted);
    for (const lane of unwritten) {
      if (lane.tries === 0) continue;
      this.#guesses.wrong(lane.name);
      // Nobody has looked yet.
      lane.tries = 0;
    }
    return [...others, ...unwritten];
  }

  /** A guess never refuses a call. */
  #byGuess(lane: Lane, look: Found): Wanted | undefined {
    const { byClock, line } = lane.tasks[0] ?? {};
    const isOfLine = line === 'always' || (line !== undefined && hasLine(look.document, look.time));
    if (byClock === true || isOfLine) return undefined;
    try {
      return this.#decide(lane, look).wanted;
    } catch {
      return undefined;
    }
  }

  /** Returns lanes whose documents have changed meanwhile. */
  async #readAndWrite(lanes: readonly Lane[]): Promise<readonly Lane[]> {
    const asked = this.#withoutGivenUp(lanes);
    if (asked.length === 0) return [];
    // Calls that are made from now on have to be judged by what is read from now on.
    const counts = asked.map(({ tasks }) => tasks.length);
    let found: (name: string) => Found;
    try {
      found = await this.#looks.at(asked);
    } catch (error) {
      return this.#fail(asked, error);
    }
    const wanted = asked.flatMap(
      (lane, i) => this.#byLook(lane, counts[i] ?? 0, () => found(lane.name)) ?? [],
    );
    const open = wanted.filter((one) => !this.#isOver(one));
    return open.length === 0 ? [] : this.#write(open);
  }

  /** Answers the first tasks of a lane, so many at most, up to one for which something is to be written. */
  #byLook(lane: Lane, count: number, look: () => Found): Wanted | undefined {
    for (let i = 0; i < count && lane.tasks.length > 0; i++) {
      const found = this.#judged(lane, look);
      if ('wanted' in found) return found.wanted;
      if ('first' in found) {
        this.#inLine(lane, found.first, found.now);
        continue;
      }
      this.#tell(lane, (told) => ('error' in found ? told.failed(found.error) : told.answered(found.answer)));
    }
    this.#goOn(lane);
    return undefined;
  }

  /** The line has to change first: the task comes back then, and holds up nobody meanwhile. */
  #inLine(lane: Lane, { enters, leaves }: LineChange, now: number): void {
    const { lines } = this.options;
    const { name } = lane;
    const task = takeFirst(lane);
    if (task === undefined || lines === undefined) return;
    if (task.told.givenUp === true) return task.told.failed(tooLate());
    const done =
      enters === undefined ? lines.leave(name, leaves ? [leaves] : []) : lines.enter(name, enters, now);
    void done.then(
      () => this.add(enters === undefined ? task : { ...task, hasEntered: true }),
      (error: unknown) => task.told.failed(error as Error),
    );
  }

  #judged(
    lane: Lane,
    look: () => Found,
  ): { answer: unknown } | { wanted: Wanted } | { error: Error } | { first: LineChange; now: number } {
    try {
      const { answer, wanted, first, now } = this.#decide(lane, look());
      const isPast = first?.enters !== undefined && lane.tasks[0]?.hasEntered === true;
      if (first !== undefined && !isPast) return { first, now };
      if (wanted !== undefined) return { wanted };
      return lane.isUnsure === true ? { error: overtaken() } : { answer };
    } catch (error) {
      return { error: error as Error };
    }
  }

  #decide(
    lane: Lane,
    look: Found,
  ): { answer: unknown; wanted?: Wanted; first?: LineChange | undefined; now: number } {
    const [task] = lane.tasks;
    if (task === undefined) throw new Error('A lane without a task');
    const now = nowOf(look, this.#clock);
    const { line } = look;
    if (line instanceof Error && task.line !== undefined && task.line !== 'gives back') throw line;
    const standing = line instanceof Error ? undefined : line;
    const { answer, change, hint, first, over, looksAgain } = task.decide(look.document, now, standing);
    if (change === undefined) return { answer, first, now };
    const wanted = { lane, answer, hint, over, looksAgain, ...changeOf(lane.name, look, change, now) };
    return { answer, wanted, first, now };
  }

  /**
   * Writes a few changes at a time, from a random place on: so instances that are at it at the same time meet seldom, and share the
   * locks. Ends at the first one that was not written: where others are as well, a look refuses many at once.
   *
   * @returns those that are left
   */
  async #write(all: readonly Wanted[]): Promise<Lane[]> {
    const first = Math.floor(Math.random() * all.length);
    const left = all.slice(first).concat(all.slice(0, first));
    try {
      while (left.length > 0) {
        const sent = left.splice(0, WRITE_AT_ONCE);
        const open = this.#withoutGivenUp(sent.map(({ lane }) => lane));
        const asked = open.length === sent.length ? sent : sent.filter(({ lane }) => open.includes(lane));
        if (asked.length === 0) continue;
        left.unshift(...asked);
        const written = Array.from(await this.documents.write(asked.map(({ change }) => change)));
        left.splice(0, asked.length);
        const unwritten = asked.filter((one, i) => !this.#wrote(one, written[i]));
        if (unwritten.length > 0) return [...unwritten, ...left].map(({ lane }) => lane);
      }
      return [];
    } catch (error) {
      return this.#fail(
        left.map(({ lane }) => lane),
        error,
      );
    }
  }

  #wrote(wanted: Wanted, isWritten: boolean | undefined): boolean {
    const { lane, change, after, answer, hint, over = [], looksAgain } = wanted;
    if (isWritten !== true) return (notWritten(lane, change.seen, isWritten), false);
    this.#guesses.wrote(lane.name, after);
    if (hint !== undefined) this.options.hint?.(hint);
    // Whoever reads the line next passes over those that are still there.
    if (over.length > 0) void this.options.lines?.leave(lane.name, over).catch(() => undefined);
    this.#done(lane, answer);
    if (looksAgain === true) this.#callFirst(lane.name);
    return true;
  }

  /** Calls somebody who has come just when the lock was given back. */
  #callFirst(name: string): void {
    this.add<undefined>({
      name,
      decide: (document, now, standing = []) => callFirst(document, now, standing),
      line: 'always',
      until: this.#clock.monotonic() + CALLS,
      told: { answered: () => undefined, failed: () => undefined },
    });
  }

  async #pause(unwritten: readonly Lane[]): Promise<void> {
    const pause = pauseBefore(unwritten, this.#clock.monotonic());
    if (pause > 0)
      await new Promise<void>((resolve) => this.#clock.setTimer(resolve, pause, { keepAlive: true }));
  }

  /**
   * Whether it is too late for a change that others have prevented. Whoever has lost a race decides on what it then reads, so this comes after
   * the look: that one has found nothing to refuse the call for. Nobody knows of the lock, then, and the call says so.
   */
  #isOver({ lane, change }: Wanted): boolean {
    const { name, tasks, tries, triedOver } = lane;
    if (tries === 0 || this.#clock.monotonic() <= (tasks[0]?.until ?? 0)) return false;
    const isLocked = isSame(triedOver, change.seen);
    const lost = tasks[0]?.lost;
    if (lost !== undefined && !isLocked) return (this.#done(lane, lost), true);
    this.#fail([lane], (isLocked && this.options.locked?.(name)) || unsettled(name, isLocked));
    return true;
  }

  /** Nobody waits for them any more. An attempt's undo may be over by then, so a late lease would stay. */
  #withoutGivenUp(lanes: readonly Lane[]): readonly Lane[] {
    const isOpen = (lane: Lane) =>
      lane.tasks[0]?.told.givenUp !== true && this.#lanes.get(lane.name) === lane;
    const open = lanes.filter(isOpen);
    if (open.length < lanes.length)
      this.#fail(
        lanes.filter((lane) => !open.includes(lane)),
        tooLate(),
      );
    return open;
  }

  #done(lane: Lane, answer: unknown): void {
    this.#tell(lane, (told) => told.answered(answer));
    this.#goOn(lane);
  }

  #fail(lanes: readonly Lane[], error: unknown): [] {
    for (const lane of lanes) {
      const failure = lane.isUnsure === true ? overtaken() : (error as Error);
      this.#tell(lane, (told) => told.failed(failure));
      this.#goOn(lane);
    }
    return [];
  }

  /** The first task of a lane is over. */
  #tell(lane: Lane, tell: (told: Caller<unknown>) => void): void {
    const task = takeFirst(lane);
    if (task !== undefined) tell(task.told);
  }

  #goOn(lane: Lane): void {
    const { name, tasks } = lane;
    // It was given up, and held up nobody.
    if (this.#lanes.get(name) !== lane) return;
    if (tasks.length === 0) return void this.#lanes.delete(name);
    this.#start(lane);
  }
}
