import { LockStateError } from '../errors.js';
import { readQueued } from '../stores/queued-arguments.js';
import type { ControlAct } from '../stores/history-store.js';

/** The person who made a queued call; `undefined` if the application made it. */
export const personOf = (args: string): ControlAct | undefined => readQueued(args)?.by;

/** A call whose arguments cannot be read fails, and becomes a dead letter. */
export function readArguments(lock: string, args: string): readonly unknown[] {
  // The message of a parser quotes the arguments, which are not for the log.
  const read = readQueued(args);
  if (read !== undefined) return read.args;
  throw new LockStateError(
    lock,
    'the arguments of a queued call are no JSON array, so it cannot run. Only this library should write into its store.',
  );
}
