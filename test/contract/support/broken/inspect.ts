import type { JobInfo, LockInfo } from '../../../../lib/index.js';
import { ReferenceStore, type StartEntry, type StateEntry } from '../reference-store.js';
import { broken, type BrokenStore } from './broken-store.js';

class KeepsHoldersSecret extends ReferenceStore {
  protected override infoOf(name: string, state: StateEntry): LockInfo {
    const { holder: _holder, ...rest } = super.infoOf(name, state);
    return rest;
  }
}

class CallsEveryTakenLockHeld extends ReferenceStore {
  protected override infoOf(name: string, state: StateEntry): LockInfo {
    return super.infoOf(name, { ...state, ended: false });
  }
}

class ForgetsHowJobsEnded extends ReferenceStore {
  protected override jobOf(start: StartEntry): JobInfo {
    return super.jobOf({ ...start, outcome: undefined });
  }
}

class ShowsAllWhoeverIsAskedFor extends ReferenceStore {
  protected override isAskedFor(): boolean {
    return true;
  }
}

class HasNoTime extends ReferenceStore {
  protected override infoOf(name: string, state: StateEntry): LockInfo {
    return { ...super.infoOf(name, state), time: 0 };
  }
}

export const brokenInspection: readonly BrokenStore[] = [
  broken(
    'inspect shows who holds a lock, since when, for how long, and with which fencing token',
    "inspect of a held lock should answer {'state':'held','holder':'<holder>','fencingToken':1767225600000000}, but answered {'name':'lock','time':1767225600000,'since':1767225600000,'fencingToken':1767225600000000,'jobs':[],'state':'held','expiresIn':3600000}",
    KeepsHoldersSecret,
  ),
  broken(
    'inspect distinguishes kept, held and free locks',
    "inspect of a kept lock should answer {'state':'cooling-down','holder':'<holder>'}, but answered {'name':'kept','time':1767225600000,'holder':'<holder>','since':0,'fencingToken':1767225600000000,'jobs':[],'state':'held','expiresIn':3600000}",
    CallsEveryTakenLockHeld,
  ),
  broken(
    'inspect shows the last tick of each job and how it ended, or when its interval is due',
    "inspect of a job that failed should answer {'tick':1760000000000,'attempt':1,'outcome':'failed'}, but answered {'job':'Contract.quick','tick':1760000000000,'attempt':1}",
    ForgetsHowJobsEnded,
  ),
  broken(
    'inspect of some names shows only those locks, and none that the store does not know',
    "inspect should show ['some'] only, but shows ['other','some']",
    ShowsAllWhoeverIsAskedFor,
  ),
  broken(
    'inspect shows the time of the store, by which the leases of all locks began',
    "inspect should answer the time, which goes on, but answered [{'name':'first','time':0,'holder':'<holder>','since':1767225600000,'fencingToken':1767225600000000,'jobs':[],'state':'held','expiresIn':3600000},{'name':'second','time':0,'holder':'<holder>','since':1767225600000,'fencingToken':1767225600000000,'jobs':[],'state':'held','expiresIn':3599970}]",
    HasNoTime,
  ),
];
