import { EventEmitter } from 'node:events';
import { beforeEach, expect, test } from '@jest/globals';
import { type ListeningClient, Notifications } from '../../../../lib/stores/postgres/notifications.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

let clock: ManualClock;
let isAway: boolean;
let isDeaf: boolean;
let clients: Client[];
beforeEach(() => {
  clock = new ManualClock();
  [isAway, isDeaf, clients] = [false, false, []];
});

/** A connection to a database that a test takes away. */
class Client extends EventEmitter implements ListeningClient {
  connect = (): Promise<unknown> =>
    isAway ? Promise.reject(new Error('connect refused')) : Promise.resolve();
  query = (): Promise<unknown> => Promise.resolve();
  end = (): Promise<unknown> => Promise.resolve();
}

function open(called: (token: string) => void = () => undefined): Notifications {
  const connect = (): ListeningClient => {
    const client = new Client();
    clients.push(client);
    return client;
  };
  const notify = async (_channel: string, payload: string): Promise<void> => {
    if (isAway) throw new Error('connect refused');
    if (!isDeaf) clients.at(-1)?.emit('notification', { payload });
  };
  return new Notifications(connect, notify, 'channel', called, clock);
}

test('it is open once a trial has come back, and passes on what else it hears', async () => {
  const heard: string[] = [];
  const channel = open((token) => heard.push(token));
  await clock.advance(0);
  expect(channel.open).toBe(true);
  clients.at(-1)?.emit('notification', { payload: 'token' });
  expect(heard).toEqual(['token']);
  channel.close();
  expect([channel.open, clock.pending]).toEqual([false, 0]);
});

test('a database that cannot be reached for long is a problem, until it is back', async () => {
  isAway = true;
  const channel = open();
  for (let second = 0; second < 5; second++) await clock.advance(1_000);
  expect(channel.problem).toBeUndefined();
  for (let second = 0; second < 15; second++) await clock.advance(1_000);
  expect(channel.problem).toMatch(/connect refused\. Correct the option `listen`/);
  isAway = false;
  for (let second = 0; second < 3; second++) await clock.advance(1_000);
  expect([channel.open, channel.problem]).toEqual([true, undefined]);
  channel.close();
});

test('trials that never come back are a problem; on a connection that worked before they are none, and it is opened anew', async () => {
  isDeaf = true;
  const never = open();
  await clock.advance(0);
  await clock.advance(2_000);
  expect(never.problem).toMatch(/does not arrive.*PgBouncer/);
  never.close();
  isDeaf = false;
  const channel = open();
  await clock.advance(0);
  const before = clients.length;
  isDeaf = true;
  for (let second = 0; second < 25; second++) await clock.advance(1_000);
  expect([channel.open, channel.problem]).toEqual([false, undefined]);
  isDeaf = false;
  for (let second = 0; second < 15; second++) await clock.advance(1_000);
  expect(channel.open).toBe(true);
  expect(clients.length).toBeGreaterThan(before);
  channel.close();
});
