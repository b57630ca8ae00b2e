import { getMaxListeners } from 'node:events';
import { expect, test } from '@jest/globals';
import { currentLock } from '../../../../lib/lock/current-lock.js';
import { JobGate } from '../../../../lib/lock/leader/leader-lease.js';
import { type Candidate, candidates, TTL } from './support.js';

/** A gate that is open as long as this instance leads, and the jobs that it refused. */
async function gateOf(): Promise<{ gate: JobGate; refused: string[]; candidate: Candidate }> {
  const [candidate] = candidates(1) as [Candidate];
  const refused: string[] = [];
  const gate = new JobGate((job) => refused.push(job));
  candidate.hooks.elected = (lease) => gate.open(lease);
  candidate.election.start();
  await candidate.harness.clock.advance(0);
  return { gate, refused, candidate };
}

test('lets jobs through on the leader, who see its lease', async () => {
  const { gate, refused, candidate } = await gateOf();
  expect(gate.pass('a', () => currentLock())).toBe(candidate.lease);
  expect(refused).toEqual([]);
});

test('refuses jobs before the first election, and after the revocation', async () => {
  const refused: string[] = [];
  const fresh = new JobGate((job) => refused.push(job));
  expect(fresh.pass('a', () => 'ran')).toBeUndefined();
  expect(refused).toEqual(['a']);
  const { gate, candidate } = await gateOf();
  void candidate.election.resign();
  expect(gate.pass('a', () => 'ran')).toBeUndefined();
});

test('refuses a job whose timer fires before anybody has noticed that the lease is over', async () => {
  const { gate, refused, candidate } = await gateOf();
  candidate.harness.clock.block(TTL);
  expect(candidate.story).toEqual(['elected']);
  expect(gate.pass('a', () => 'ran')).toBeUndefined();
  expect(refused).toEqual(['a']);
  expect(candidate.story).toEqual(['elected', 'aborted', 'revoked deadline']);
});

test('lets any number of jobs listen to its signal: Node warns of no leak', async () => {
  const { candidate } = await gateOf();
  // Its warning itself cannot be seen from inside of a test environment.
  expect(getMaxListeners(candidate.lease?.signal as AbortSignal)).toBe(Infinity);
});

test('waits for what it let through, also if that fails', async () => {
  const { gate } = await gateOf();
  let fail!: (error: Error) => void;
  const job = gate.pass('a', () => new Promise((_, reject) => (fail = reject)));
  let idle = false;
  const waited = gate.idle().then(() => (idle = true));
  await new Promise(setImmediate);
  expect(idle).toBe(false);
  fail(new Error('for whoever fired it'));
  await expect(job).rejects.toThrow('for whoever fired it');
  await waited;
});

test('that is closed lets no job through, though this instance still leads, and waits for those that run', async () => {
  const { gate, refused, candidate } = await gateOf();
  let end!: () => void;
  void gate.pass('a', () => new Promise<void>((resolve) => (end = resolve)));
  gate.close();
  expect(gate.pass('b', () => 'ran')).toBeUndefined();
  expect(refused).toEqual(['b']);
  expect(candidate.leads).toBe(true);
  let idle = false;
  const waited = gate.idle().then(() => (idle = true));
  await new Promise(setImmediate);
  expect(idle).toBe(false);
  end();
  await waited;
});
