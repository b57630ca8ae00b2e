import { answers, check, show } from '../../../lib/testing/port/assert.js';
import type { Pause } from '../../../lib/contract/pause.js';
import { THROUGH_PAUSE } from '../../../lib/contract/allowances.js';
import type { CaseDefinition } from './case.js';
import { HOUR, type Kit, SHORT } from './kit.js';
import { keep, none, queuedCall, queuedCalls, takes } from './queued-call-moves.js';

const BY = { actor: 'anna', reason: 'der Server fehlt: é \u{1F680}' };

/** A person pauses a lock. */
async function pause(kit: Kit, name: string, length = HOUR, by = BY): Promise<Pause> {
  const asked = { id: 1, length, ...by };
  const made = await kit.pause(name, asked);
  answers(made, { id: asked.id, ...by }, 'pause of a lock');
  check(
    made.until - made.since === length,
    () => `a pause of ${length} ms should last so long, but is ${show(made)}`,
  );
  return made;
}

/** An attempt must be refused for this pause. */
async function isPaused(kit: Kit, name: string, made: Pause, what: string): Promise<void> {
  const { id: _id, ...paused } = made;
  const refusal = await kit.refusal(name, what);
  answers(refusal, { reason: 'paused' }, what);
  answers(refusal.paused ?? {}, paused, what);
  const { expiresIn = 0 } = refusal;
  const most = made.until - made.since;
  check(
    expiresIn > most / 2 && expiresIn <= most,
    () => `${what}: expiresIn should be the rest of the pause, but is ${expiresIn}`,
  );
}

/** Rule 19: pauses. */
export const pauseCases: readonly CaseDefinition[] = [
  {
    rule: '19.1',
    sentence:
      'a paused lock refuses every attempt, says who, why, since when and until when, and inspect shows it',
    needs: ['inspects'],
    async run(kit) {
      const name = kit.name();
      const made = await pause(kit, name);
      await isPaused(kit, name, made, 'an attempt at a paused lock');
      const [info] = (await kit.store.inspect?.([name])) ?? [];
      answers(info?.paused ?? {}, { ...made }, 'inspect of a paused lock');
      answers(info ?? {}, { state: 'free' }, 'inspect of a paused lock');
      const start = { job: 'Contract.job', tick: 1_760_000_000_000, brief: true };
      answers(await kit.refusal(name, 'a tick', start), { reason: 'paused' }, 'a tick at a paused lock');
    },
  },
  {
    rule: '19.1',
    sentence: 'a run goes on under a pause, and the next one is refused',
    async run(kit) {
      const name = kit.name();
      const lease = await kit.take(name);
      const made = await pause(kit, name);
      answers(await kit.extend(lease), { held: true }, 'extend under a pause');
      await isPaused(kit, name, made, 'an attempt beside a run');
      answers(await kit.store.acquire(lease), { acquired: true }, 'the same attempt, sent again');
      answers(await kit.store.release(lease), { released: true }, 'release under a pause');
      await isPaused(kit, name, made, 'an attempt after the run');
    },
  },
  {
    rule: '19.1',
    sentence: 'an attempt goes through a pause, which stays, and counts the fencing tokens on',
    async run(kit) {
      const name = kit.name();
      const before = await kit.take(name);
      await kit.store.release(before);
      const made = await pause(kit, name);
      const lease = await kit.take(name, { through: true }, 'acquire through a pause');
      check(
        lease.fencingToken > before.fencingToken,
        () => `the fencing token should grow, but came ${lease.fencingToken} after ${before.fencingToken}`,
      );
      answers(
        await kit.refusal(name, 'another one', { through: true }),
        { reason: 'held' },
        'through a pause',
      );
      await kit.store.release(lease);
      await isPaused(kit, name, made, 'an attempt after one that went through');
    },
  },
  {
    rule: '19.2',
    sentence: 'a pause ends when it is resumed, and no other one ends',
    async run(kit) {
      const name = kit.name();
      const made = await pause(kit, name);
      const other = await kit.resume(name, { id: 2 });
      check(!other, () => 'resume of another pause should end nothing, but answered true');
      await isPaused(kit, name, made, 'an attempt after the resume of another pause');
      const [first, second] = [await kit.resume(name, made), await kit.resume(name, made)];
      check(
        first && !second,
        () => `the first resume of two should end the pause, but they answered ${show([first, second])}`,
      );
      await kit.free(name, 'after the resume');
    },
  },
  {
    rule: '19.2',
    sentence: 'a pause ends by itself',
    async run(kit) {
      const name = kit.name();
      const made = await pause(kit, name, SHORT);
      await kit.takeExpired(name, `after a pause of ${SHORT} ms`);
      check(!(await kit.resume(name, made)), () => 'a pause that is over should not be resumed');
    },
  },
  {
    rule: '19.2',
    sentence: 'a second pause changes nothing, and is answered with the first one',
    async run(kit) {
      const name = kit.name();
      const made = await pause(kit, name);
      const other = await kit.pause(name, { id: 2, actor: 'ben', length: SHORT });
      answers(other, { ...made }, 'a second pause');
      await kit.wait(SHORT);
      await isPaused(kit, name, made, 'an attempt after the second pause');
    },
  },
  {
    rule: '19.3',
    sentence: 'no call waits for the end of a pause',
    needs: ['lines'],
    async run(kit) {
      const name = kit.name();
      const made = await pause(kit, name);
      const wait = { limit: HOUR, priority: 0, process: `${kit.name('process')}:one` };
      for (const more of [{}, { place: 7, drains: true }]) {
        const refusal = await kit.refusal(name, 'a call that waits', { wait: { ...wait, ...more } });
        answers(refusal, { reason: 'paused', waiting: undefined }, 'a call that waits for a paused lock');
      }
      await kit.resume(name, made);
      await kit.free(name, 'after the resume');
    },
  },
  {
    rule: '19.3',
    sentence: 'queued calls stay under a pause, but for those that go through it',
    needs: ['queuedCalls'],
    async run(kit) {
      const name = kit.name();
      const usual = queuedCall(name);
      const through = queuedCall(name, { priority: THROUGH_PAUSE });
      const made = await pause(kit, name);
      const left = async () =>
        (await queuedCalls(kit).left([usual.job])).filter((one) => one.name === name).length;
      await keep(kit, usual);
      check((await left()) === 0, () => 'a queued call of a paused lock should not count as left');
      await keep(kit, through);
      check((await left()) === 1, () => 'a queued call that goes through a pause should count as left');
      const lease = await kit.take(name, { through: true }, 'acquire through a pause');
      const first = await takes(kit, lease, through.id, { what: 'the call that goes through a pause' });
      await none(kit, first, 'next under a pause', { outcome: 'completed' });
      await kit.resume(name, made);
      await takes(kit, first, usual.id, { what: 'the call that waited for the end of a pause' });
    },
  },
];
