import { Logger } from '@nestjs/common';

const logger = new Logger('SchedulerLock');

/**
 * Logs an error that has no caller. The application's logger may throw: that must not change what happens to a lease, and
 * there is no other place to report it.
 *
 * @param text makes the text. Called inside the `try`, as turning a foreign error into text may throw as well
 */
export const logError = (text: () => unknown): void => attempt(() => logger.error(text()));

/** The same for warnings. */
export const logWarning = (text: () => unknown): void => attempt(() => logger.warn(text()));

function attempt(log: () => void): void {
  try {
    log();
  } catch {
    // See above.
  }
}

/** A foreign error as text, with its stack if there is one. */
export const textOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);
