import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { ControlInfo, PauseInfo, RunInfo } from '../../lib/index.js';
import { spawnChild, type TestChild } from '../support/child.js';
import { uniqueTable } from '../support/database-server.js';
import { builtScript } from '../support/machine.js';
import { until } from '../support/until.js';
import { faultSuite } from './support/suite.js';
import { SHARED_STORES } from './support/webhooks.js';

faultSuite();

/* Three processes with a job of each second, one of which somebody uses to pause it, to end a lease, or to run it, and which dies then. */

const ANNA = { actor: 'anna', reason: 'the provider is down' } as const;

interface Seen {
  readonly status: string;
  readonly runs: readonly RunInfo[];
  readonly acts: readonly ControlInfo[];
  readonly instances: number;
}

describe.each(SHARED_STORES)('with %s', (_store, open) => {
  let opened: Awaited<ReturnType<typeof open>>;
  let name: string;
  const children = new Set<TestChild>();
  beforeAll(async () => void (opened = await open()));
  beforeEach(() => void (name = uniqueTable('control')));
  afterEach(async () => {
    for (const child of children) await child.kill();
    children.clear();
  });
  afterAll(() => opened.stop());

  /** Their runs go on until they are told to end. */
  async function start(): Promise<TestChild> {
    const store = opened.address(name);
    const own = 'database' in store ? {} : { keyPrefix: name };
    const options = {
      store,
      ...own,
      ttl: 2_000,
      heartbeat: 200,
      storeTimeout: 600,
      insight: { beat: 1_000 },
    };
    const env = { FAULT_OPTIONS: JSON.stringify(options) };
    const child = await spawnChild(builtScript('test/faults/children/switched.js'), { env });
    children.add(child);
    await child.next('ready');
    return child;
  }

  /** Each has told what jobs it has: before that nobody can pause a job by its name. */
  async function startThree(): Promise<[TestChild, TestChild, TestChild]> {
    const fleet: [TestChild, TestChild, TestChild] = await Promise.all([start(), start(), start()]);
    for (const child of fleet) await until(async () => (await look(child)).instances === fleet.length);
    return fleet;
  }

  async function ask(child: TestChild, action: string, request: object): Promise<{ result: string }> {
    child.send({ type: 'switch', action, request });
    return child.next('switched');
  }

  /** Who is the first to run the job with a fencing token that is greater than this. */
  async function runner(fleet: readonly TestChild[], after = 0): Promise<[TestChild, number]> {
    return until(() => {
      const began = fleet.flatMap((child) =>
        child.messages.flatMap((message): [TestChild, number][] =>
          message.type === 'began' && Number(message['fencingToken']) > after
            ? [[child, Number(message['fencingToken'])]]
            : [],
        ),
      );
      return began.sort(([, one], [, other]) => one - other)[0];
    });
  }

  async function look(child: TestChild): Promise<Seen> {
    child.send({ type: 'look' });
    return child.next<Seen>('seen');
  }

  test('a pause outlives the process that was used for it, until another one resumes it', async () => {
    const fleet = await startThree();
    const [busy] = await runner(fleet);
    const [used, other] = fleet.filter((child) => child !== busy) as [TestChild, TestChild];
    used.send({ type: 'switch', action: 'pause', request: { job: 'work', ...ANNA } });
    expect(await used.next('switched')).toMatchObject({ result: 'paused' });
    await used.kill();
    for (const child of [busy, other]) child.send({ type: 'end' });
    for (const child of [busy, other]) {
      expect(await child.next('paused')).toMatchObject({ actor: 'anna' });
      expect(await child.next('paused')).toMatchObject({ actor: 'anna' });
    }
    const { status, runs, acts } = await look(other);
    expect(status).toBe('paused');
    const [pause] = acts;
    expect(pause).toMatchObject({ action: 'pause', ...ANNA });
    const before = (pause?.at ?? 0) * 1_000;
    expect(runs.filter(({ fencingToken }) => fencingToken > before)).toEqual([]);
    expect(await ask(other, 'resume', { job: 'work', actor: 'bob' })).toMatchObject({ result: 'resumed' });
    await runner([busy, other], before);
    await until(async () => (await look(other)).acts.length === 2);
  });

  test('a pause stays whose process dies while it waits for the end of a run', async () => {
    const fleet = await startThree();
    const [busy] = await runner(fleet);
    const [used, other] = fleet.filter((child) => child !== busy) as [TestChild, TestChild];
    used.send({ type: 'switch', action: 'pause', request: { job: 'work', ...ANNA, wait: '1h' } });
    await other.next('paused');
    await used.kill();
    busy.send({ type: 'end' });
    expect(await busy.next('paused')).toMatchObject({ actor: 'anna' });
    expect((await look(other)).acts).toMatchObject([{ action: 'pause', ...ANNA }]);
  });

  test('a broken lease is over, whoever ended it dies; its run counts as aborted, and another one begins', async () => {
    const fleet = await startThree();
    const [busy, fencingToken] = await runner(fleet);
    const [used, other] = fleet.filter((child) => child !== busy) as [TestChild, TestChild];
    expect(await ask(used, 'break', { lock: 'work', fencingToken, ...ANNA })).toMatchObject({
      result: 'broken',
    });
    await used.kill();
    expect(await busy.next('ended')).toMatchObject({ fencingToken, aborted: true });
    await runner([busy, other], fencingToken);
    const run = async (): Promise<RunInfo | undefined> =>
      (await look(other)).runs.find((each) => each.fencingToken === fencingToken);
    await until(async () => (await run())?.outcome === 'aborted');
    expect(await run()).toMatchObject({ outcome: 'aborted', by: { action: 'break', ...ANNA } });
  });

  /** Somebody uses a switch there, and the process dies at this call of the store. */
  async function dieAt(
    child: TestChild,
    [call, when]: readonly [call: string, when: string],
    [action, request]: readonly [action: string, request: object],
  ): Promise<void> {
    child.send({ type: 'stall', call, when });
    child.send({ type: 'switch', action, request });
    await child.next('stalled');
    await child.kill();
  }

  /** A fleet whose job is paused, and a fencing token behind which no lease has begun since. */
  async function startPaused(): Promise<readonly [TestChild, TestChild, TestChild, number]> {
    const fleet = await startThree();
    for (const child of fleet) child.send({ type: 'end' });
    fleet[0].send({ type: 'switch', action: 'pause', request: { job: 'work', ...ANNA } });
    const { result, pause } = await fleet[0].next<{ type: string; result: string; pause: PauseInfo }>(
      'switched',
    );
    expect(result).toBe('paused');
    return [...fleet, pause.since * 1_000];
  }

  test('a pause is in force, and says by whom, though the process that was used for it dies before the answer', async () => {
    const fleet = await startThree();
    for (const child of fleet) child.send({ type: 'end' });
    const [used, other, third] = fleet;
    await dieAt(used, ['pause', 'after'], ['pause', { job: 'work', ...ANNA }]);
    for (const child of [other, third])
      expect(await child.next('paused')).toMatchObject({ actor: ANNA.actor });
    const { status, acts } = await look(other);
    expect(status).toBe('paused');
    expect(acts).toMatchObject([{ action: 'pause', ...ANNA }]);
    expect(await ask(other, 'resume', { job: 'work', actor: 'bob' })).toMatchObject({ result: 'resumed' });
    await runner([other, third], (acts[0]?.at ?? 0) * 1_000);
  });

  test('whoever resumes a job and dies before the store hears of it has changed nothing, and is on record', async () => {
    const [used, other, third, before] = await startPaused();
    await dieAt(used, ['resume', 'before'], ['resume', { job: 'work', actor: 'bob' }]);
    const acts = [{ action: 'resume', actor: 'bob' }, ANNA];
    expect(await look(other)).toMatchObject({ status: 'paused', acts });
    expect(await ask(other, 'resume', { job: 'work', actor: 'carl' })).toMatchObject({ result: 'resumed' });
    await runner([other, third], before);
    expect((await look(other)).acts).toMatchObject([{ action: 'resume', actor: 'carl' }, ...acts]);
  });

  test('whoever resumes a job and dies between the end of the pause and the answer has resumed it, and is on record', async () => {
    const [used, other, third, before] = await startPaused();
    await dieAt(used, ['resume', 'after'], ['resume', { job: 'work', actor: 'bob' }]);
    await runner([other, third], before);
    expect(await ask(other, 'resume', { job: 'work', actor: 'carl' })).toMatchObject({
      result: 'not-paused',
    });
    const { status, acts } = await look(other);
    expect(status).not.toBe('paused');
    expect(acts).toMatchObject([
      { action: 'resume', actor: 'bob' },
      { action: 'pause', ...ANNA },
    ]);
  });

  test('whoever ends a lease and dies before the store hears of it has changed nothing', async () => {
    const fleet = await startThree();
    const [busy, fencingToken] = await runner(fleet);
    const [used, other] = fleet.filter((child) => child !== busy) as [TestChild, TestChild];
    await dieAt(used, ['release', 'before'], ['break', { lock: 'work', fencingToken, ...ANNA }]);
    expect((await look(other)).runs).toMatchObject([{ fencingToken, outcome: 'running' }]);
    busy.send({ type: 'end' });
    expect(await busy.next('ended')).toMatchObject({ fencingToken, aborted: false });
  });

  test('whoever ends a lease and dies between its end and the answer has ended it', async () => {
    const fleet = await startThree();
    const [busy, fencingToken] = await runner(fleet);
    const [used, other] = fleet.filter((child) => child !== busy) as [TestChild, TestChild];
    await dieAt(used, ['release', 'after'], ['break', { lock: 'work', fencingToken, ...ANNA }]);
    expect(await busy.next('ended')).toMatchObject({ fencingToken, aborted: true });
    await runner([busy, other], fencingToken);
    const run = async (): Promise<RunInfo | undefined> =>
      (await look(other)).runs.find((each) => each.fencingToken === fencingToken);
    await until(async () => (await run())?.outcome === 'aborted');
  });

  test('a run that somebody wants runs once though the process dies between the queue and the answer', async () => {
    const fleet = await startThree();
    for (const child of fleet) child.send({ type: 'end' });
    const [used, other] = fleet;
    await dieAt(used, ['enqueue', 'after'], ['runNow', { job: 'work', key: '1', ...ANNA }]);
    const wanted = async (): Promise<RunInfo[]> =>
      (await look(other)).runs.filter(({ by }) => by?.action === 'run');
    await until(async () => (await wanted())[0]?.outcome === 'completed');
    // Those that come after it.
    const [{ fencingToken }] = (await wanted()) as [RunInfo];
    await until(
      async () => (await look(other)).runs.filter((run) => run.fencingToken > fencingToken).length > 1,
    );
    expect(await wanted()).toMatchObject([{ trigger: 'control', by: ANNA, outcome: 'completed' }]);
  });

  test('a run that somebody wants is queued, and runs once though the process dies that was used for it', async () => {
    const fleet = await startThree();
    const [busy] = await runner(fleet);
    const [used, other] = fleet.filter((child) => child !== busy) as [TestChild, TestChild];
    // With a key it goes through the store, also where the job is known.
    expect(await ask(used, 'runNow', { job: 'work', key: '1', ...ANNA })).toMatchObject({ result: 'queued' });
    await used.kill();
    for (const child of [busy, other]) child.send({ type: 'end' });
    const wanted = async (): Promise<RunInfo[]> =>
      (await look(other)).runs.filter(({ by }) => by?.action === 'run');
    await until(async () => (await wanted())[0]?.outcome === 'completed');
    expect(await wanted()).toMatchObject([{ trigger: 'control', by: ANNA, outcome: 'completed' }]);
  });

  test('a pause stays if the process dies that was used for a run through it', async () => {
    const [used, other] = await startPaused();
    // With a key it goes through the store, also where the job is known.
    await dieAt(
      used,
      ['enqueue', 'after'],
      ['runNow', { job: 'work', throughPause: true, key: '1', actor: 'bob' }],
    );
    const wanted = async (): Promise<RunInfo[]> =>
      (await look(other)).runs.filter(({ by }) => by?.action === 'run');
    await until(async () => (await wanted())[0]?.outcome === 'completed');
    const { status, runs } = await look(other);
    expect(status).toBe('paused');
    const [{ fencingToken }] = (await wanted()) as [RunInfo];
    // Another process may look under a lease of its own, which is of no job, and finds no call left: it runs nothing.
    expect(runs).toContainEqual(expect.objectContaining({ job: 'work', fencingToken }));
    expect(runs.filter((run) => run.job === 'work' && run.fencingToken > fencingToken)).toEqual([]);
  });
});
