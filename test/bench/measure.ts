import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';

/** The cost of one operation, in microseconds: the elapsed time, and the processor time of node, of Redis and of both. */
type Cost = Record<'wall' | 'node' | 'redis' | 'cpu', number>;

/** The cost of each of the `operations` operations that `work` does. `observer` is a connection that `work` does not use. */
export async function measure(observer: Redis, operations: number, work: () => Promise<void>): Promise<Cost> {
  const redisBefore = await redisCpu(observer);
  const before = process.cpuUsage();
  const start = performance.now();
  await work();
  const wall = (performance.now() - start) * 1e3;
  const { user, system } = process.cpuUsage(before);
  const node = (user + system) / operations;
  const redis = ((await redisCpu(observer)) - redisBefore) / operations;
  return { wall: wall / operations, node, redis, cpu: node + redis };
}

/**
 * Takes as many turns as will be measured, without measuring them. In a process that runs jobs for days, the cost of compiled
 * code matters, not that of compiling.
 */
export async function warmUp(turn: () => Promise<unknown>, turns: number): Promise<void> {
  for (let i = 0; i < turns; i++) await turn();
}

/** Microseconds of processor time that Redis has used since its start. */
export async function redisCpu(observer: Redis): Promise<number> {
  const info = await observer.info('cpu');
  const seconds = (field: string): number =>
    Number(new RegExp(`^${field}:(.*)$`, 'm').exec(info)?.[1] ?? NaN);
  return (seconds('used_cpu_sys') + seconds('used_cpu_user')) * 1e6;
}

/** Bytes that Redis has received since its start. */
export async function bytesIn(observer: Redis): Promise<number> {
  return Number(/^total_net_input_bytes:(\d+)/m.exec(await observer.info('stats'))?.[1] ?? NaN);
}

/** How often each command was called, including calls by scripts. */
export async function commandCalls(observer: Redis): Promise<Map<string, number>> {
  const info = await observer.info('commandstats');
  const lines = info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm);
  return new Map([...lines].map(([, command = '', calls]) => [command, Number(calls)]));
}

/**
 * How many commands Redis receives while `work` runs, without the calls by scripts, which are no round trips. Reads MONITOR without
 * ioredis, which takes what it is told for the reply to another command if thousands of commands per second are under way.
 */
export async function countCommands(url: string, work: () => Promise<unknown>): Promise<number> {
  const client = new Redis(url);
  // It is ready: what that takes is not counted.
  await client.ping();
  const { hostname, port, username, password } = new URL(url);
  const socket = connect(Number(port || 6379), hostname);
  if (password !== '') socket.write(`AUTH ${username || 'default'} ${decodeURIComponent(password)}\r\n`);
  socket.write('MONITOR\r\n');
  const mark = `counted by ${process.pid}`;
  let [commands, answers] = [0, password === '' ? 1 : 2];
  let [begin, end, fail]: ((reason?: unknown) => void)[] = [];
  const begun = new Promise<unknown>((resolve, reject) => ([begin, fail] = [resolve, reject]));
  const ended = new Promise<unknown>((resolve) => (end = resolve));
  createInterface({ input: socket }).on('line', (line) => {
    if (line === '+OK' && --answers === 0) begin?.();
    else if (line.startsWith('-')) fail?.(new Error(line));
    else if (line.includes(`"${mark}"`)) end?.();
    else if (/^\+[\d.]+ \[\d+ (?!lua\])/.test(line)) commands += 1;
  });
  await begun;
  await work();
  await client.echo(mark);
  await ended;
  socket.destroy();
  client.disconnect();
  return commands;
}
