/*
 * lib/base: what every room uses: errors, time, durations, names of locks, words. A leaf imports nothing of ours but another leaf.
 * May not enter: anything that knows what a lock is.
 */
/** Why a call did not run its job. */
export type SkipReason =
  | 'held'
  /** A person has paused the lock: see docs/production/control.md. */
  | 'paused'
  | 'already-ran'
  | 'cooling-down'
  | 'clock-skew'
  | 'store-unavailable'
  | 'shutting-down'
  | 'disabled'
  | 'not-leader'
  | 'invalid-name'
  /** Queued, and run later: `onHeld: 'queue'`. */
  | 'queued'
  | 'queue-full';

/**
 * Why an instance does not lead any more: its lease was lost (`deadline`, `taken`, `expired`), it resigned, it is shutting
 * down, or its `onElected()` failed.
 */
export type RevokedReason = LostReason | 'resigned' | 'shutdown' | 'failed';

/** How a lease ended under a running job: not renewed in time, or the store says so. */
export type LostReason = 'deadline' | 'taken' | 'expired';

/** Marks the errors of all copies of this library. */
const OURS = Symbol.for('nestjs-scheduler-lock: error');

/** The base of every error this library throws. Tell them apart by `code`, which never changes, or `instanceof`. */
export abstract class SchedulerLockError extends Error {
  /** `code` of the errors of a class; the base has none. @internal */
  static readonly code: string | undefined = undefined;

  /**
   * One process may load both builds of this package, and so two classes of each error. Then a store loaded by `require` throws
   * errors that a module loaded by `import` has to recognise. It recognises errors of the other build by their code.
   *
   * @internal
   */
  static override [Symbol.hasInstance](this: { readonly code: string | undefined }, value: unknown): boolean {
    if (Function.prototype[Symbol.hasInstance].call(this, value)) return true;
    // A class that a user has derived matches only its own instances.
    if (!Object.hasOwn(this, 'code') || typeof value !== 'object' || value === null) return false;
    const code: unknown = OURS in value ? Reflect.get(value, 'code') : undefined;
    return typeof code === 'string' && (this.code === undefined || this.code === code);
  }

  /** @internal */
  get [OURS](): true {
    return true;
  }

  /** Stable identifier of the kind of error. */
  abstract readonly code: string;

  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
  }

  /** What `JSON.stringify()` shows: name, message, code and the facts of the error. Not its cause, which comes from other code. */
  toJSON(): object {
    const { name, message, code, ...facts } = this;
    return { name, message, code, ...facts };
  }
}

/**
 * Options that cannot work, or a job that cannot be guarded. Thrown at class definition, and at start-up, with every problem
 * listed. Also thrown by a call with bad options, or whose job returned work that is not done yet (an Observable, a generator).
 */
export class SchedulerLockConfigError extends SchedulerLockError {
  /** @internal */
  static override readonly code = 'SCHEDULER_LOCK_CONFIG';
  readonly code = 'SCHEDULER_LOCK_CONFIG';
  /** One sentence per problem: the place, the option, its value, what to change. */
  declare readonly problems: readonly string[];

  constructor(problems: readonly string[], options?: { cause?: unknown }) {
    const [only] = problems;
    super(
      problems.length === 1 && only !== undefined
        ? `nestjs-scheduler-lock is misconfigured: ${only}`
        : `nestjs-scheduler-lock is misconfigured, ${problems.length} problems:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`,
      options,
    );
    // Not enumerable: the message already contains them.
    Object.defineProperty(this, 'problems', { value: problems, enumerable: false });
  }
}

/** A call by hand was skipped and `onSkip` is `'throw'`, or `acquire()` did not get its lock. */
export class LockNotAcquiredError extends SchedulerLockError {
  /** @internal */
  static override readonly code = 'LOCK_NOT_ACQUIRED';
  readonly code = 'LOCK_NOT_ACQUIRED';
  readonly lock: string;
  readonly reason: SkipReason;
  /** Instance that has the lease, if the store knows it. */
  readonly holder: string | undefined;
  /** Milliseconds until the holder's lease expires unless it is renewed, if the store reports it. */
  readonly expiresIn: number | undefined;
  /** How long the call stood in line, milliseconds; `undefined` if it did not. */
  readonly waited: number | undefined;

  constructor(
    lock: string,
    skip: {
      reason: SkipReason;
      holder?: string | undefined;
      expiresIn?: number | undefined;
      waited?: number | undefined;
      cause?: unknown;
    },
  ) {
    super(`Lock "${lock}" was not acquired (${skip.reason}): ${EXPLANATIONS[skip.reason](skip)}`, skip);
    this.lock = lock;
    this.reason = skip.reason;
    this.holder = skip.holder;
    this.expiresIn = skip.expiresIn;
    this.waited = skip.waited;
  }
}

