import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import { diagnose } from './support/compile.js';

jest.setTimeout(120_000);

const IMPORTS = `
import { applyDecorators } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5, type RedisOptions as RedisOptions5 } from 'ioredis5';
import { LeaderElection, type Lock, SchedulerLock, SchedulerLockModule, type SchedulerLockModuleOptions } from '../../lib/index.js';
declare const config: { getOrThrow<T = string>(key: string): T };
declare const url: string;
declare const ioredis: { options: RedisOptions; redis: Redis; cluster: Cluster };
declare const ioredis5: { options: RedisOptions5; redis: Redis5; cluster: Cluster5 };
`;

const inClass = (member: string): string => `class Jobs {\n${member}\n}`;

/** Names of the cases are those of the tests; what compiles and what does not, and why not. */
const compiles: Record<string, string> = {
  'an async method': inClass(`@SchedulerLock() async run(): Promise<number> { return 1; }`),
  'a method that returns a promise': inClass(
    `@SchedulerLock() run(): Promise<void> { return Promise.resolve(); }`,
  ),
  'a method that returns a PromiseLike': inClass(
    `@SchedulerLock() run(): PromiseLike<string> { return Promise.resolve(''); }`,
  ),
  'a method that returns nothing': inClass(`@SchedulerLock() run(): void {}`),
  'above @Cron()': inClass(`@SchedulerLock('a') @Cron('* * * * * *') async run() {}`),
  'below @Cron()': inClass(`@Cron('* * * * * *') @SchedulerLock('a') async run() {}`),
  'above and below @Cron() on a void method': inClass(
    `@Cron('* * * * * *') @SchedulerLock('a') below(): void {}\n@SchedulerLock('b') @Cron('* * * * * *') above(): void {}`,
  ),
  'with applyDecorators()': `const Job = () => applyDecorators(Cron('* * * * * *'), SchedulerLock('a'));
    ${inClass(`@Job() async run() {}`)}`,
  'on an abstract class and with an override': `abstract class Base { @SchedulerLock() async run() {} }
    class Jobs extends Base { @SchedulerLock('own') override async run() { await super.run(); } }`,
  'a name made of the arguments': inClass(
    '@SchedulerLock({ name: (id: string, page: number) => `${id}-${page}` }) async run(_id: string, _page: number) {}',
  ),
  'a name made of the first arguments only': inClass(
    `@SchedulerLock({ name: (id: string) => id }) async run(_id: string, _page: number) {}`,
  ),
  'durations as numbers and texts': inClass(
    `@SchedulerLock({ ttl: 60_000, heartbeat: '10s', timeout: '1.5h', atLeast: '500ms' }) async run() {}`,
  ),
  'durations of a configuration': inClass(
    `@SchedulerLock({ ttl: config.getOrThrow('TTL'), heartbeat: config.getOrThrow<number>('BEAT') }) async run() {}`,
  ),
  'explicit undefined': inClass(
    `@SchedulerLock({ name: undefined, ttl: undefined, heartbeat: false }) async run() {}`,
  ),
  'a URL': `SchedulerLockModule.forRoot({ connection: url });`,
  'a URL of a configuration': `SchedulerLockModule.forRootAsync({
    useFactory: () => ({ connection: config.getOrThrow('REDIS_URL'), ttl: config.getOrThrow('TTL') }),
  });`,
  'options of ioredis 6': `SchedulerLockModule.forRoot({ connection: ioredis.options });`,
  'clients of ioredis 6': `SchedulerLockModule.forRoot({ connection: ioredis.redis });
    SchedulerLockModule.forRoot({ connection: ioredis.cluster });`,
  'options of ioredis 5': `SchedulerLockModule.forRoot({ connection: ioredis5.options });`,
  'clients of ioredis 5': `SchedulerLockModule.forRoot({ connection: ioredis5.redis });
    SchedulerLockModule.forRoot({ connection: ioredis5.cluster });`,
  'ioredis options written down': `SchedulerLockModule.forRoot({
    connection: { sentinels: [{ host: 'a', port: 26379 }], name: 'main', password: 'x', keyPrefix: 'app:', tls: {} },
  });`,
  'an election of a class with both hooks': `@LeaderElection('feed', { ttl: '15s' })
    class Feed { constructor(private readonly url: string) {} onElected({ signal }: Lock) { void signal; } async onRevoked() {} }`,
  'a leader for all jobs': `SchedulerLockModule.forRoot({ connection: url, leader: { name: 'main' } });`,
  'a factory that answers later': `SchedulerLockModule.forRootAsync({
    inject: ['CONFIG'], useFactory: async (text: string): Promise<SchedulerLockModuleOptions> => ({ connection: text }),
  });`,
};

