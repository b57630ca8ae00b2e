import { createRequire } from 'node:module';
import type { CronTimeLike } from '../../../lib/schedule/scheduler-parts.js';

/** What tests need of `CronJob` of the package `cron`. */
export interface CronJob {
  readonly isActive: boolean;
  start(): void;
  stop(): void;
  setTime(time: object): void;
  readonly cronTime: CronTimeLike;
  fireOnTick(): Promise<void>;
  lastDate(): Date | null;
  addCallback(callback: () => unknown): void;
}

interface CronJobParameters {
  readonly cronTime: string;
  readonly onTick: () => unknown;
  readonly onComplete?: () => unknown;
  readonly start?: boolean;
  readonly waitForCompletion?: boolean;
  readonly errorHandler?: (error: unknown) => void;
}

/** The classes that `@nestjs/schedule` fires by: its own copy of `cron`. */
export const { CronJob, CronTime } = createRequire(
  createRequire(import.meta.url).resolve('@nestjs/schedule'),
)('cron') as {
  CronJob: { from(parameters: CronJobParameters): CronJob };
  CronTime: new (source: string, timeZone?: string) => object;
};
