import { linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const INTERVAL_MS = 50;
const FREE = 'free';

/**
 * Does `work` while no other process of this machine does any under the same `folder`. Waits for its turn. A process
 * that died holds nobody up.
 *
 * The lock is the file with the highest number. It holds who has it; whoever finds it free, or its owner dead, makes
 * the next one, and linking is what only one of them can do. The highest is never deleted, so nobody can mistake a
 * new lock for the old one that it has looked at before.
 */
export async function exclusively(folder, work) {
  mkdirSync(folder, { recursive: true });
  const mine = join(folder, `owner-${process.pid}-${Math.random().toString(36).slice(2)}`);
  writeFileSync(mine, identityOf(process.pid) ?? '');
  try {
    const number = await take(folder, mine);
    try {
      return await work();
    } finally {
      free(lockFile(folder, number), mine);
      tidyUp(folder, number);
    }
  } finally {
    rmSync(mine, { force: true });
  }
}

async function take(folder, mine) {
  for (;;) {
    const highest = Math.max(0, ...numbersIn(folder));
    if (highest === 0 || isFree(lockFile(folder, highest))) {
      if (tryLink(mine, lockFile(folder, highest + 1))) {
        // Between the look and the link others may have made, and freed, higher ones and deleted this number.
        if (Math.max(...numbersIn(folder)) === highest + 1) return highest + 1;
        rmSync(lockFile(folder, highest + 1), { force: true });
      }
    }
    await sleep(INTERVAL_MS);
  }
}

/** By a rename: others see the owner or that it is free, and nothing in between. */
function free(lock, mine) {
  writeFileSync(`${mine}-free`, FREE);
  renameSync(`${mine}-free`, lock);
}

/** Deletes what is over: lower numbers, and what processes left behind that were killed. */
function tidyUp(folder, number) {
  for (const old of numbersIn(folder)) if (old < number) rmSync(lockFile(folder, old), { force: true });
  for (const name of readdirSync(folder).filter((file) => /^owner-[^-]+-[^-]+$/.test(file))) {
    const owner = join(folder, name);
    // Only if the owner is dead. A living one may be about to rename what it frees its turn with.
    if (isFree(owner)) for (const file of [`${owner}-free`, owner]) rmSync(file, { force: true });
  }
}

function tryLink(file, link) {
  try {
    linkSync(file, link);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function isFree(file) {
  const owner = readOr(file);
  // Deleted: there is a higher one by now. Empty: the name of an owner that has yet to be written.
  if (!owner) return false;
  const [pid] = owner.split(' ');
  return owner === FREE || identityOf(Number(pid)) !== owner;
}

/** The id and, where the system tells it, the start of a process: ids are used again. */
function identityOf(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code !== 'EPERM') return undefined;
  }
  // Field 22; the second, the name, may hold anything but its last parenthesis.
  const started = readOr(`/proc/${pid}/stat`)
    ?.replace(/^.*\) /s, '')
    .split(' ')[19];
  return started === undefined ? `${pid}` : `${pid} ${started}`;
}

function readOr(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function numbersIn(folder) {
  return readdirSync(folder)
    .filter((name) => /^lock-\d+$/.test(name))
    .map((name) => Number(name.slice('lock-'.length)));
}

function lockFile(folder, number) {
  return join(folder, `lock-${number}`);
}
