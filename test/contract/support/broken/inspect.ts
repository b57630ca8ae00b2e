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

export const brokenInspection: readonly BrokenStore[] = [
  broken(
    'rule 9: inspect tells of a held lock who has it, since when, for how long, and its fencing token',
    "inspect of a held lock should answer {'state':'held','holder':'<holder>','fencingToken':1767225600000000}, but answered {'name':'lock','since':1767225600000,'fencingToken':1767225600000000,'jobs':[],'state':'held','expiresIn':3600000}",
    KeepsHoldersSecret,
  ),
  broken(
    'rule 9: inspect tells a kept lock from a held one, and a free one from both',
    "inspect of a kept lock should answer {'state':'cooling-down','holder':'<holder>'}, but answered {'name':'kept','holder':'<holder>','since':0,'fencingToken':1767225600000000,'jobs':[],'state':'held','expiresIn':3600000}",
    CallsEveryTakenLockHeld,
  ),
  broken(
    'rule 9: inspect tells of each job its last tick and how it ended, or when its interval is due',
    "inspect of a job that failed should answer {'tick':1760000000000,'attempt':1,'outcome':'failed'}, but answered {'job':'Contract.quick','tick':1760000000000,'attempt':1}",
    ForgetsHowJobsEnded,
  ),
];
