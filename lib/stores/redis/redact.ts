/** The place in our script where an error occurred, as Redis reports it: of no use to a reader. */
const PLACE = / script: [0-9a-f]{40}, on @user_script:\d+\.?$/;

/**
 * The message of an error as a part of a sentence: without a full stop, and without secrets (credentials in a URL). Keeps
 * nothing else of the error, as ioredis attaches the failed command, with its arguments, to its errors.
 */
export function describeError(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error);
  return message
    .replace(/\/\/[^\s/]*@/g, '//***@')
    .replace(PLACE, '')
    .replace(/[\s.]+$/, '');
}