const refused: Record<string, { source: string; because: RegExp }> = {
  'a method that returns a number at once': {
    source: inClass(`@SchedulerLock() run(): number { return 1; }`),
    because: /not assignable to type '.*PromiseLike<unknown>/,
  },
  'a method that may return a number at once': {
    source: inClass(`@SchedulerLock('a') run(): number | Promise<number> { return 1; }`),
    because: /not assignable to type '.*PromiseLike<unknown>/,
  },
  'a method with @Cron() that returns text at once': {
    source: inClass(`@Cron('* * * * * *') @SchedulerLock('a') run(): string { return ''; }`),
    because: /not assignable to type '.*PromiseLike<unknown>/,
  },
  'a property': {
    source: inClass(`@SchedulerLock() run = async () => {};`),
    because: /signature of property decorator/,
  },
  'a name made of an argument of another type': {
    source: inClass(`@SchedulerLock({ name: (id: string) => id }) async run(_id: number) {}`),
    because: /Type '(string|number)' is not assignable to type '(string|number)'/,
  },
  'a name that is a number': {
    source: inClass(`@SchedulerLock({ name: (id: number) => id }) async run(_id: number) {}`),
    because: /Type 'number' is not assignable to type 'string'/,
  },
  'an option that does not exist': {
    source: inClass(`@SchedulerLock({ lockAtMostFor: '10m' }) async run() {}`),
    because: /'lockAtMostFor' does not exist in type/,
  },
  'a duration that is a flag': {
    source: inClass(`@SchedulerLock({ ttl: true }) async run() {}`),
    because: /Type 'true' is not assignable to type 'Duration \| undefined'/,
  },
  'an election of a class without onRevoked': {
    source: `@LeaderElection('feed') class Feed { onElected() {} }`,
    because: /Property 'onRevoked' is missing/,
  },
  'an election on a method': {
    source: inClass(`@LeaderElection('feed') async run() {}`),
    because: /Unable to resolve signature of method decorator/,
  },
  'a leader without a name': {
    source: `SchedulerLockModule.forRoot({ leader: { ttl: '15s' } });`,
    because: /Property 'name' is missing/,
  },
  'a wrong choice': {
    source: inClass(`@SchedulerLock({ onSkip: 'reject' }) async run() {}`),
    because: /Type '"reject"' is not assignable to type 'OnSkip \| undefined'/,
  },
  'a number as connection': {
    source: `SchedulerLockModule.forRoot({ connection: 6379 });`,
    because: /'number' (is not assignable to|has no properties in common with) type/,
  },
  'a store without the methods of one': {
    source: `SchedulerLockModule.forRoot({ store: { acquire: async () => ({ acquired: true, fencingToken: 1 }) } });`,
    because: /missing the following properties from type 'LockStore': extend, release/,
  },
};

let found: Record<string, string[]>;

beforeAll(() => {
  const sources = Object.entries(refused).map(([name, { source }]): [string, string] => [name, source]);
  const all = [...Object.entries(compiles), ...sources];
  found = diagnose(Object.fromEntries(all.map(([name, source]) => [name, `${IMPORTS}${source}\n`])));
});

describe('TypeScript accepts', () => {
  test.each(Object.keys(compiles))('%s', (name) => expect(found[name]).toEqual([]));
});

describe('TypeScript refuses', () => {
  test.each(Object.entries(refused))('%s', (name, { because }) => {
    expect(found[name]).toHaveLength(1);
    expect(found[name]?.[0]).toMatch(because);
  });
});
