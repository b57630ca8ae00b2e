import { Injectable } from '@nestjs/common';
import {
  currentLock,
  type QueuedCallFacts,
  SchedulerLock,
  type SchedulerLockOptions,
  SchedulerLockService,
} from '../../../lib/index.js';
import { gate, type TestApp } from '../app.js';

export interface Ran {
  readonly id: string;
  readonly queuedCall: QueuedCallFacts | undefined;
  readonly fencingToken: number | undefined;
}

/** A provider whose method is called by hand, and notes its runs. */
export function calendar(options: Partial<SchedulerLockOptions<[id: string]>> = {}) {
  const ran: Ran[] = [];
  const work = { of: async (_id: string): Promise<void> => undefined };
  @Injectable()
  class Calendar {
    @SchedulerLock<[id: string]>({
      name: 'calendar',
      onHeld: 'queue',
      queue: { key: (id) => id },
      ...options,
    })
    async changed(id: string): Promise<string> {
      const { queuedCall, fencingToken } = currentLock();
      ran.push({ id, queuedCall, fencingToken });
      await work.of(id);
      return id;
    }
  }
  return { Calendar, ran, work };
}

/** Takes the lock until the test lets it go. */
export async function hold(app: TestApp, name = 'calendar'): Promise<() => Promise<void>> {
  const [entered, leave] = [gate(), gate()];
  const run = app.get(SchedulerLockService).run(name, async () => {
    entered.open();
    await leave.opened;
  });
  await entered.opened;
  return async () => {
    leave.open();
    await run;
  };
}

export const ids = (ran: readonly Ran[]): string[] => ran.map(({ id }) => id);
