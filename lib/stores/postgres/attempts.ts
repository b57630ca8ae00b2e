import type { AcquireRequest } from '../lock-store.js';
import { type AttemptAnswer, NOTHING_SEEN } from '../sql/answers.js';
import type { HowToAttempt, LineChange } from '../sql/dialect.js';
import type { LastLease } from '../sql/interruption.js';
import { LastGranted } from '../sql/last-granted.js';
import { lockedBy } from '../sql/locked-by.js';
import { type Sender, text } from './client.js';
import type { PostgresTableInfo } from './table-look.js';
import type { Row } from '../sql/row.js';

/** Attempts to take locks on PostgreSQL. */
export class PostgresAttempts {
  readonly #lastGranted = new LastGranted();

  constructor(private readonly sender: Sender) {}

  async make(
    table: PostgresTableInfo,
    request: AcquireRequest,
    { change, goOn }: HowToAttempt = {},
  ): Promise<AttemptAnswer> {
    const statements = request.history === true ? table.withHistory : table;
    const { name, ttl, job = '' } = request;
    const values = [name, lockedBy(request), text(ttl), job, ...startValues(request)];
    if (values.length === 4 && change === undefined && this.#lastGranted.has(name)) {
      const [taken] = await this.sender.rows(statements.takeAgain, values.slice(0, 3));
      if (taken !== undefined) return { ...NOTHING_SEEN, ...taken };
      goOn?.();
    }
    if (change !== undefined) values.push(change.seen, change.line);
    const [row] = await this.sender.rows(statementFor(statements, request, change), values);
    this.#lastGranted.note(name, row !== undefined && row['granted'] !== null);
    return row === undefined ? NOTHING_SEEN : answerOf(row);
  }
}

/** Reads the answer of `acquire`. */
function answerOf({ seen = null, last = null, ...granted }: Row): AttemptAnswer {
  const explained = parsed(seen) as Partial<AttemptAnswer> | null;
  const before = last === null ? undefined : { last: parsed(last) as LastLease };
  return { ...NOTHING_SEEN, ...granted, ...explained, ...before };
}

/** Drivers that do not know the type of a column leave JSON unparsed. */
const parsed = (json: unknown): unknown => (typeof json === 'string' ? (JSON.parse(json) as unknown) : json);

/** The further parameters of the statement for a start. */
function startValues(request: AcquireRequest): (string | null)[] {
  const { tick, interval, maxClockSkew, schedule = '', rerun = 0, only } = request;
  if (tick !== undefined) return [text(tick), text(maxClockSkew), schedule, text(rerun), text(only)];
  return interval === undefined ? [] : [text(interval)];
}

function statementFor(
  statements: Pick<PostgresTableInfo, 'acquire' | 'claim'>,
  { tick, interval }: AcquireRequest,
  change: LineChange | undefined,
): string {
  const { any, ofTick, ofInterval } = change === undefined ? statements.acquire : statements.claim;
  if (tick !== undefined) return ofTick;
  return interval === undefined ? any : ofInterval;
}
