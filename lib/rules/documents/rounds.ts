import { afterThis, atEndOfTurn, type Clock } from '../../base/clock.js';
import { type SchedulerLockError, StoreUnavailableError } from '../../base/errors.js';
import type { Caller } from '../../contract/fast-port.js';
import type { LockDocuments, Renewal, SeenDocument } from '../../contract/port.js';
import type { Lines } from '../entries/lines.js';
import type { Decision, LineChange, Rule } from '../lock/document.js';
import { hasLine } from '../lock/in-line.js';
import { changeOf, type Found, type LookedAt, Looks, nowOf } from './looks.js';
import { type Asked, each, Together } from '../entries/together.js';
import { apart } from '../entries/tries.js';

/** The most locks for one read, and the most changes for one write: what one writes at once, the others cannot have. */
const READ_AT_ONCE = 250;
const WRITE_AT_ONCE = 25;
/** How long the last try of a call may take whose caller cannot give it up, ms. */
const LAST_TRY = 10_000;

/** One call for one lock, and how far it has come. */
export interface Task<T> {
  readonly name: string;
  /** Decides again and again, until that is written. */
  readonly decide: Rule<T>;
  /** Whether it goes by the line. `marked`: if the document says so. `gives back`: then, but also if the line cannot be read. Absent: not. */
  readonly line?: 'always' | 'marked' | 'gives back';
  /** Whether the decision depends on what time it is at the place: then it takes a look. The time of a guess is only reckoned. */
  readonly byClock?: boolean;
  /** A renewal is tried first, without a look: if it succeeds, this is the answer. */
  readonly renewal?: { readonly of: Renewal; readonly answer: T };
  /** When it is too late for another try, monotonic. */
  readonly until: number;
  /** The answer of an attempt that has lost the race for its lock until then: whoever has won each time is at it. Any other call fails. */
  readonly lost?: T;
  readonly told: Caller<T>;
  /** It has entered the line. If it is there no more, its wait was shorter than the way to the place: it does not enter once more. */
  hasEntered?: boolean;
  /** How often it was decided on what had been read, and somebody else has written before it. */
  tries?: number;
  /** What its last change was to be written over, and was not. */
  triedOver?: SeenDocument | null;
  /** Whether nobody can tell if a change of it was written. */
  isUnsure?: boolean;
}

/** The calls of this process for one lock: one after another, in the order in which they were made. */
interface Queue {
  readonly name: string;
  readonly tasks: Task<unknown>[];
}

/** What the first call of a queue wants to write. */
interface Wanted extends ReturnType<typeof changeOf> {
  readonly queue: Queue;
  readonly task: Task<unknown>;
  readonly decision: Decision<unknown>;
}

