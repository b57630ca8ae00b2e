import {
  become,
  byOf,
  type Decision,
  type LockDocument,
  lockOf,
  stateOf,
} from '../../../lib/rules/lock/document.js';
import { acquire, extend, release } from '../../../lib/rules/lock/leases.js';
import type {
  AcquireRequest,
  AcquireResult,
  ExtendResult,
  ReleaseOptions,
  ReleaseResult,
} from '../../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../../lib/contract/lease-ref.js';

export interface Rules {
  readonly acquire: typeof acquire;
  readonly extend: typeof extend;
  readonly release: typeof release;
}

export const RULES: Rules = { acquire, extend, release };

/** The rules over documents in a map: no place, no promises. Each document is written as text and read again. */
export class RuleBook {
  now = 1_760_000_000_000;
  readonly documents = new Map<string, LockDocument>();

  constructor(private readonly rules: Rules = RULES) {}

  acquire(request: AcquireRequest): AcquireResult {
    return this.#apply(request.name, (document) => this.rules.acquire(document, this.now, request));
  }

  extend(lease: LeaseRef): ExtendResult {
    return this.#apply(lease.name, (document) => this.rules.extend(document, this.now, lease));
  }

  release(lease: LeaseRef, options: ReleaseOptions): ReleaseResult {
    return this.#apply(lease.name, (document) => this.rules.release(document, this.now, lease, options));
  }

  #apply<T>(name: string, rule: (document: LockDocument | undefined) => Decision<T>): T {
    const document = this.documents.get(name);
    const { answer, change } = rule(document);
    if (change !== undefined) this.documents.set(name, written(name, become(document, change, this.now)));
    return answer;
  }
}

/** A document that was written, and read again. */
export function written(name: string, document: LockDocument): LockDocument {
  const { lease, ended, stranger, until, since } = document;
  const by = stranger ?? (lease === undefined ? '' : byOf(lease, ended));
  return lockOf({ name, version: 'v', by, until, since, state: stateOf(document) });
}
