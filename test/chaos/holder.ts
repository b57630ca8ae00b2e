import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { type Line, parse, type StartLine, type WaitingLine } from './history.js';
import type { Member } from './member.js';

/**
 * How much of the end of a history is read to find the present holder of a lock, bytes: some tens of seconds.
 */
const TAIL = 64 * 1_024;

/** The instance that runs under this lock at this moment, if there is one. */
export function holderOf(lock: string, members: readonly Member[]): Member | undefined {
  return members.find((member) => runUnder(lock, member) !== undefined);
}

/** The instance that runs a call at this moment which was kept for this lock, if there is one. */
export function delivererOf(lock: string, members: readonly Member[]): Member | undefined {
  return members.find((member) => runUnder(lock, member)?.delivery !== undefined);
}

/** The run that goes on under this lock in an instance. */
function runUnder(lock: string, member: Member): StartLine | undefined {
  const last = tail(member.file).findLast(
    (line) => (line.k === 'start' || line.k === 'end' || line.k === 'lost') && line.lock === lock,
  );
  return last?.k === 'start' ? last : undefined;
}

/** The instance with the call that is the first in line for this lock, as far as the instances know, if there is one. */
export function headOf(lock: string, members: readonly Member[]): Member | undefined {
  const standing = members.flatMap((member) => inLine(member, lock).map((line) => ({ member, line })));
  standing.sort((a, b) => b.line.priority - a.line.priority || a.line.m - b.line.m);
  return standing[0]?.member;
}

function inLine(member: Member, lock: string): WaitingLine[] {
  const lines = tail(member.file);
  const over = new Set(
    lines.flatMap((line) => (line.k === 'start' || line.k === 'skipped' ? [line.call] : [])),
  );
  return lines.filter(
    (line) => line.k === 'waiting' && line.lock === lock && !over.has(line.call),
  ) as WaitingLine[];
}

function tail(path: string): Line[] {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    // The instance has not written anything yet.
    return [];
  }
  try {
    const { size } = fstatSync(file);
    const from = Math.max(0, size - TAIL);
    const buffer = Buffer.alloc(size - from);
    const text = buffer.subarray(0, readSync(file, buffer, 0, buffer.length, from)).toString('utf8');
    return parse(from === 0 ? text : text.slice(text.indexOf('\n') + 1));
  } finally {
    closeSync(file);
  }
}
