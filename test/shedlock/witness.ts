import { openSync, readFileSync, writeSync } from 'node:fs';

/*
 * The witness: a file to which all processes append, of both sides, what they believe to hold, and until when at least. Nothing in
 * there comes from a store. Each line is `<what> <who> <claim> <lock> <now> <until>`, times in nanoseconds of the machine's monotonic
 * clock, which is the same in a JVM (System.nanoTime) and in Node (process.hrtime):
 *
 *   holds  the lock of the claim is held now, and until then, if it is not given back before
 *   ends   it is about to be given back; until then it stays taken (lockAtLeastFor, atLeast), else now
 *
 * Who is killed leaves a claim that lasts until its end, as the lock in the store does.
 */

/** What somebody believes to hold, ns. */
export interface Claim {
  readonly who: string;
  readonly lock: string;
  readonly from: number;
  to: number;
  /** How often its end was put off. */
  renewals: number;
  /** Whether it was given back. */
  ended: boolean;
}

/** Two that held one lock at once. */
export interface Overlap {
  readonly lock: string;
  readonly first: string;
  readonly second: string;
  /** For how long at least, ms. */
  readonly ms: number;
}

/** A store may round a time down to a millisecond. */
const ROUNDED = 2_000_000;

export const nanoseconds = (): number => Number(process.hrtime.bigint());
/** Until when a lock is held that was asked for at this time, for so many ms. */
export const heldUntil = (asked: number, ms: number): number => asked + ms * 1_000_000 - ROUNDED;

/** The file as one of the processes writes it. */
export class WitnessFile {
  readonly #file: number;
  #claims = 0;

  constructor(
    path: string,
    private readonly who: string,
  ) {
    this.#file = openSync(path, 'a');
  }

  claim(): string {
    return `${this.who}.${++this.#claims}`;
  }

  write(what: 'holds' | 'ends', claim: string, lock: string, until: number): void {
    // One write: lines of several processes do not mix.
    writeSync(this.#file, `${[what, this.who, claim, lock, nanoseconds(), until].join(' ')}\n`);
  }
}

/** All claims in the file so far, oldest first. */
export function claimsIn(path: string): Claim[] {
  const claims = new Map<string, Claim>();
  // A process that was killed may have left half a line only if the disk is full.
  for (const line of readFileSync(path, 'utf8').split('\n').filter(Boolean)) {
    const [what, who = '', id = '', lock = '', now = '', until = ''] = line.split(' ');
    const claim = claims.get(id);
    if (what === 'ends') end(claim, Number(until));
    else if (claim !== undefined) renew(claim, Number(until));
    else claims.set(id, { who, lock, from: Number(now), to: Number(until), renewals: 0, ended: false });
  }
  return [...claims.values()].sort((one, other) => one.from - other.from);
}

function renew(claim: Claim, until: number): void {
  if (claim.ended) return;
  claim.to = Math.max(claim.to, until);
  claim.renewals++;
}

function end(claim: Claim | undefined, until: number): void {
  if (claim === undefined) return;
  claim.to = Math.min(claim.to, until);
  claim.ended = true;
}

/** Whoever held a lock while another one did. */
export function overlapsOf(claims: readonly Claim[]): Overlap[] {
  const last = new Map<string, Claim>();
  const overlaps: Overlap[] = [];
  for (const claim of claims) {
    const before = last.get(claim.lock);
    const both = before === undefined ? 0 : Math.min(before.to, claim.to) - claim.from;
    if (before !== undefined && both > 0)
      overlaps.push({ lock: claim.lock, first: before.who, second: claim.who, ms: both / 1_000_000 });
    if (before === undefined || claim.to > before.to) last.set(claim.lock, claim);
  }
  return overlaps;
}
