import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LockInfo } from '../../lib/index.js';
import { spawnChild, type TestChild } from '../support/child.js';
import { MYSQL, POSTGRES } from '../support/database.js';
import type { LocalDatabase } from '../support/database-server.js';
import { type LocalRedis, startRedis } from '../support/local-redis.js';
import { builtScript } from '../support/machine.js';
import { type JavaProgram, springProgram } from './build.js';
import type { Asked, NestOptions } from './nest/main.js';
import { Spring } from './spring.js';
import { type Claim, claimsIn, type Overlap, overlapsOf } from './witness.js';

const TABLE = 'shedlock';
const ENV = 'test';

/** What a Nest instance says to a call. */
export interface Answer {
  readonly taken?: boolean;
  readonly held?: boolean;
  readonly reason?: string;
  readonly holder?: string;
  readonly infos?: readonly LockInfo[];
}

/** A process with our library. */
export class Nest {
  #last = 0;

  private constructor(
    readonly who: string,
    private readonly child: TestChild,
  ) {}

  static async start(options: NestOptions): Promise<Nest> {
    const child = await spawnChild(builtScript('test/shedlock/nest/main.js'), {
      args: [JSON.stringify(options)],
    });
    await child.next('ready');
    return new Nest(options.who, child);
  }

  async lock(place: string, name: string, ttl = 60_000, atLeast = 0): Promise<Answer> {
    return this.ask('lock', { place, name, ttl, atLeast });
  }

  async ask(command: Asked['command'], details: Partial<Asked> = {}): Promise<Answer> {
    const id = ++this.#last;
    this.child.send({ ...details, type: 'ask', command, id });
    return this.child.next<Answer>((message) => message.type === 'answer' && message['id'] === id);
  }

  /** SIGKILL. */
  kill(): Promise<void> {
    return this.child.kill();
  }
}

/**
 * A stage, where there is Java; else `undefined`, which is said aloud.
 *
 * @param loss what is not shown then
 */
export async function openStage(loss: string): Promise<Stage | undefined> {
  const program = await springProgram().catch((error: unknown) => {
    process.stderr.write(`LEFT OUT: ${loss}: ${String(error)}\n`);
    return undefined;
  });
  return program === undefined ? undefined : Stage.open(program);
}

/** The three servers, the file of the witness, and who plays. */
export class Stage {
  readonly #players: (Spring | Nest)[] = [];

  private constructor(
    private readonly program: JavaProgram,
    private readonly folder: string,
    private readonly servers: readonly [LocalDatabase, LocalDatabase, LocalRedis],
  ) {}

  static async open(program: JavaProgram): Promise<Stage> {
    const folder = await mkdtemp(join(tmpdir(), 'scheduler-lock-shedlock-'));
    const servers = await Promise.all([POSTGRES.start(), MYSQL.start(), startRedis()] as const);
    const stage = new Stage(program, folder, servers);
    await writeFile(stage.witness, '');
    // The table is the one that ShedLock's users have, and our columns are added to it.
    for (const [database, url] of [
      [POSTGRES, servers[0].url],
      [MYSQL, servers[1].url],
    ] as const) {
      const pool = database.pool(url, { max: 1 });
      await pool.write(database.shedlock(TABLE));
      await pool.end();
    }
    return stage;
  }

  get witness(): string {
    return join(this.folder, 'witness');
  }

  async spring(who: string): Promise<Spring> {
    return this.#play(await Spring.start(this.program, this.#options(who)));
  }

  async nest(who: string): Promise<Nest> {
    return this.#play(await Nest.start(this.#options(who)));
  }

  /** All claims of locks whose names have this in them. */
  claims(part: string): Claim[] {
    return claimsIn(this.witness).filter(({ lock }) => lock.includes(part));
  }

  overlaps(part: string): Overlap[] {
    return overlapsOf(this.claims(part));
  }

  /** Deletes the row of a lock, as a person might. */
  async deleteRow(place: 'postgres' | 'mariadb', name: string): Promise<void> {
    const [database, url] =
      place === 'postgres' ? [POSTGRES, this.servers[0].url] : [MYSQL, this.servers[1].url];
    const pool = database.pool(url, { max: 1 });
    await pool.write(`DELETE FROM ${TABLE} WHERE name = ?`, [name]);
    await pool.end();
  }

  async close(): Promise<void> {
    await Promise.all(this.#players.map((player) => player.kill()));
    await Promise.all(this.servers.map((server) => server.stop()));
    await rm(this.folder, { recursive: true, force: true });
  }

  #play<T extends Spring | Nest>(player: T): T {
    this.#players.push(player);
    return player;
  }

  #options(who: string): NestOptions {
    const [postgres, mariadb, redis] = this.servers.map(({ url }) => url);
    return { who, witness: this.witness, postgres, mariadb, redis, table: TABLE, env: ENV } as NestOptions;
  }
}
