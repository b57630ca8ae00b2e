import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { until } from '../support/until.js';
import { overlaps } from './support/beliefs.js';
import { LeaderFleet, now } from './support/leader-fleet.js';
import { leaderStores, type StoreServer } from './support/leader-stores.js';

// Longer than any limit of the helpers, whose messages say more.
jest.setTimeout(90_000);

const TTL = 1_500;
const LOCKS = ['feed', 'main'] as const;

describe.each(leaderStores)('three processes with $name', ({ name, start }) => {
  let server: StoreServer;
  let fleet: LeaderFleet;
  /** When the store lost its data: at some moment between these, monotonic. */
  const losses: { readonly from: number; to: number }[] = [];
  const times: string[] = [];
  const report = (what: string, ms: number): void => void times.push(`${what}: ${Math.round(ms)} ms`);

  beforeAll(async () => {
    server = await start();
    fleet = new LeaderFleet(server, TTL);
  });

  /** Three that can reach the store, whatever an earlier test has done to some. */
  beforeEach(() => fleet.fill());

  afterAll(async () => {
    await Promise.all(fleet.all.map(({ child }) => child.kill()));
    await server.stop();
    const ran = new Set(fleet.runs('guarded').map(({ tick }) => tick));
    const ticks = (Math.max(...ran) - Math.min(...ran)) / 1_000 + 1;
    times.push(`${ticks - ran.size} of ${ticks} ticks not run`);
    process.stdout.write(`time to a new leader with ${name}, ttl ${TTL} ms: ${times.join(', ')}\n`);
  });

  /** At no time do two believe to lead, jobs run on the leader only, and no tick runs twice. */
  afterEach(() => {
    for (const lock of LOCKS) {
      const found = overlaps(fleet.beliefs(lock));
      // A lease that the store has lost and given away: its holder can only notice.
      const unexplained = found.filter(
        ({ from }) => !losses.some((loss) => from >= loss.from && from < loss.to + TTL),
      );
      expect({ lock, overlaps: unexplained }).toEqual({ lock, overlaps: [] });
    }
    const leaders = fleet.beliefs('main');
    const strays = fleet.runs('plain').filter(({ instance, at }) => {
      const isOfTerm = leaders.some(
        (term) => term.instance === instance && term.from <= at && at <= term.to + TTL / 50,
      );
      return !isOfTerm;
    });
    expect(strays).toEqual([]);
    const jobs = ['guarded', 'hung'];
    expect(jobs.flatMap((job) => twice(fleet.runs(job)).map(({ tick }) => `${job} ${tick}`))).toEqual([]);
  });

  /** The runs of ticks that had run before, unless the store has lost in between that they had. */
  function twice(runs: readonly { at: number; tick: number }[]): { at: number; tick: number }[] {
    const sorted = runs.toSorted((a, b) => a.at - b.at);
    return sorted.filter(({ at, tick }, index) => {
      const before = sorted.slice(0, index).findLast((run) => run.tick === tick);
      return before !== undefined && !losses.some((loss) => before.at <= loss.to && loss.from <= at);
    });
  }

  /**
   * Its jobs run: the newest tick before the election, or a newer one if the machine was too busy to begin at once.
   * Which one is run at what time, test/integration/leader-hand-over.spec.ts looks at.
   */
  async function handedOver({ wall }: { wall: number }): Promise<void> {
    const newest = Math.floor(wall / 1_000) * 1_000;
    const message = 'the newest tick to run';
    await until(() => fleet.runs('guarded').some(({ tick }) => tick >= newest), { message });
  }

  test('one leads, and runs the jobs', async () => {
    for (const lock of LOCKS) await fleet.leader(lock);
    await until(() => fleet.runs('plain').length > 0 && fleet.runs('guarded').length > 0);
  });

  test('after a SIGKILL of the leader another one leads when the lease is over, and runs the newest tick', async () => {
    const first = await fleet.leader('main');
    const terms = fleet.terms('main');
    const at = now();
    await first.kill();
    const next = await fleet.elected('main', terms);
    report('kill', next.at - at);
    await handedOver(next);
  });

  test('a leader that is cut off from the store is revoked before another one is elected', async () => {
    const first = await fleet.leader('main');
    const terms = fleet.terms('main');
    const revoked = first.heard('revoked', 'main').length;
    const at = now();
    await first.link.proxy.refuse();
    const next = await fleet.elected('main', terms);
    report('cut', next.at - at);
    // Asked after the other one began: judged by its own clock, not by when a timer fires.
    expect(await first.judge('main')).toBe(false);
    await until(() => first.heard('revoked', 'main').length > revoked);
    expect(first.heard('revoked', 'main').at(-1)).toMatchObject({ reason: 'deadline' });
    await handedOver(next);
  });

  test('through a restart of the store with its data one leads, and goes on', async () => {
    await fleet.leader('main');
    await server.restart();
    const at = now();
    const confirmed = (): boolean =>
      fleet.alive.some(
        (candidate) =>
          candidate.leads('main') &&
          candidate.heard('confirmed', 'main').some((one) => Number(one['until']) > at + TTL),
      );
    await until(confirmed, { message: 'a leader whose lease the store has confirmed since' });
    for (const lock of LOCKS) await fleet.leader(lock);
  });

  test('a rolling deploy hands over from instance to instance', async () => {
    for (const old of fleet.alive) {
      const terms = fleet.terms('main');
      const led = old.leads('main');
      await fleet.start();
      const at = now();
      expect(await old.close()).toEqual({ code: 0, stderr: '' });
      if (!led) continue;
      const next = await fleet.elected('main', terms);
      report('deploy', next.at - at);
      await handedOver(next);
    }
    expect(fleet.alive).toHaveLength(3);
    for (const lock of LOCKS) await fleet.leader(lock);
  });

  test('instances that are closed end by themselves, without a word', async () => {
    const ends = await Promise.all(fleet.alive.map((candidate) => candidate.close()));
    expect(ends).toEqual(ends.map(() => ({ code: 0, stderr: '' })));
  });

  if (name !== 'Redis') return;

  // What no store can make a difference to.

  test('a leader that resigns is followed by another one', async () => {
    // Each is asked to resign when it leads: on a busy machine, who leads now may not lead any more when it hears of that.
    const ask = (on: boolean): void => fleet.alive.forEach(({ child }) => child.send({ type: 'resign', on }));
    const before = fleet.resigned('feed').length;
    ask(true);
    const message = 'a leader that gives up its lease';
    const { leader, at } = await until(() => fleet.resigned('feed')[before], { message });
    ask(false);
    await Promise.all(fleet.alive.map(({ child }) => child.next('stays')));
    const next = await fleet.electedAfter('feed', at);
    report('resign', next.at - at);
    // Later than that, the first one may take part again.
    if (next.at - at < TTL) expect(next.leader).not.toBe(leader);
  });

  test('a leader that dies in the middle of a job does not cost its next tick, though its lease on the job lives on', async () => {
    // All of them: on a busy machine another one leads before that job comes.
    const hang = (on: boolean): void => fleet.alive.forEach(({ child }) => child.send({ type: 'hang', on }));
    hang(true);
    const hanging = () => fleet.alive.find(({ messages }) => messages.some(({ hangs }) => hangs === true));
    const first = await until(hanging, { message: 'the job to hang' });
    await first.kill();
    hang(false);
    const run = first.heard('run').find(({ hangs }) => hangs === true);
    const next = Number(run?.['tick']) + 5_000;
    const after = () => fleet.runs('hung').filter(({ tick }) => tick >= next);
    await until(() => after().length > 0, { message: 'the job to run again', timeout: 40_000 });
    expect(after()[0]).toMatchObject({ tick: next });
  });

  test('a leader that is frozen past its ttl is revoked when it wakes up, before it does anything else', async () => {
    const first = await fleet.leader('feed');
    const terms = fleet.terms('feed');
    const revoked = first.heard('revoked', 'feed').length;
    const at = now();
    first.child.pause();
    report('freeze', (await fleet.elected('feed', terms)).at - at);
    // Asked in the very moment in which it wakes up: judged by its own clock, not by when a timer fires.
    const judged = first.judge('feed');
    first.child.resume();
    expect(await judged).toBe(false);
    await until(() => first.heard('revoked', 'feed').length > revoked);
    expect(first.heard('revoked', 'feed').at(-1)).toMatchObject({ reason: 'deadline' });
    const hooks = (): unknown[] => first.heard('hook').map(({ hook }) => hook);
    await until(() => hooks().filter((hook) => hook === 'onRevoked').length > revoked);
    const turn = ['onElected', 'aborted', 'onRevoked'];
    expect(hooks()).toEqual(hooks().map((_, index) => turn[index % 3]));
  });

  test('after a restart of the store without its data one leads again', async () => {
    const loss = { from: now(), to: Infinity };
    losses.push(loss);
    await server.restart({ empty: true });
    // From then on each answer is one of the new store.
    loss.to = now();
    const at = now();
    await until(() =>
      fleet.alive.some((candidate) =>
        candidate.heard('confirmed', 'feed').some((one) => Number(one['until']) > at + 2 * TTL),
      ),
    );
    for (const lock of LOCKS) await fleet.leader(lock);
  });
});

test('the judgement finds two who believe at once, by deadline and by revocation', () => {
  const at = (from: number, to: number, instance: string) => ({ instance, from, to });
  expect(overlaps([at(0, 10, 'a'), at(10, 20, 'b'), at(20, 30, 'a')])).toEqual([]);
  expect(overlaps([at(0, 10, 'a'), at(9, 20, 'b')])).toEqual([{ of: ['a', 'b'], from: 9, to: 10 }]);
});