const EXPLANATIONS: Record<SkipReason, (skip: { holder?: string | undefined; cause?: unknown }) => string> = {
  held: ({ holder }) => `${holder === undefined ? 'another holder' : `instance ${holder}`} has it.`,
  paused: ({ holder }) => `it is ${holder ?? 'paused'}.`,
  'already-ran': () => 'this tick, or a newer one, was already started.',
  'cooling-down': () => 'its last run ended less than `atLeast` after it began.',
  'clock-skew': () => "this tick lies in the future of the store's clock.",
  'store-unavailable': () => 'the store failed, or did not answer.',
  'shutting-down': () => 'this instance is shutting down.',
  disabled: () => 'it is switched off on this instance by `enabled: false`.',
  'not-leader': () => 'scheduled jobs run on the leader only, and this instance does not lead.',
  queued: () => 'the call is queued, and runs when the lock is free.',
  'queue-full': () => 'it has as many queued calls as it may have.',
  'invalid-name': ({ cause }) =>
    cause instanceof SchedulerLockConfigError ? cause.problems.join(' ') : 'the name is not valid.',
};

/** The lease ended under a running job: another instance may run it by now. Reason of the aborted `signal`. */
export class LockLostError extends SchedulerLockError {
  /** @internal */
  static override readonly code = 'LOCK_LOST';
  readonly code = 'LOCK_LOST';
  readonly lock: string;
  readonly reason: LostReason;
  /** Instance that holds the lock now, if the store knows it. */
  readonly holder: string | undefined;

  constructor(lock: string, reason: LostReason, holder?: string) {
    super(
      `Lock "${lock}" was lost while its job was running: ${
        reason === 'deadline'
          ? 'it was not renewed in time'
          : reason === 'taken'
            ? `${holder === undefined ? 'somebody else' : `instance ${holder}`} has taken it`
            : 'the store no longer knows the lease'
      }. Stop writing: another instance may be running the job.`,
    );
    this.lock = lock;
    this.reason = reason;
    this.holder = holder;
  }
}

/** The job has run for longer than its `timeout`. Reason of the aborted `signal`. */
export class LockTimeoutError extends SchedulerLockError {
  /** @internal */
  static override readonly code = 'LOCK_TIMEOUT';
  readonly code = 'LOCK_TIMEOUT';
  readonly lock: string;
  /** The `timeout` that passed, milliseconds. */
  readonly timeout: number;

  constructor(lock: string, timeout: number) {
    super(`The job of lock "${lock}" has run for longer than its timeout of ${timeout} ms.`);
    this.lock = lock;
    this.timeout = timeout;
  }
}

/** The application is closing and the job did not end within `shutdownTimeout`. Reason of the aborted `signal`. */
export class LockShutdownError extends SchedulerLockError {
  /** @internal */
  static override readonly code = 'LOCK_SHUTDOWN';
  readonly code = 'LOCK_SHUTDOWN';
  readonly lock: string;

  constructor(lock: string) {
    super(`The application is shutting down and the job of lock "${lock}" did not end in time.`);
    this.lock = lock;
  }
}

/** This instance gave up its leadership itself: by `resign()`, or because a hook failed. Reason of the aborted `signal`. */
export class LockResignedError extends SchedulerLockError {
  /** @internal */
  static override readonly code = 'LOCK_RESIGNED';
  readonly code = 'LOCK_RESIGNED';
  readonly lock: string;

  constructor(lock: string, options?: { cause?: unknown }) {
    super(
      `This instance has resigned: it leads "${lock}" no longer. Stop: another instance leads soon.`,
      options,
    );
    this.lock = lock;
  }
}

/**
 * `currentLock()` or `assertLocked()` was called where no lock is held. Also the reason of the aborted `signal` of a nested call
 * that its outer job did not await.
 */
export class LockNotHeldError extends SchedulerLockError {
  /** @internal */
  static override readonly code = 'LOCK_NOT_HELD';
  readonly code = 'LOCK_NOT_HELD';
  /** The lock that is not held (any more), if there was one. */
  readonly lock: string | undefined;

  constructor(message: string, lock?: string) {
    super(message);
    this.lock = lock;
  }
}

