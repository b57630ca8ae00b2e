import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.js';
import { describeFailure } from '../sql/failure.js';
import { type Listening, TestedChannel } from '../shared/tested-channel.js';

/** A connection of `pg` that stays open. */
export interface ListeningClient {
  connect(): Promise<unknown>;
  query(text: string): Promise<unknown>;
  end(): Promise<unknown>;
  on(event: 'notification', listener: (message: { readonly payload?: string | undefined }) => void): unknown;
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown;
}

/** The channel of a process: it has to fit into the 63 bytes of a name, whatever the process is called. */
export const channelOf = (process: string): string =>
  `scheduler_lock_${createHash('sha256').update(process).digest('hex').slice(0, 40)}`;

/** The channel that every process hears which hears hints, whatever its table. */
export const COMMON = channelOf('queued calls');

/**
 * Hears by LISTEN which call of this process is called. A test that does not arrive shows that a proxy between pools connections, that the
 * connection is dead, or that it leads to another database.
 */
export class Notifications extends TestedChannel {
  /**
   * @param connect makes a connection, which is not open yet
   * @param notify sends a text to a channel, through the pool
   * @param called receives the token of a call
   */
  constructor(
    connect: () => ListeningClient,
    notify: (channel: string, payload: string) => Promise<unknown>,
    channel: string,
    called: (token: string) => void,
    clock?: Clock,
  ) {
    super(
      {
        listen: (heard, lost) => listening(connect(), channel, heard, lost),
        send: (text) => notify(channel, text),
        called,
        deaf: 'what the pool notifies of does not arrive. Give the store an address for `listen` that leads to the same database without a proxy such as PgBouncer.',
        refused: (error) => `${describeFailure(error)}. Correct the option \`listen\` of the store.`,
      },
      clock,
    );
  }
}

function listening(
  client: ListeningClient,
  channel: string,
  heard: (text: string) => void,
  lost: () => void,
): Listening {
  client.on('error', lost);
  client.on('end', lost);
  client.on('notification', ({ payload = '' }) => heard(payload));
  const ready = client.connect().then(() => client.query(`LISTEN ${channel}; LISTEN ${COMMON}`));
  return { ready, close: () => void client.end().catch(() => undefined) };
}
