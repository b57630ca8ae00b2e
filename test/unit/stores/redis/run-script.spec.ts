import { expect, test } from '@jest/globals';
import { StoreUnavailableError } from '../../../../lib/base/errors.js';
import { RedisReplyError, runScript, sendScript } from '../../../../lib/stores/redis/redis-client.js';
import { RedisConnection } from '../../../../lib/stores/redis/redis-connection.js';
import { script } from '../../../../lib/stores/redis/script.js';

const SCRIPT = script('return 1');

/** A client that answers one command after another so, or fails with an error. */
class Client {
  readonly sent: string[] = [];
  status = 'ready';

  constructor(private readonly answers: unknown[]) {}

  evalsha = (): Promise<unknown> => this.#answer('evalsha');
  eval = (): Promise<unknown> => this.#answer('eval');
  mget = async (): Promise<null[]> => [];
  connect = async (): Promise<void> => undefined;
  on = (): this => this;
  off = (): this => this;

  async #answer(command: string): Promise<unknown> {
    this.sent.push(command);
    const answer = this.answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  }
}

const run = (client: Client): Promise<unknown> =>
  runScript(new RedisConnection(client), SCRIPT, 0, []).catch((error: unknown) => error);

const replyError = (message: string): Error => Object.assign(new Error(message), { name: 'ReplyError' });

test('a script that the server does not have is sent with its text', async () => {
  const client = new Client([replyError('NOSCRIPT No matching script'), 'granted']);
  expect(await run(client)).toBe('granted');
  expect(client.sent).toEqual(['evalsha', 'eval']);
});

test('a client that was closed before the application is named with what to do', async () => {
  const client = new Client([]);
  client.status = 'end';
  expect(await run(client)).toMatchObject({
    outcome: 'not-applied',
    message: expect.stringContaining('close a client of yours only when `app.close()` has resolved'),
  });
});

test('a failure of either is a failure of the run', async () => {
  expect(await run(new Client([replyError('NOPERM no permission')]))).toBeInstanceOf(RedisReplyError);
  const cut = new Client([replyError('NOSCRIPT No matching script'), new Error('Connection is closed.')]);
  expect(await run(cut)).toMatchObject({ outcome: 'unknown' });
});

test('nothing waits in a client that is not connected, and before it is opened nothing waits for that', async () => {
  const client = new Client([]);
  client.status = 'reconnecting';
  const error = await run(client);
  expect(error).toBeInstanceOf(StoreUnavailableError);
  expect(error).toMatchObject({ outcome: 'not-applied' });
  expect(client.sent).toEqual([]);
});

test('a client that throws has failed', () => {
  const failed: Error[] = [];
  const client = new Client([]);
  client.evalsha = () => {
    throw new Error('no such command');
  };
  const told = { answered: () => undefined, failed: (error: Error) => failed.push(error) };
  sendScript(new RedisConnection(client), SCRIPT, 0, [], told);
  expect(failed).toMatchObject([{ message: 'Redis did not answer: no such command.', outcome: 'unknown' }]);
});

test('a connection that is lost before the text is sent is a failure, and the text is not queued', async () => {
  const client = new Client([]);
  client.evalsha = async () => {
    client.status = 'reconnecting';
    throw replyError('NOSCRIPT No matching script');
  };
  expect(await run(client)).toMatchObject({ outcome: 'not-applied' });
  expect(client.sent).toEqual([]);
});
