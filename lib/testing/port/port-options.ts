import type { LockDocuments } from '../../store/port.js';

/** A place for one case of the contract. */
export interface PortSubject {
  /** A place that is ready for calls, without any document: a namespace of its own is enough. */
  readonly documents: LockDocuments;
  /** More places over the same documents, as other instances of an application have. */
  readonly others?: readonly LockDocuments[];
  /** Called after the case, whether it passed or not. */
  close?(): void | Promise<void>;
}

/** How the contract suite of {@link LockDocuments} uses a place. The suite leaves out cases whose hook is missing. */
export interface LockDocumentsContractOptions {
  /** Called once per case. */
  create(): PortSubject | Promise<PortSubject>;
  /** Lets this much time pass on the place's clock: real time for a server, `clock.advance(ms)` on a manual clock. */
  wait(ms: number): Promise<void>;
  /** Shifts this process's wall clock, but not the place's, by this many milliseconds; 0 sets it right again. */
  skewInstanceClock?(ms: number): void | Promise<void>;
  /** Lets another program, which knows nothing of ours, take the lock: only `by`, the end and the beginning change. */
  takeByStranger?(documents: LockDocuments, name: string, by: string, ttl: number): void | Promise<void>;
  /** Lets another program lock the document in the place, if it can. The function that it returns lets go of it. */
  holdDocument?(documents: LockDocuments, name: string): Promise<() => Promise<void>>;
}
