import { StoreUnavailableError } from '../../base/errors.js';
import { asClause } from '../../base/wording.js';

/** What the store reads of an error of the driver. */
export interface DriverError {
  readonly code?: unknown;
  readonly name?: string;
  readonly message?: string;
  /** For a batch: which of its writes failed. */
  readonly writeErrors?: readonly { readonly index: number; readonly code: number }[];
  readonly matchedCount?: number;
  readonly upsertedCount?: number;
  readonly result?: { getWriteConcernError?(): unknown };
}

/** Unauthorized, AuthenticationFailed, and the code of Atlas for both: the next try will fail as well. */
const DENIED = [13, 18, 8000];
/**
 * Codes of writes that were not made because of other writes: the `_id` exists, or a WriteConflict. Cosmos DB answers TooManyRequests to more
 * requests than were paid for. The store tries any write that was not made again, after a pause.
 */
const NOT_MADE = [11000, 112, 16500];
export const DUPLICATE = [11000];
/** What no try again makes an index of: options that the server does not know, an index that differs, a view, a name that is too long. */
const NO_INDEX = [59, 67, 72, 73, 85, 86, 166];

const isOneOf = (codes: readonly number[], code: unknown): boolean => codes.includes(Number(code));

export const isUnindexable = (error: unknown): boolean => isOneOf(NO_INDEX, (error as DriverError).code);

export const isDenied = (error: unknown): boolean => isOneOf(DENIED, (error as DriverError).code);

/** Which writes of a batch were certainly not made, and how many updates were; `undefined`: nobody knows. @param codes what says so of a write */
export function notMade(
  error: DriverError,
  count: number,
  codes: readonly number[] = NOT_MADE,
): { readonly failed: readonly number[]; readonly updated: number } | undefined {
  const { writeErrors = [], matchedCount = 0, upsertedCount = 0, result, code } = error;
  if (writeErrors.length === 0)
    return isOneOf(codes, code) && result === undefined
      ? { failed: Array.from({ length: count }, (_, i) => i), updated: 0 }
      : undefined;
  const isCertain = writeErrors.every((each) => isOneOf(codes, each.code));
  // The other writes of the batch were made, but a failover may take them back.
  if (!isCertain || result?.getWriteConcernError?.() !== undefined) return undefined;
  return { failed: writeErrors.map(({ index }) => index), updated: matchedCount + upsertedCount };
}

/**
 * The error of a call that failed.
 *
 * @param outcome `unknown` for a write: the driver sends a write twice, and reports only how the second try failed
 */
export function failed(error: unknown, outcome: 'not-applied' | 'unknown'): StoreUnavailableError {
  if (error instanceof StoreUnavailableError) return error;
  const refused = isDenied(error);
  // Only the server's answers have a number as their code.
  const isAnswer = typeof (error as DriverError).code === 'number';
  const what = refused ? 'refused the call' : isAnswer ? 'did not carry out the call' : 'cannot be reached';
  return new StoreUnavailableError(`MongoDB ${what}: ${reasonOf(error)}.${cureOf(error as DriverError)}`, {
    outcome: refused ? 'not-applied' : outcome,
    refused,
    cause: error,
  });
}

const cureOf = ({ name = '' }: DriverError): string =>
  /^Mongo(ClientClosed|NotConnected|TopologyClosed|PoolClosed|ExpiredSession)Error$/.test(name)
    ? ' The client was closed too early: close the client after the application, and make a new store for a new client.'
    : '';

/** The message of an error as a part of a sentence, on one line. */
export const reasonOf = (error: unknown): string =>
  asClause(String((error as DriverError).message ?? error).replaceAll(/\s+/g, ' '));
