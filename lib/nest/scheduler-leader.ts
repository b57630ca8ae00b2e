import { Injectable } from '@nestjs/common';
import type { Election } from '../lock/leader/election.js';
import { LeaderJobs } from './leader-jobs.js';
import { LockHost } from './lock-host.js';

/** The elections that this application takes part in: those of `@LeaderElection()`, and the one of `forRoot({ leader })`. */
@Injectable()
export class SchedulerLeader {
  readonly #election: (name: string | undefined) => Election;

  /** @internal */
  constructor({ elections }: LockHost, jobs: LeaderJobs) {
    this.#election = (name = jobs.election) => elections.get(name);
  }

  /**
   * Whether this instance leads, judged by the clock at this moment. For the election of `forRoot({ leader })`, an instance
   * without any scheduled job never does.
   *
   * @param name of the election @default the one of `forRoot({ leader })`
   * @throws SchedulerLockConfigError if this application takes part in no election of this name
   */
  isLeader(name?: string): boolean {
    return this.#election(name).leads;
  }

  /**
   * Gives up the leadership, so that another instance takes it within a third of the ttl. The signal of the lease aborts,
   * `onRevoked('resigned')` is called and awaited (for `forRoot({ leader })`: the running jobs are awaited), and the lease
   * is released. This instance campaigns again after one ttl.
   *
   * Do not await it inside a job that runs because this instance leads: it waits for that job.
   *
   * @param name of the election @default the one of `forRoot({ leader })`
   * @returns whether this instance led; resolves when the lease was released
   * @throws SchedulerLockConfigError if this application takes part in no election of this name
   */
  async resign(name?: string): Promise<boolean> {
    return this.#election(name).resign();
  }
}
