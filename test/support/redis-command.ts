import { Redis } from 'ioredis';

/** One command to one server over a connection of its own, with short limits and no second try. */
export async function redisCommand(
  address: { host: string; port: number } | string,
  command: string,
  ...args: (string | number)[]
): Promise<unknown> {
  const limits = {
    lazyConnect: true,
    enableReadyCheck: false,
    connectTimeout: 2_000,
    commandTimeout: 5_000,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  };
  const client =
    typeof address === 'string' ? new Redis(address, limits) : new Redis({ ...address, ...limits });
  let failure: Error | undefined;
  client.on('error', (error: Error) => (failure = error));
  try {
    await client.connect();
    return await client.call(command, ...args);
  } catch (error) {
    // "Connection is closed." hides why; the event has it.
    throw failure ?? error;
  } finally {
    client.disconnect();
  }
}
