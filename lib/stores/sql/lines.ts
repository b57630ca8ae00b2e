import { randomUUID } from 'node:crypto';
import { Line, placed, shownLine, type WaitingRequest } from '../line.js';
import type { LockInfo } from '../lock-info.js';
import type { AcquireRefusal, AcquireResult, LeaseRef } from '../lock-store.js';
import { CALLED } from '../rules.js';
import { AGAIN, isFree, readAttempt, readTaken, refusedStart } from './answers.js';
import type { SqlDialect } from './dialect.js';
import type { LockRow } from './lock-row.js';
import { lockedBy } from './locked-by.js';

/** The most calls in a line: each attempt reads all of them. A further call is refused, and has to ask again. */
const MOST = 100;
/** How far in the past the `lock_until` of a released lock is, ms. Twice as far if the lease had run out before. */
const DAY = 86_400_000;

/** The content of `job_state.line`. Each change writes a new version, except a claim, which needs the version that was read. */
interface StoredLine {
  readonly version?: string;
  readonly calls?: Readonly<Record<string, StoredCall>>;
  readonly called?: { readonly token: string; readonly until: number } | null;
  readonly missed?: Readonly<Record<string, unknown>>;
}

interface StoredCall {
  readonly place: number;
  readonly process: string;
  readonly until: number;
}

/**
 * Calls that wait for a lock, in the lock's own row.
 *
 * 1. A call enters, and leaves, by one statement.
 * 2. This class reads the row, and decides who is next.
 * 3. A statement then calls that call, or grants it the lock, if the line is still the one that was read.
 */
export class SqlLines<Table> {
  constructor(private readonly dialect: SqlDialect<Table>) {}

  /** One attempt of a call that waits, other than its first. @param goOn called after the read; throws if the caller has given up */
  async attempt(
    table: Table,
    request: WaitingRequest,
    goOn: () => void,
  ): Promise<AcquireResult | typeof AGAIN> {
    const { name } = request;
    const [row] = await this.dialect.rows(table, [name]);
    goOn();
    if (row === undefined) return this.#withoutRow(table, request);
    if (!isFree(row) && row.by === lockedBy(request)) return this.#grantAgain(table, request, row);
    const refusal = refusalInLine(request, row);
    if (refusal !== undefined) return refusal;
    const line = readLine(row);
    if (placeIn(line, request) === undefined) return this.#enter(table, request, { row, line });
    return this.#atFreeLock(table, request, { row, line });
  }

  /** For an attempt that does not wait, and has found a free lock with a line: calls the first in line. */
  async call(table: Table, name: string): Promise<AcquireRefusal | typeof AGAIN> {
    const [row] = await this.dialect.rows(table, [name]);
    if (row?.line === undefined || !isFree(row)) return AGAIN;
    const left = await this.#call(table, row);
    return left === undefined ? AGAIN : heldFor(left);
  }

  /** Takes a call out of line. */
  async leave(table: Table, { name, token }: LeaseRef): Promise<void> {
    if (!(await this.dialect.leave(table, name, { token, version: randomUUID() }))) return;
    const [row] = await this.dialect.rows(table, [name]);
    if (row !== undefined && readLine(row).called?.token === token) await this.call(table, name);
  }

