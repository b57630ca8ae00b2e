import { ConsoleLogger, Logger } from '@nestjs/common';

const logger = new Logger('SchedulerLock');

/**
 * Logs an error that has no caller. The application's logger may throw: that must not change what happens to a lease, and
 * there is no other place to report it.
 *
 * @param text makes the text. Called inside the `try`, as turning a foreign error into text may throw as well
 */
export const logError = (text: () => unknown): void => attempt(() => logger.error(text()));

/** Logs a warning that has no caller, as {@link logError} does an error. */
export const logWarning = (text: () => unknown): void => attempt(() => logger.warn(text()));

function attempt(log: () => void): void {
  try {
    log();
  } catch {
    // See above.
  }
}

/**
 * Whether somebody may read lines at the level `debug`. A logger other than Nest's own filters by itself, and Nest does not know
 * which levels: so that logger gets them all. `Logger.isLevelEnabled()` of NestJS 11 says no wherever the application was given no
 * levels, even if its logger writes such lines.
 */
export const isDebugRead = (): boolean => NestLogger.reads('debug');

/** Nest shows the logger of the application to its own classes only. */
class NestLogger extends Logger {
  static reads(level: 'debug'): boolean {
    const logger = Logger.staticInstanceRef;
    // `logger: false`
    if (logger === undefined) return false;
    return logger instanceof ConsoleLogger ? logger.isLevelEnabled(level) : true;
  }
}

/** A foreign error as text, with its stack if there is one. */
export const textOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);
