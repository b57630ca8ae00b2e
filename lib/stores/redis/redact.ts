/**
 * The message of an error, without what may be secret: credentials in a URL. Nothing else of the error is kept,
 * as ioredis hangs the failed command, arguments and all, on its errors.
 */
export function describeError(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error);
  return message.replace(/\/\/[^\s/]*@/g, '//***@');
}
