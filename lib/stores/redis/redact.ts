/** Where in a script of ours Redis says that it has failed: nothing that a reader could look up. */
const PLACE = / script: [0-9a-f]{40}, on @user_script:\d+\.?$/;

/**
 * The message of an error, as a part of a sentence: without a full stop, and without what may be secret, credentials in a
 * URL. Nothing else of the error is kept, as ioredis hangs the failed command, arguments and all, on its errors.
 */
export function describeError(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error);
  return message
    .replace(/\/\/[^\s/]*@/g, '//***@')
    .replace(PLACE, '')
    .replace(/[\s.]+$/, '');
}
