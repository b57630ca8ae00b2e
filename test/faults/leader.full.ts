import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { until } from '../support/until.js';
import { overlaps } from './support/beliefs.js';
import { LeaderFleet, now } from './support/leader-fleet.js';
import { leaderStores, type StoreServer } from './support/leader-stores.js';

// Longer than any limit of the helpers, whose messages say more.
jest.setTimeout(90_000);

const TTL = 1_500;
const LOCKS = ['feed', 'main'] as const;
/** How long before a tick the leader dies, ms: well within what is left of its lease. */
const JUST_BEFORE = 300;

describe.each(leaderStores)('three processes with $name', ({ name, start, losesData }) => {
  let server: StoreServer;
  let fleet: LeaderFleet;
  /** When the store was restarted without its data. */
  const losses: number[] = [];
  const times: string[] = [];
  const report = (what: string, ms: number): void => void times.push(`${what}: ${Math.round(ms)} ms`);

  beforeAll(async () => {
    server = await start();
    fleet = new LeaderFleet(server, TTL);
    await Promise.all([fleet.start(), fleet.start(), fleet.start()]);
  });

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
      const unexplained = found.filter(({ from }) => !losses.some((at) => from >= at && from < at + TTL));
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
    const jobs = ['guarded', 'hung', ...fleet.firsts.map((tick) => `first-${tick}`)];
    const ticks = jobs.flatMap((job) => fleet.runs(job).map(({ tick }) => `${job} ${tick}`));
    const twice = ticks.filter((tick, index) => ticks.indexOf(tick) !== index);
    const forgotten = losses.length > 0;
    if (!forgotten) expect(twice).toEqual([]);
  });

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

  test('those that stand by ask no more than once in a third of the ttl for each election, and for nothing else', async () => {
    const terms = (): number => LOCKS.reduce((sum, lock) => sum + fleet.terms(lock), 0);
    for (;;) {
      const leaders = await Promise.all(LOCKS.map((lock) => fleet.leader(lock)));
      const before = terms();
      const standby = await until(() => fleet.alive.find((candidate) => !leaders.includes(candidate)));
      const calls = (): unknown[] => standby.heard('call').map(({ operation }) => operation);
      const earlier = calls().length;
      const began = now();
      await until(() => calls().length >= earlier + 8, { message: 'four campaigns for each election' });
      const asks = calls().slice(earlier);
      const periods = (now() - began) / (TTL / 3);
      // On a busy machine it may be elected itself.
      if (terms() !== before) continue;
      // Nor is an attempt answered in time there: it is taken back, once and again.
      if (asks.includes('release')) continue;
      expect(asks.filter((operation) => operation !== 'acquire')).toEqual([]);
      // Those that stand in line, on Redis, ask once a second, which is less with this ttl.
      // One more for each election, as the count begins and ends anywhere in a period; and as many again where a busy
      // leader renews so late that it seems dead. test/unit/leader counts exactly.
      expect(asks.length).toBeLessThanOrEqual(2 * 2 * (periods + 1));
      times.push(
        `${(asks.length / LOCKS.length / periods).toFixed(2)} calls per ttl/3, standby and election`,
      );
      break;
    }
  });

  test('after a SIGKILL of the leader another one leads when the lease is over, and runs the newest tick', async () => {
    const first = await fleet.leader('main');
    const terms = fleet.terms('main');
    const at = now();
    await first.kill();
    const next = await fleet.elected('main', terms);
    report('kill', next.at - at);
    await handedOver(next);
    await fleet.start();
  });

  test('a tick that is the first of its job, and comes when the leader has died, runs once on the next leader', async () => {
    for (;;) {
      const first = await fleet.leader('main');
      const terms = fleet.terms('main');
      const tick = fleet.firsts.find((at) => at > Date.now() + JUST_BEFORE);
      if (tick === undefined) throw new Error('none of the first ticks found a dead leader');
      await until(() => Date.now() > tick - JUST_BEFORE);
      await first.kill();
      const killed = Date.now();
      const { leader, at, wall } = await fleet.elected('main', terms);
      await fleet.start();
      // Otherwise its own timer has fired it, or it is too late: try again with the next job.
      if (killed >= tick || wall < tick || wall > tick + TTL) continue;
      const runs = () => fleet.runs(`first-${tick}`);
      // So it is where the machine is so busy that the new leader has lost its lease before it came to that job.
      const over = () => leader.heard('revoked', 'main').some((end) => Number(end['at']) > at);
      await until(() => runs().length > 0 || over(), { message: 'the first tick to run' });
      if (runs().length === 0) continue;
      expect(runs()).toEqual([expect.objectContaining({ tick })]);
      expect(runs()[0]?.instance).not.toBe(first.instance);
      break;
    }
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
    const next = Number(run?.['tick']) + 10_000;
    await fleet.start();
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
    await first.link.proxy.refuse(false);
  });

  test('a leader that resigns is followed by another one', async () => {
    for (;;) {
      const first = await fleet.leader('feed');
      const terms = fleet.terms('feed');
      const at = now();
      first.child.send({ type: 'resign', lock: 'feed' });
      // On a busy machine its lease may be lost just then.
      if ((await first.child.next('resigned'))['led'] !== true) continue;
      const next = await fleet.elected('feed', terms);
      report('resign', next.at - at);
      // Later than that, the first one may take part again.
      if (next.at - at < TTL) expect(next.leader).not.toBe(first);
      break;
    }
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

  if (losesData) {
    test('after a restart of the store without its data one leads again', async () => {
      losses.push(now());
      await server.restart({ empty: true });
      // From then on each answer is one of the new store.
      losses.push(now());
      const at = now();
      await until(() =>
        fleet.alive.some((candidate) =>
          candidate.heard('confirmed', 'feed').some((one) => Number(one['until']) > at + 2 * TTL),
        ),
      );
      for (const lock of LOCKS) await fleet.leader(lock);
    });
  }

  test('instances that are closed end by themselves, without a word', async () => {
    const ends = await Promise.all(fleet.alive.map((candidate) => candidate.close()));
    expect(ends).toEqual(ends.map(() => ({ code: 0, stderr: '' })));
  });
});

test('the judgement finds two who believe at once, by deadline and by revocation', () => {
  const at = (from: number, to: number, instance: string) => ({ instance, from, to });
  expect(overlaps([at(0, 10, 'a'), at(10, 20, 'b'), at(20, 30, 'a')])).toEqual([]);
  expect(overlaps([at(0, 10, 'a'), at(9, 20, 'b')])).toEqual([{ of: ['a', 'b'], from: 9, to: 10 }]);
});
