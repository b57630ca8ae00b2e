/* What the types of the package accept, and what not. */

/** What each case has before it: the package by its name, as users have it. */
export const IMPORTS = `
import { applyDecorators } from '@nestjs/common';
import { Cron, type SchedulerRegistry } from '@nestjs/schedule';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5, type RedisOptions as RedisOptions5 } from 'ioredis5';
import { type Observable, of } from 'rxjs';
import { type Duration, LeaderElection, type Lock, type LockOptions, type LockStore, SchedulerLock, SchedulerLockModule, type SchedulerLockModuleOptions, SchedulerLockService, tickOf } from 'nestjs-scheduler-lock';
import * as redis6 from 'redis';
import * as redis5 from 'redis5';
import { nodeRedis, type RedisConnectionSource, RedisLockStore, type RedisLockStoreOptions } from 'nestjs-scheduler-lock/redis';
declare const config: { getOrThrow<T = string>(key: string): T };
declare const nestConfig: { get<T = any>(key: string): T };
declare const locks: SchedulerLockService;
declare const url: string;
declare const registry: SchedulerRegistry;
declare const ioredis: { options: RedisOptions; redis: Redis; cluster: Cluster };
declare const ioredis5: { options: RedisOptions5; redis: Redis5; cluster: Cluster5 };
`;

const inClass = (member: string): string => `class Jobs {\n${member}\n}`;

/** Names of the cases are those of the tests; what compiles and what does not, and why not. */
export const COMPILES: Readonly<Record<string, string>> = {
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
  'durations with each unit': inClass(
    `@SchedulerLock({ ttl: '1.5h', heartbeat: '500ms', timeout: '10m', atLeast: '30s', catchUp: '1d' }) async run() {}`,
  ),
  'durations as Nest reads a configuration': inClass(
    `@SchedulerLock({ ttl: nestConfig.get('TTL'), heartbeat: nestConfig.get<Duration>('BEAT') }) async run() {}`,
  ),
  'durations of the environment': `SchedulerLockModule.forRoot({ connection: url, ttl: process.env['TTL'] as Duration | undefined });`,
  'durations of factories': `SchedulerLockModule.forRootAsync({ useFactory: () => ({ connection: url, ttl: '10m', leader: { name: 'main', ttl: '15s' } }) });
    SchedulerLockModule.forRootAsync({ useFactory: async () => { return { connection: url, storeTimeout: '1s' }; } });`,
  'durations of objects': `const fixed = { ttl: '10m' } as const;
    const checked = { ttl: '10m', timeout: '5m' } satisfies LockOptions;
    const typed: LockOptions = { ttl: '10m' };
    void locks.run('a', fixed, () => 1);
    void locks.run('a', checked, () => 1);
    SchedulerLockModule.forRoot({ connection: url, ...typed });`,
  'durations of calls':
    "declare const minutes: number; void locks.run('a', { ttl: `${minutes}m` }, () => 1); void locks.acquire('a', { ttl: '1m' });",
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
  'clients of node-redis 6': `SchedulerLockModule.forRoot({ connection: redis6.createClient() });
    SchedulerLockModule.forRoot({ connection: redis6.createCluster({ rootNodes: [] }) });
    void [nodeRedis(redis6.createClient()), nodeRedis(redis6.createCluster({ rootNodes: [] }))];
    new RedisLockStore(redis6.createSentinel({ name: 'main', sentinelRootNodes: [] }));`,
  'clients of node-redis 5': `SchedulerLockModule.forRoot({ connection: redis5.createClient() });
    SchedulerLockModule.forRoot({ connection: redis5.createCluster({ rootNodes: [] }) });
    new RedisLockStore(redis5.createSentinel({ name: 'main', sentinelRootNodes: [] }));
    SchedulerLockModule.forRoot({ connection: redis5.createClient({ RESP: 3 }).withTypeMapping({ 36: Buffer }) });`,
  'ioredis options written down': `SchedulerLockModule.forRoot({
    connection: { sentinels: [{ host: 'a', port: 26379 }], name: 'main', password: 'x', keyPrefix: 'app:', tls: {} },
  });`,
  'a store in Redis by each kind of connection': `SchedulerLockModule.forRoot({ store: new RedisLockStore(url) });
    const options: RedisLockStoreOptions = { keyPrefix: undefined, key: (name) => name };
    const source: RedisConnectionSource = { host: 'a', port: 6379 };
    const stores: LockStore[] = [new RedisLockStore(source, options), new RedisLockStore(ioredis.cluster), new RedisLockStore(ioredis5.redis)];
    void [ioredis.options, ioredis5.options].map((each) => new RedisLockStore(each).inspect());`,
  'an election of a class with both hooks': `@LeaderElection('feed', { ttl: '15s' })
    class Feed { constructor(private readonly url: string) {} onElected({ signal }: Lock) { void signal; } async onRevoked() {} }`,
  'a leader for all jobs': `SchedulerLockModule.forRoot({ connection: url, leader: { name: 'main' } });`,
  'a cron job that is made at run time': `locks.cron('report', '0 3 * * *', async ({ tick, signal }) => void [tick, signal]);
    const job = locks.cron('report', new Date(), {
      timeZone: 'Europe/Berlin', cron: { waitForCompletion: true, threshold: 1_000 }, catchUp: '1h', rerun: 1, ttl: '5m', lock: 'b',
    }, () => 1);
    job.stop(); job.start(); job.fireOnTick();
    const tick: number | undefined = tickOf(job);`,
  'an interval that is made at run time': `locks.interval('poll', 5_000, () => undefined);
    locks.interval('poll', '5s', { ttl: '1m', oncePerTick: false, lock: undefined }, async ({ fencingToken }) => fencingToken);`,
  'options of a dynamic job that may be missing': `declare const options: { timeZone: string } | undefined;
    locks.cron('report', '0 3 * * *', options, () => undefined);`,
  'the tick of a cron job of the registry': `const job = registry.getCronJob('report');
    void locks.run('report', { tick: tickOf(job) }, () => undefined);`,
  'a factory that answers later': `SchedulerLockModule.forRootAsync({
    inject: ['CONFIG'], useFactory: async (text: string): Promise<SchedulerLockModuleOptions> => ({ connection: text }),
  });`,
};

