import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { until } from '../support/until.js';
import type { Spring } from './spring.js';
import { type Nest, openStage, type Stage } from './stage.js';

/*
 * What docs/stores/shedlock.md warns of, shown on ShedLock itself: each setting that it demands has an overlap as its alternative, so the witness
 * is seen to see one.
 */

// At the first time, Maven fetches what the program needs.
jest.setTimeout(300_000);

const DATABASES = ['postgres', 'mariadb'] as const;
/** A lock that nothing waits for, and one that is waited for, ms. */
const [LONG, SHORT] = [60_000, 300];

let stage: Stage | undefined;
let spring: Spring;
let second: Spring;
let nest: Nest;

beforeAll(async () => {
  stage = await openStage('what docs/stores/shedlock.md warns of was not shown on ShedLock itself');
  if (stage === undefined) return;
  [spring, second, nest] = await Promise.all([
    stage.spring('spring-1'),
    stage.spring('spring-2'),
    stage.nest('nest-1'),
  ]);
});

afterAll(() => stage?.close());

const play = (name: string, scene: (stage: Stage) => Promise<void>): void =>
  test(name, async () => {
    if (stage !== undefined) await scene(stage);
  });

/** One JVM outlives its lock, another one takes it and goes on, and then the first one gives back what it had. */
async function late(place: string, name: string): Promise<void> {
  expect(await spring.lock(place, name, SHORT)).toBe(true);
  await until(() => second.lock(place, name, LONG), { message: 'the other JVM to take over' });
  await spring.unlock(place, name);
}

describe.each(DATABASES)('on %s', (place) => {
  play('without usingDbTime() a JVM in another zone takes a lock that we hold', async (at) => {
    expect(await nest.lock(place, 'zone')).toMatchObject({ taken: true });
    expect(await spring.lock(place, 'zone')).toBe(false);
    expect(await spring.lock(`${place}-jvm-time`, 'zone')).toBe(true);
    expect(at.overlaps(`${place}/zone`)).toMatchObject([{ first: 'nest-1', second: 'spring-1' }]);
  });

  play(
    'without withLockedByValue() a JVM that is late frees the lock of another one of its host',
    async (at) => {
      await late(`${place}-host`, 'host');
      expect(await nest.lock(place, 'host')).toMatchObject({ taken: true });
      expect(at.overlaps(`${place}/host`)).toMatchObject([{ first: 'spring-2', second: 'nest-1' }]);
    },
  );

  play('with it, it frees nothing, and we are told who has the lock', async (at) => {
    await late(place, 'named');
    expect(await nest.lock(place, 'named')).toEqual(
      expect.objectContaining({ taken: false, reason: 'held', holder: 'spring-2' }),
    );
    expect(at.overlaps(`${place}/named`)).toEqual([]);
  });

  play(
    'a deleted row shuts a JVM out that has seen it, until we take the lock, or it starts anew',
    async (at) => {
      expect(await spring.lock(place, 'deleted')).toBe(true);
      await spring.unlock(place, 'deleted');
      await at.deleteRow(place, 'deleted');
      expect(await spring.lock(place, 'deleted')).toBe(false);
      expect(await nest.lock(place, 'deleted')).toMatchObject({ taken: true });
      await nest.ask('unlock', { place, name: 'deleted' });
      expect(await spring.lock(place, 'deleted')).toBe(true);
    },
  );
});

describe('a name of more than 64 characters', () => {
  const name = 'x'.repeat(65);

  play('is an error of ShedLock on PostgreSQL', async () => {
    await expect(spring.lock('postgres', name)).rejects.toThrow(/value too long/);
  });

  play('is cut on MariaDB, once: then ShedLock never gets that lock again', async () => {
    expect(await spring.lock('mariadb', name, LONG)).toBe(true);
    await spring.unlock('mariadb', name);
    // The lock of another name, and nobody gives it back.
    expect(await nest.lock('mariadb', name.slice(0, 64))).toMatchObject({ taken: false, holder: 'spring-1' });
    expect(await spring.lock('mariadb', name, LONG)).toBe(false);
    expect(await second.lock('mariadb', name, LONG)).toBe(false);
  });

  play('is refused by us, and makes no row', async () => {
    for (const place of DATABASES)
      expect(await nest.lock(place, 'y'.repeat(65))).toMatchObject({ taken: false, reason: 'invalid-name' });
  });
});

describe('on redis', () => {
  play('without safeUpdate(true) a JVM that is late deletes our lock', async (at) => {
    expect(await spring.lock('redis-del', 'del', SHORT)).toBe(true);
    await until(async () => (await nest.lock('redis', 'del')).taken, { message: 'us to take over' });
    await spring.unlock('redis-del', 'del');
    expect(await second.lock('redis', 'del')).toBe(true);
    expect(at.overlaps('redis/del')).toMatchObject([{ first: 'nest-1', second: 'spring-2' }]);
  });

  play('with it, it deletes nothing', async (at) => {
    expect(await spring.lock('redis', 'safe', SHORT)).toBe(true);
    await until(async () => (await nest.lock('redis', 'safe')).taken, { message: 'us to take over' });
    await spring.unlock('redis', 'safe');
    expect(await second.lock('redis', 'safe')).toBe(false);
    expect(at.overlaps('redis/safe')).toEqual([]);
  });

  play('inspect() finds the locks of both sides, and names the host of the JVM', async () => {
    expect(await spring.lock('redis', 'shown')).toBe(true);
    const { infos = [] } = await nest.ask('inspect', { place: 'redis' });
    const shown = infos.find((info) => info.name === 'shown');
    expect(shown).toMatchObject({ state: 'held', holder: await spring.host() });
    expect((await nest.lock('redis', 'shown')).holder).toBeUndefined();
    await spring.unlock('redis', 'shown');
  });
});

play('KeepAliveLockProvider takes no lockAtMostFor under 30 s', async () => {
  await expect(spring.keep30('redis', 'brief', 29_999)).rejects.toThrow(/shorter than PT30S/);
});