/** A guarded method was called, but no module has bound it. It did not run. */
export class LockNotBoundError extends SchedulerLockError {
  /** @internal */
  static override readonly code = 'LOCK_NOT_BOUND';
  readonly code = 'LOCK_NOT_BOUND';
  /** `ClassName.methodName` of the method that was called. */
  readonly job: string;

  constructor(job: string) {
    super(
      `${job} is guarded by @SchedulerLock(), but no SchedulerLockModule has bound it, so it did not run. ` +
        'Import SchedulerLockModule.forRoot() in the application, make the class one of its providers or controllers, ' +
        "and call the method after the module's initialisation. " +
        "In unit tests, call runAllUnlocked() of 'nestjs-scheduler-lock/testing' in a set-up file.",
    );
    this.job = job;
  }
}

/** The store failed, did not answer in time, or is not connected. */
export class StoreUnavailableError extends SchedulerLockError {
  /** @internal */
  static override readonly code = 'STORE_UNAVAILABLE';
  readonly code = 'STORE_UNAVAILABLE';
  /** Whether the call was certainly not carried out, or may have been. */
  readonly outcome: 'not-applied' | 'unknown';
  /**
   * Whether the store answered, but refuses such calls until something there is repaired: a missing column, a missing right. The
   * outage lasts until such a call succeeds, whatever else the store answers meanwhile.
   */
  readonly refused: boolean;

  constructor(
    message: string,
    options: { outcome: 'not-applied' | 'unknown'; refused?: boolean; cause?: unknown },
  ) {
    super(message, options);
    this.outcome = options.outcome;
    this.refused = options.refused ?? false;
  }
}

/**
 * The store's entry for one lock is broken (this library did not write it so), or another client has locked it. Other locks are
 * not affected.
 */
export class LockStateError extends SchedulerLockError {
  /** @internal */
  static override readonly code = 'LOCK_STATE';
  readonly code = 'LOCK_STATE';
  readonly lock: string;

  constructor(lock: string, message: string, options?: { cause?: unknown }) {
    super(`Lock "${lock}": ${message}`, options);
    this.lock = lock;
  }
}

/**
 * The database has seen a commit of a newer lease of this lock, or of a newer tick of this job: the run comes too late. From
 * `CommitGuard.commit()`, inside of the job's transaction, which has to roll back.
 */
export class LockSupersededError extends SchedulerLockError {
  /** @internal */
  static override readonly code = 'LOCK_SUPERSEDED';
  readonly code = 'LOCK_SUPERSEDED';
  readonly lock: string;
  /** That of the run that comes too late. */
  readonly fencingToken: number;
  /** That of the run that has committed. */
  readonly committedToken: number;

  constructor(lock: string, fencingToken: number, committedToken: number, what: 'lease' | 'tick') {
    super(
      `Lock "${lock}": a newer ${what} has committed, with fencing token ${committedToken}, so this run, with ${fencingToken}, must not. ` +
        'Let the transaction roll back. If no newer run can have been, see docs/guarantees/fencing.md on tokens that restart.',
    );
    this.lock = lock;
    this.fencingToken = fencingToken;
    this.committedToken = committedToken;
  }
}

/**
 * The database has the work of this tick already. From `CommitGuard.commit()`, inside of the job's transaction, which has to roll back.
 * A job that ends with it has completed, if it is {@link AlreadyCommittedError.done}.
 */
export class AlreadyCommittedError extends SchedulerLockError {
  /** @internal */
  static override readonly code = 'ALREADY_COMMITTED';
  readonly code = 'ALREADY_COMMITTED';
  readonly lock: string;
  readonly job: string;
  /** Epoch milliseconds. */
  readonly tick: number;
  /** The step that has committed; '' if the commit had none. */
  readonly step: string;
  /** Whether nothing of the tick is left to do: another run has committed it, and not as a step of several. */
  readonly done: boolean;

  constructor(lock: string, job: string, tick: number, step: string, byThisRun: boolean) {
    super(
      `Lock "${lock}": ${step === '' ? 'this tick' : `the step ${JSON.stringify(step)} of this tick`} of ${job} has committed before. ${
        byThisRun
          ? 'This very run did it: give each of its transactions a step of its own, commit(tx, { step }).'
          : 'Let the transaction roll back: there is nothing to do again.'
      }`,
    );
    this.lock = lock;
    this.job = job;
    this.tick = tick;
    this.step = step;
    this.done = step === '' && !byThisRun;
  }
}

/**
 * Whether a job that ends with this error has completed: an earlier run of its tick has done the work, and died. Asked when everything
 * around the job has ended, too: a transaction there has to roll back.
 */
export const isDone = (error: unknown): boolean => error instanceof AlreadyCommittedError && error.done;
