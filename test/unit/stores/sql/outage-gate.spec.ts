import { expect, test } from '@jest/globals';
import { OutageGate } from '../../../../lib/stores/sql/outage-gate.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

/** Calls through a gate, to a database that answers when a test says so. */
function gated() {
  const clock = new ManualClock();
  const gate = new OutageGate(clock);
  const answers: (() => void)[] = [];
  const call = async (): Promise<void> => {
    const late = gate.enter();
    if (late !== undefined) await late;
    await new Promise<void>((resolve) => answers.push(resolve));
    gate.leave();
  };
  /** How many of so many calls get through; the others are refused. */
  const through = async (calls: number): Promise<number> => {
    const before = answers.length;
    let refused = 0;
    for (let i = 0; i < calls; i++) call().catch(() => (refused += 1));
    while (answers.length - before + refused < calls) await turn();
    return answers.length - before;
  };
  return { clock, answers, call, through };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a database that says nothing gets no more calls than it takes to find out that it is back', async () => {
  const { clock, answers, call } = gated();
  const waiting = Array.from({ length: 30 }, call);
  expect(answers).toHaveLength(30);
  await clock.advance(1_999);
  waiting.push(call());
  expect(answers).toHaveLength(31);
  await clock.advance(1);
  await expect(call()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'not-applied' });
  answers[0]?.();
  await waiting[0];
  waiting.push(call());
  expect(answers).toHaveLength(32);
  for (const answer of answers) answer();
  await Promise.all(waiting);
});

test('while all that wait are never answered, one call at a time gets through, less and less often', async () => {
  const { clock, through } = gated();
  expect(await through(20)).toBe(20);
  const seconds: number[] = [];
  for (let second = 2; second <= 32; second++) {
    await clock.advance(second === 2 ? 2_000 : 1_000);
    if ((await through(5)) > 0) seconds.push(second);
  }
  expect(seconds).toEqual([2, 6, 12, 20, 30]);
  let probes = 0;
  for (let minute = 0; minute < 60; minute++) {
    await clock.advance(60_000);
    const got = await through(5);
    expect(got).toBeLessThanOrEqual(1);
    probes += got;
  }
  // An outage of any length is noticed to be over within a minute.
  expect(probes).toBe(60);
});

test('once one of them is answered all get through again, though those before are never answered', async () => {
  const { clock, answers, through } = gated();
  await through(20);
  await clock.advance(10_000);
  expect(await through(5)).toBe(1);
  answers.at(-1)?.();
  await turn();
  expect(await through(25)).toBe(25);
  for (const answer of answers.slice(21)) answer();
  await turn();
  // A pause in which nobody asks is no silence.
  for (let hour = 0; hour < 3; hour++) {
    await clock.advance(3_600_000);
    expect(await through(25)).toBe(25);
    for (const answer of answers.slice(-25)) answer();
    await turn();
  }
});

test('calls that follow a blocked event loop are not turned away: what has arrived meanwhile is read first', async () => {
  const { clock, answers, call } = gated();
  const waiting = Array.from({ length: 25 }, call);
  await clock.advance(5_000);
  // The next turn of the loop reads the answers, and the call comes before that.
  setImmediate(() => answers[0]?.());
  waiting.push(call());
  await waiting[0];
  await new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))));
  expect(answers).toHaveLength(26);
  for (const answer of answers) answer();
  await Promise.all(waiting);
});