/** Carries calls out: reads, decides, writes if nothing has changed, and tries again if something has. Jobs of one second share reads and writes. */
export class Rounds {
  readonly #queues = new Map<string, Queue>();
  #ready = new Set<Queue>();
  readonly #looks: Looks;
  readonly #reads = new Together<LookedAt, Found>(
    READ_AT_ONCE,
    each((locks) => this.#looks.at(locks)),
  );
  readonly #writes = new Together<Wanted, boolean>(Infinity, (asked) => this.#writeAll(asked));
  readonly #renewals = new Together<Renewal, boolean>(
    Infinity,
    each((all) => this.documents.renew(all)),
  );

  /** @param locked see `DocumentLockStoreOptions` */
  constructor(
    private readonly documents: LockDocuments,
    private readonly clock: Clock,
    private readonly lines: Lines,
    private readonly locked: (name: string) => SchedulerLockError,
  ) {
    this.#looks = new Looks(documents, lines, clock);
  }

  add<T>(task: Task<T>): void {
    const { name } = task;
    const queue = this.#queues.get(name);
    if (queue !== undefined && !this.#isGivenUp(queue)) return void queue.tasks.push(task);
    // Nobody waits for the first one any more. Those behind it, and this one, wait for its answer no longer.
    const opened = { name, tasks: [...(queue?.tasks.splice(1) ?? []), task] };
    this.#queues.set(name, opened);
    this.#start(opened);
  }

  /** One that is not sent yet keeps its place: one read, and one write, names a lock once. */
  #isGivenUp(queue: Queue): boolean {
    const [first] = queue.tasks;
    if (first === undefined || this.#ready.has(queue)) return false;
    return first.told.givenUp ?? this.clock.monotonic() > first.until + LAST_TRY;
  }

  /** Only attempts come in many timers of one turn. */
  #start(queue: Queue): void {
    this.#ready.add(queue);
    if (this.#ready.size > 1) return;
    if (queue.tasks[0]?.lost !== undefined) atEndOfTurn(this.#send);
    else afterThis(this.#send);
  }

  readonly #send = (): void => {
    const queues = this.#ready;
    this.#ready = new Set();
    for (const queue of queues) void this.#serve(queue);
  };

  async #serve(queue: Queue): Promise<void> {
    try {
      await this.#carryOut(queue);
    } catch (error) {
      const task = this.#takeFirst(queue);
      task?.told.failed(task.isUnsure === true ? overtaken() : (error as Error));
    }
    if (this.#queues.get(queue.name) === queue) return this.#start(queue);
    // It was given up. Who is left had its turn only just.
    for (const task of queue.tasks.splice(0)) this.add(task);
  }

  /** Carries out the first task of a queue, and those behind it that want nothing written. */
  async #carryOut(queue: Queue): Promise<void> {
    const [task] = queue.tasks;
    if (task === undefined) return;
    const { renewal } = task;
    task.tries = 0;
    if (renewal !== undefined && (await this.#renewals.ask(renewal.of))) {
      this.#looks.renewed(queue.name, renewal.of.ttl);
      return this.#answer(queue, renewal.answer);
    }
    const guessed = this.#byGuess(queue, task);
    if (guessed !== undefined && (await this.#writes.ask(guessed))) return;
    if (task.tries > 0) this.#looks.wasWrong(queue.name);
    // Nobody has looked yet.
    task.tries = 0;
    for (;;) {
      if (!this.#isOpen(queue)) throw tooLate();
      // Calls that are made from now on have to be judged by what is read from now on.
      const { length } = queue.tasks;
      const wanted = this.#byLook(queue, length, await this.#reads.ask(askedOf(queue)));
      if (wanted === undefined || this.#isOver(wanted) || (await this.#writes.ask(wanted))) return;
      await this.#pause(wanted.task);
    }
  }

  /** A guess never refuses a call. */
  #byGuess(queue: Queue, task: Task<unknown>): Wanted | undefined {
    const { renewal, byClock, line } = task;
    if (renewal !== undefined || byClock === true || line === 'always') return undefined;
    const guess = this.#looks.guess(queue.name);
    if (guess === undefined || (line !== undefined && hasLine(guess.document, guess.time))) return undefined;
    try {
      return this.#decide(queue, task, guess).wanted;
    } catch {
      return undefined;
    }
  }

  /** Answers the first tasks of a queue, so many at most, up to one for which something is to be written. */
  #byLook(queue: Queue, count: number, found: Found): Wanted | undefined {
    for (let i = 0; i < count; i++) {
      const [task] = queue.tasks;
      if (task === undefined) break;
      const { wanted, decision, now } = this.#decide(queue, task, found);
      const { first, answer } = decision;
      if (first !== undefined && task.hasEntered !== true) this.#inLine(queue, task, first, now);
      else if (wanted !== undefined) return wanted;
      else if (task.isUnsure === true) throw overtaken();
      else this.#answer(queue, answer);
    }
    return undefined;
  }

  #decide(queue: Queue, task: Task<unknown>, found: Found) {
    const now = nowOf(found, this.clock);
    const { line } = found;
    const isRead = !(line instanceof Error);
    if (!isRead && task.line !== undefined && task.line !== 'gives back') throw line;
    const decision = task.decide(found.document, now, isRead ? line : undefined);
    const { change } = decision;
    const wanted = change && { queue, task, decision, ...changeOf(queue.name, found, change, now) };
    return { decision, wanted, now };
  }

  /** The line has to change first: the task comes back then, and holds up nobody meanwhile. */
  #inLine(queue: Queue, task: Task<unknown>, first: LineChange, now: number): void {
    const { lines } = this;
    const { name } = task;
    this.#takeFirst(queue);
    if (task.told.givenUp === true) return task.told.failed(tooLate());
    task.hasEntered = 'enters' in first;
    const done = 'enters' in first ? lines.enter(name, first.enters, now) : lines.leave(name, [first.leaves]);
    void done.then(
      () => this.add(task),
      (error: unknown) => task.told.failed(error as Error),
    );
  }

  /** @param isWritten `undefined`: nobody can tell */
  #wrote({ queue, task, change, after, decision }: Wanted, isWritten: boolean | undefined): boolean {
    if (isWritten !== true) {
      task.tries = (task.tries ?? 0) + 1;
      task.triedOver = change.seen;
      // An attempt that is decided once more finds its own grant.
      if (isWritten === undefined && task.lost === undefined) task.isUnsure = true;
      return false;
    }
    const { answer, over = [] } = decision;
    this.#looks.wrote(queue.name, after);
    // Whoever reads the line next passes over those that are still there.
    if (over.length > 0) void this.lines.leave(queue.name, over).catch(() => undefined);
    this.#answer(queue, answer);
    return true;
  }

  /** A few at a time, from a random place on, so that instances share the locks. Ends at one that was not written: then a look refuses many at once. */
  async #writeAll(asked: readonly Asked<Wanted, boolean>[]): Promise<void> {
    const first = Math.floor(Math.random() * asked.length);
    const left = [...asked.slice(first), ...asked.slice(0, first)];
    while (left.length > 0) {
      const some = left.splice(0, WRITE_AT_ONCE);
      const sent = some.filter(({ question }) => this.#isOpen(question.queue));
      for (const { question, failed } of some) if (!this.#isOpen(question.queue)) failed(tooLate());
      if (sent.length === 0) continue;
      const written = Array.from(await this.documents.write(sent.map(({ question }) => question.change)));
      sent.forEach(({ question, answered }, i) => answered(this.#wrote(question, written[i])));
      if (sent.some((_, i) => written[i] !== true))
        for (const { answered } of left.splice(0)) answered(false);
    }
  }

  async #pause({ tries = 0, until }: Task<unknown>): Promise<void> {
    if (tries > 1) await apart(tries, this.clock, Math.max(until - this.clock.monotonic(), 1));
  }

  /** Whether it is too late for a change that others have prevented. Asked after the look, which has found nothing to refuse the call for. */
  #isOver({ queue, task, change }: Wanted): boolean {
    const { name, tries = 0, triedOver, until, lost } = task;
    if (tries === 0 || this.clock.monotonic() <= until) return false;
    const isLocked = JSON.stringify(triedOver) === JSON.stringify(change.seen);
    if (isLocked) throw this.locked(name);
    if (lost === undefined) throw unsettled();
    this.#answer(queue, lost);
    return true;
  }

  /** Whether anybody waits for its first call. An attempt's undo may be over by the time when a late lease would come, which would stay. */
  #isOpen(queue: Queue): boolean {
    return queue.tasks[0]?.told.givenUp !== true && this.#queues.get(queue.name) === queue;
  }

  #answer(queue: Queue, answer: unknown): void {
    this.#takeFirst(queue)?.told.answered(answer);
  }

  #takeFirst(queue: Queue): Task<unknown> | undefined {
    const task = queue.tasks.shift();
    // Before the caller is told: what it does next goes along with others of that moment.
    if (queue.tasks.length === 0 && this.#queues.get(queue.name) === queue) this.#queues.delete(queue.name);
    return task;
  }
}

/** The line counts for all calls of a queue if it does for one. */
function askedOf({ name, tasks }: Queue): LookedAt {
  const lines = tasks.flatMap(({ line }) => line ?? []);
  return { name, line: lines.includes('always') ? 'always' : lines.length > 0 ? 'marked' : undefined };
}

/** Others have written since, so what is there does not tell whether the change was written before. */
const overtaken = (): StoreUnavailableError => {
  const message = 'Others changed the lock before the store could tell whether this call had changed it.';
  return new StoreUnavailableError(message, { outcome: 'unknown' });
};

/** Nobody waits for the call any more, and nothing of it was sent. */
const tooLate = (): StoreUnavailableError => {
  const message = 'The store answered the calls before this one too late: the caller had given up.';
  return new StoreUnavailableError(message, { outcome: 'not-applied' });
};

/** The lock changed each time, and nothing was changed by us. */
const unsettled = (): StoreUnavailableError => {
  const message =
    'The lock changed again and again while the store was asked about it, so nothing was changed.';
  return new StoreUnavailableError(message, { outcome: 'not-applied' });
};
