import { expect, test } from '@jest/globals';
import { StoreUnavailableError } from '../../../../lib/errors.js';
import { RedisReplyError, ScriptReply } from '../../../../lib/stores/redis/redis-client.js';
import { script } from '../../../../lib/stores/redis/script.js';

const SCRIPT = script('return 1');

/** A client that answers one command after another so, or fails with an error. */
class Client {
  readonly sent: string[] = [];
  status = 'ready';

  constructor(private readonly answers: unknown[]) {}

  evalsha = (): Promise<unknown> => this.#answer('evalsha');
  eval = (): Promise<unknown> => this.#answer('eval');

  async #answer(command: string): Promise<unknown> {
    this.sent.push(command);
    const answer = this.answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  }
}

function send(client: Client, read: (answer: unknown) => unknown = (answer) => answer) {
  const refuse = (error: Error): Error => error;
  return new ScriptReply({ client: () => client as never }, SCRIPT, 0, [], read, refuse);
}

/** What those who ask are told, in the order in which they have asked. */
async function told(reply: ScriptReply<unknown>, tellers = 1): Promise<unknown[]> {
  const all = Array.from({ length: tellers }, () => new Promise((resolve) => reply.tell(resolve, resolve)));
  return Promise.all(all);
}

const replyError = (message: string): Error => Object.assign(new Error(message), { name: 'ReplyError' });

test('the answer is read once, however many are told of it', async () => {
  let reads = 0;
  const client = new Client(['granted']);
  const reply = send(client, (answer) => `${String(answer)} ${++reads}`);
  expect(await told(reply, 2)).toEqual(['granted 1', 'granted 1']);
  expect(await told(reply)).toEqual(['granted 1']);
});

test('a script that the server does not have is sent with its text, once, however many wait', async () => {
  const client = new Client([replyError('NOSCRIPT No matching script'), 'granted']);
  expect(await told(send(client), 2)).toEqual(['granted', 'granted']);
  expect(client.sent).toEqual(['evalsha', 'eval']);
});

test('a failure of either is told as one, also to those who ask later', async () => {
  const refused = send(new Client([replyError('NOPERM no permission')]));
  for (let time = 0; time < 2; time++) expect((await told(refused))[0]).toBeInstanceOf(RedisReplyError);
  const cut = send(
    new Client([replyError('NOSCRIPT No matching script'), new Error('Connection is closed.')]),
  );
  expect((await told(cut))[0]).toMatchObject({ outcome: 'unknown' });
});

test('an answer that cannot be read is a failure', async () => {
  const unreadable = new TypeError('no answer');
  const reply = send(new Client(['granted']), () => {
    throw unreadable;
  });
  expect(await told(reply)).toEqual([unreadable]);
});

test('nothing waits in a client that is not connected, and nobody is told before they have asked', async () => {
  const client = new Client([]);
  client.status = 'reconnecting';
  const order: string[] = [];
  const failed = new Promise((resolve) =>
    send(client).tell(resolve, (error) => resolve((order.push('told'), error))),
  );
  order.push('asked');
  const error = await failed;
  expect(error).toBeInstanceOf(StoreUnavailableError);
  expect(error).toMatchObject({ outcome: 'not-applied' });
  expect(order).toEqual(['asked', 'told']);
  expect(client.sent).toEqual([]);
});

test('a connection that is lost before the text is sent is a failure, and the text is not queued', async () => {
  const client = new Client([]);
  client.evalsha = async () => {
    client.status = 'reconnecting';
    throw replyError('NOSCRIPT No matching script');
  };
  expect((await told(send(client)))[0]).toMatchObject({ outcome: 'not-applied' });
  expect(client.sent).toEqual([]);
});