  async #enter(
    table: Table,
    request: WaitingRequest,
    { row, line }: { row: LockRow; line: Line },
  ): Promise<AcquireResult | typeof AGAIN> {
    const { name, token, wait } = request;
    if (isFree(row) && row.line === undefined)
      return readAttempt(request, await this.dialect.attempt(table, request));
    const known = line.find(token);
    if (isUncalled(row, line)) {
      await this.call(table, name);
      return AGAIN;
    }
    if (known === undefined && line.standing.length >= MOST)
      return isFree(row) ? this.call(table, name) : readTaken(request, row);
    const { place = wait.place } = known ?? {};
    await this.dialect.enter(table, { name, token, ...wait, place, version: randomUUID() });
    return AGAIN;
  }

  async #atFreeLock(
    table: Table,
    request: WaitingRequest,
    { row, line }: { row: LockRow; line: Line },
  ): Promise<AcquireResult | typeof AGAIN> {
    const { token } = request;
    if (line.call(Number(row.now), { since: freeSince(row), asks: token })?.token !== token) {
      const left = await this.#call(table, row, token);
      return left === undefined ? AGAIN : placed(heldFor(left), line.find(token));
    }
    line.leave(token);
    const change = { seen: versionOf(row), line: writeLine(line) };
    return readAttempt(request, await this.dialect.attempt(table, request, { change }));
  }

  /**
   * Calls the first in line.
   *
   * @param asks the token of the call that asks now
   * @returns for how long the lock is kept for the call that is called, ms; `undefined`: read the row again
   */
  async #call(table: Table, row: LockRow, asks?: string): Promise<number | undefined> {
    const line = readLine(row);
    const before = line.called?.token;
    const since = freeSince(row);
    const called = line.call(Number(row.now), asks === undefined ? { since } : { since, asks });
    if (called === undefined || called.token !== before) {
      const change = { seen: versionOf(row), line: called === undefined ? null : writeLine(line) };
      if (!(await this.dialect.changeLine(table, row.name, change)) || called === undefined) return undefined;
      await this.dialect.hint?.(called.process, called.token);
    }
    return called.until - Number(row.now);
  }

  /** There is no row. If the database has lost the row, the holder can write the lease back as long as nobody else has the lock. */
  async #withoutRow(table: Table, request: WaitingRequest): Promise<AcquireResult | typeof AGAIN> {
    const { name, wait } = request;
    if (wait.notBefore === undefined) return readAttempt(request, await this.dialect.attempt(table, request));
    await this.dialect.keepFree(table, name, wait.notBefore);
    return AGAIN;
  }

  /** The lock was granted before, and the answer was lost. */
  async #grantAgain(
    table: Table,
    request: WaitingRequest,
    row: LockRow,
  ): Promise<AcquireResult | typeof AGAIN> {
    // A late ask must not shorten the lease of a queued call, which has the same token.
    if (Number(row.remaining) >= request.ttl) return readTaken(request, row);
    const { wait: _wait, ...lease } = request;
    const [renewed] = await this.dialect.renew(table, [{ ...lease, fencingToken: Number(row.fence) }]);
    return renewed === true ? readTaken(request, row) : AGAIN;
  }
}

/**
 * Judges a call in line by the row of its lock, which was only read. Returns why the call has to wait on, or may not start; `undefined` if
 * a statement has to write.
 */
export function refusalInLine(request: WaitingRequest, row: LockRow): AcquireRefusal | undefined {
  if (!isFree(row) && row.by === lockedBy(request)) return undefined;
  const refusal = refusedStart(request, row);
  if (refusal !== undefined || isFree(row)) return refusal;
  const waiting = placeIn(readLine(row), request);
  return waiting && { ...(readTaken(request, row) as AcquireRefusal), waiting };
}

/** Where a call stands; `undefined` if its process did not come when one of its calls was called. */
function placeIn(line: Line, { token, wait }: WaitingRequest): AcquireRefusal['waiting'] {
  return line.hasMissed(wait.process) ? undefined : line.find(token);
}

/** The place of the first call in line; `undefined`: nobody stands in line. */
export const firstPlace = (row: LockRow): number | undefined => readLine(row).standing[0]?.place;

/** The line of a row, for people. */
export function lineInfo(row: LockRow): Pick<LockInfo, 'line'> {
  try {
    const now = Number(row.now);
    return shownLine(
      readLine(row).standing.filter(({ until }) => until > now),
      now,
    );
  } catch {
    // The operations report foreign text in our column.
    return {};
  }
}

/** When the last lease was released, by the store's clock, epoch ms; `undefined` if that lease ran out, or was released long ago. */
function releasedAt(row: LockRow): number | undefined {
  const past = -Number(row.remaining);
  return past >= DAY && past < 2 * DAY ? Number(row.now) - (past - DAY) : undefined;
}

/** When the time of the called call begins, if nobody is called yet: with the release, or now. */
const freeSince = (row: LockRow): number => releasedAt(row) ?? Number(row.now);

/** Whether a lock was just released to a line, and nobody is called yet: then a call that comes now may not take the lock. */
function isUncalled(row: LockRow, line: Line): boolean {
  if (line.called !== undefined || line.standing.length === 0) return false;
  return Number(row.now) - (releasedAt(row) ?? -Infinity) < CALLED;
}

const heldFor = (expiresIn: number): AcquireRefusal => ({
  acquired: false,
  reason: 'held',
  expiresIn: Math.max(0, Math.ceil(expiresIn)),
});

const versionOf = ({ line }: LockRow): string => String((line as StoredLine | undefined)?.version);

function readLine({ line }: LockRow): Line {
  const { calls = {}, called, missed = {} } = (line ?? {}) as StoredLine;
  const standing = Object.entries(calls).map(([token, call]) => ({ token, ...call }));
  return new Line(standing, called ?? undefined, Object.keys(missed));
}

function writeLine(line: Line): string | null {
  if (line.standing.length === 0) return null;
  const calls = Object.fromEntries(line.standing.map(({ token, ...call }) => [token, call]));
  const missed = Object.fromEntries(line.missed.map((process) => [process, true]));
  return JSON.stringify({ version: randomUUID(), calls, called: line.called, missed });
}