export const REFUSED: Readonly<Record<string, { source: string; because: RegExp }>> = {
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
  'a method that returns an Observable': {
    source: inClass(`@SchedulerLock() run(): Observable<number> { return of(1); }`),
    because: /not assignable to type '.*PromiseLike<unknown>/,
  },
  'a generator method': {
    source: inClass(`@SchedulerLock() *run() { yield 1; }`),
    because: /not assignable to type '.*PromiseLike<unknown>/,
  },
  'an async generator method': {
    source: inClass(`@SchedulerLock() async *run() { yield 1; }`),
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
  'a duration with a word for a unit': {
    source: inClass(`@SchedulerLock({ ttl: '5 minutes' }) async run() {}`),
    because: /Type '"5 minutes"' is not assignable to type 'Duration \| undefined'/,
  },
  'a duration without a unit': {
    source: `void locks.run('a', { ttl: '60000' }, () => 1);`,
    because: /Type '"60000"' is not assignable to type 'Duration \| undefined'/,
  },
  'a duration that is any text': {
    source: `SchedulerLockModule.forRoot({ connection: url, ttl: config.getOrThrow<string>('TTL') });`,
    because: /Type 'string' is not assignable to type 'Duration \| undefined'/,
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
  'a cron job that is made without a function': {
    source: `locks.cron('report', '0 3 * * *', { ttl: '5m' });`,
    because: /'ttl' does not exist in type 'DynamicJob'/,
  },
  'a dynamic job with an option that does not exist': {
    source: `locks.cron('report', '0 3 * * *', { timezone: 'UTC' }, () => undefined);`,
    because: /'timezone' does not exist in type 'CronJobOptions'/,
  },
  'an interval that catches up': {
    source: `locks.interval('poll', '5s', { catchUp: '1h' }, () => undefined);`,
    because: /'catchUp' does not exist in type 'IntervalJobOptions'/,
  },
  'the tick of a timer': {
    source: `tickOf(registry.getInterval('poll') as NodeJS.Timeout);`,
    because: /Property 'cronTime' is missing/,
  },
  'a wrong choice': {
    source: inClass(`@SchedulerLock({ onSkip: 'reject' }) async run() {}`),
    because: /Type '"reject"' is not assignable to type 'OnSkip \| undefined'/,
  },
  'a number as connection': {
    source: `SchedulerLockModule.forRoot({ connection: 6379 });`,
    because: /'number' (is not assignable to|has no properties in common with) type/,
  },
  'a store in Redis with an option that does not exist': {
    source: `new RedisLockStore(url, { keyprefix: 'jobs' });`,
    because: /'keyprefix' does not exist in type 'RedisLockStoreOptions'/,
  },
  'a store in Redis without a connection': {
    source: `new RedisLockStore();`,
    because: /Expected 1-2 arguments, but got 0/,
  },
  'a store without the methods of one': {
    source: `SchedulerLockModule.forRoot({ store: { acquire: async () => ({ acquired: true, fencingToken: 1 }) } });`,
    because: /missing the following properties from type 'LockStore': extend, release/,
  },
};
