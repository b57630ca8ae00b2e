import { type AskedClient, primaries, type RedisClient } from './connection-options.js';

/**
 * The warning about a server that deletes keys when its memory is full; `undefined` if it does not, or does not show its policy: `INFO` is
 * a right that locks do not need. Asks each primary of a Cluster.
 *
 * @param address of the server, without secrets
 */
export async function evictionWarning(client: RedisClient, address: string): Promise<string | undefined> {
  const policies = await Promise.all(
    primaries(client as AskedClient).map((node) => evictionPolicy(node).catch(() => undefined)),
  );
  const [policy] = policies.filter((each) => each !== undefined);
  if (policy === undefined) return undefined;
  return (
    `Keys are deleted in ${address} when its memory is full (maxmemory-policy ${policy}): a lock or a tick that it deletes is taken again, and ` +
    'the job runs twice. Set maxmemory-policy to noeviction (CONFIG SET maxmemory-policy noeviction, and in its configuration), or ' +
    'give the locks a Redis of their own.'
  );
}

/** The policy of a server, if it deletes keys, and the memory has a limit. */
async function evictionPolicy(client: AskedClient): Promise<string | undefined> {
  const info = (await client.info?.('memory')) ?? '';
  const field = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const policy = field('maxmemory_policy');
  return policy === 'noeviction' || Number(field('maxmemory') ?? 0) === 0 ? undefined : policy;
}
