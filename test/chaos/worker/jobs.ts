import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Cron, Interval } from '@nestjs/schedule';
import { currentLock, SchedulerLock } from 'nestjs-scheduler-lock';
import { type JobFacts, monotonic, type StartLine } from '../history.js';
import { JOBS } from '../jobs.js';
import { ON_PURPOSE, type Recorder } from './recorder.js';

/** A provider with jobs. */
export interface Recording {
  readonly recorder: Recorder;
}

type JobMethod = (this: Recording) => Promise<void>;

/** How often a job asks whether it still has its lock, ms. */
const STEP = 50;

const UTC = { timeZone: 'UTC' };

/** Goes above `@SchedulerLock()`: records that the scheduler has fired the job, before the lock is tried. */
function Recorded(facts: JobFacts) {
  return (_target: object, _key: string, descriptor: TypedPropertyDescriptor<JobMethod>): void => {
    const { value: guarded } = descriptor;
    descriptor.value = function (this: Recording): Promise<void> {
      return this.recorder.call(facts, () => Reflect.apply(guarded as JobMethod, this, []));
    };
  };
}

const options = ({ job, lock: name, ttl, rerun, retry, ...facts }: JobFacts) => {
  const { atLeast, catchUp, wait, priority, overdue } = facts;
  return {
    job,
    name,
    ttl,
    rerun,
    overdue,
    ...(retry && { retry: { ...retry, factor: 1 } }),
    ...(atLeast > 0 ? { atLeast } : undefined),
    ...(catchUp > 0 ? { catchUp } : undefined),
    ...(wait > 0 ? { wait, priority } : undefined),
  };
};

/** See ../jobs.ts for the purpose of each job. */
@Injectable()
export class Jobs implements Recording {
  constructor(readonly recorder: Recorder) {}

  @Cron('* * * * * *', UTC)
  @Recorded(JOBS.short)
  @SchedulerLock(options(JOBS.short))
  short(): Promise<void> {
    return run(this, JOBS.short, 0, 8);
  }

  @Cron('* * * * * *', UTC)
  @Recorded(JOBS.long)
  @SchedulerLock(options(JOBS.long))
  long(): Promise<void> {
    return run(this, JOBS.long, 3_000, 5_000);
  }

  @Cron('*/5 * * * * *', UTC)
  @Recorded(JOBS.again)
  @SchedulerLock(options(JOBS.again))
  again(): Promise<void> {
    return run(this, JOBS.again, 500, 2_500);
  }

  @Cron('*/10 * * * * *', UTC)
  @Recorded(JOBS.flaky)
  @SchedulerLock(options(JOBS.flaky))
  async flaky(): Promise<void> {
    await run(this, JOBS.flaky, 5, 800);
    if (Math.random() < 0.6) throw new Error(ON_PURPOSE);
  }

  @Cron('*/2 * * * * *', UTC)
  @Recorded(JOBS.left)
  @SchedulerLock(options(JOBS.left))
  left(): Promise<void> {
    return run(this, JOBS.left, 100, 900);
  }

  @Cron('*/3 * * * * *', UTC)
  @Recorded(JOBS.right)
  @SchedulerLock(options(JOBS.right))
  right(): Promise<void> {
    return run(this, JOBS.right, 5, 400);
  }

  @Cron('*/5 * * * * *', UTC)
  @Recorded(JOBS.late)
  @SchedulerLock(options(JOBS.late))
  late(): Promise<void> {
    return run(this, JOBS.late, 5, 50);
  }

  @Cron('*/15 * * * * *', UTC)
  @Recorded(JOBS.firstTwin)
  @SchedulerLock(options(JOBS.firstTwin))
  firstTwin(): Promise<void> {
    return run(this, JOBS.firstTwin, 500, 4_000);
  }

  @Cron('*/15 * * * * *', UTC)
  @Recorded(JOBS.secondTwin)
  @SchedulerLock(options(JOBS.secondTwin))
  secondTwin(): Promise<void> {
    return run(this, JOBS.secondTwin, 500, 4_000);
  }

  @Cron('*/15 * * * * *', UTC)
  @Recorded(JOBS.missed)
  @SchedulerLock(options(JOBS.missed))
  missed(): Promise<void> {
    return run(this, JOBS.missed, 5, 50);
  }

  @Cron('*/5 * * * * *', UTC)
  @Recorded(JOBS.inLine)
  @SchedulerLock(options(JOBS.inLine))
  inLine(): Promise<void> {
    return run(this, JOBS.inLine, 5, 300);
  }

  @Interval(JOBS.fraction.every)
  @Recorded(JOBS.fraction)
  @SchedulerLock(options(JOBS.fraction))
  fraction(): Promise<void> {
    return run(this, JOBS.fraction, 5, 100);
  }

  @Interval(JOBS.interval.every)
  @Recorded(JOBS.interval)
  @SchedulerLock(options(JOBS.interval))
  interval(): Promise<void> {
    return run(this, JOBS.interval, 5, 300);
  }
}

/** A class with a short method for each of these jobs, which all fire at the same second. */
export function volleyOf(jobs: readonly JobFacts[]): new (recorder: Recorder) => Recording {
  @Injectable()
  class Volley implements Recording {
    constructor(readonly recorder: Recorder) {}
  }
  for (const [index, facts] of jobs.entries()) {
    // Those of a few ms end together, as they began. The others are still at it when the next instance asks.
    const most = index % 2 === 0 ? 8 : 300;
    const method = function (this: Recording): Promise<void> {
      return run(this, facts, 0, most);
    };
    const decorators = [Cron('*/5 * * * * *', UTC), Recorded(facts), SchedulerLock(options(facts))];
    const plain = { value: method, configurable: true, writable: true };
    const decorated = Reflect.decorate(decorators as MethodDecorator[], Volley.prototype, facts.job, plain);
    Object.defineProperty(Volley.prototype, facts.job, decorated as PropertyDescriptor);
  }
  return Volley;
}

/** Runs to its end even if its signal aborts: the worst that a job can do. */
export async function run(
  { recorder }: Recording,
  { job, lock }: JobFacts,
  least: number,
  most: number,
  more: Pick<StartLine, 'key' | 'delivery'> = {},
): Promise<void> {
  const current = currentLock();
  const { tick, attempt, fencingToken: token = 0 } = current;
  const began = monotonic();
  const start = {
    k: 'start',
    m: began,
    job,
    lock,
    token,
    attempt,
    call: recorder.begins(),
    ...more,
  } as const;
  recorder.write(tick === undefined ? start : { ...start, tick });
  const lasts = least + Math.random() * (most - least);
  // Not from its begin: the process can freeze between the library's last look at the lease and the job's first line.
  let held: number | undefined;
  for (;;) {
    // Read before the question: a process that freezes after the answer has no newer confirmation.
    const asked = monotonic();
    try {
      current.assertLocked();
      held = asked;
    } catch {
      // Lost: the library's own event says when.
    }
    const left = began + lasts - asked;
    if (left <= 0) break;
    await sleep(Math.min(STEP, left));
  }
  const end = { k: 'end', m: monotonic(), lock, token } as const;
  recorder.write(held === undefined ? end : { ...end, held });
}
