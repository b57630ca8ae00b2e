import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { freePort, LOOPBACK } from '../../support/machine.js';
import { ProxyConnection } from './proxy-connection.js';
import type { Direction, Traffic } from './proxy-lane.js';
import { ProxyRules, type Fault } from './proxy-rules.js';
import { until } from '../../support/until.js';

const WAIT_TIMEOUT = 20_000;
const LISTEN_TRIES = 20;

/**
 * Matches a request, written as in redis-cli (`set lock:a token NX PX 1000`): it contains the string, or matches
 * the expression or function.
 */
export type RequestMatch = string | RegExp | ((request: string) => boolean);

export interface ProxyOptions {
  host: string;
  port: number;
  /** `raw` for anything that does not speak RESP: units are packets then, and replies belong to no request. */
  protocol?: 'resp' | 'raw';
}

interface Reply {
  bytes: Buffer;
  request: string | undefined;
}

/**
 * A loopback TCP proxy with faults. It forwards whole requests and replies, and pairs them in order, so faults are
 * exact with pipelines too. Pairing fails on connections where the server sends messages by itself (SUBSCRIBE and
 * MONITOR in RESP2) or sends no replies (CLIENT REPLY OFF): there, do not ask for the reply *to* something.
 */
export class TcpProxy {
  readonly host = LOOPBACK;
  readonly url: string;
  readonly #connections = new Set<ProxyConnection>();
  readonly #requests: Traffic = { frozen: false, held: 0, delay: 0 };
  readonly #replies: Traffic = { frozen: false, held: 0, delay: 0 };
  readonly #requestRules = new ProxyRules<string>();
  readonly #replyRules = new ProxyRules<Reply>();
  #server: Server | undefined;

  /** @internal see {@link startProxy} */
  constructor(
    readonly port: number,
    private readonly target: ProxyOptions,
  ) {
    this.url = `redis://${LOOPBACK}:${port}`;
  }

  /** How many clients are connected. */
  get connections(): number {
    return [...this.#connections].filter(({ open }) => open).length;
  }

  /** Breaks all connections; new ones are accepted. */
  cut(): void {
    for (const connection of this.#connections) connection.cut();
    this.#connections.clear();
  }

  /** The connections that there are stay open, but nothing passes any more, as if the network had forgotten them. New ones work. */
  forget(): void {
    for (const connection of this.#connections) connection.forget();
  }

  /** Breaks all connections and refuses new ones (ECONNREFUSED), or listens again. */
  async refuse(refuse = true): Promise<void> {
    if (!refuse) return until(() => this.listen().then(() => true), { timeout: 5_000 }).then(() => undefined);
    const server = this.#server;
    this.#server = undefined;
    server?.close();
    this.cut();
    if (server) await once(server, 'close');
  }

  /** Connections stay open and new ones are accepted, but not a byte passes in either direction. */
  freeze(): void {
    this.#change([this.#requests, this.#replies], (traffic) => (traffic.frozen = true));
  }

  thaw(): void {
    this.#change([this.#requests, this.#replies], (traffic) => (traffic.frozen = false));
  }

  /** Everything that comes from now on is this many milliseconds late. 0 ends it. */
  delay(ms: number, direction?: Direction): void {
    this.#change(this.#traffic(direction), (traffic) => (traffic.delay = ms));
  }

  /** Holds replies until the returned function is called, then delivers them in order. */
  holdReplies(): () => void {
    return this.#hold('replies');
  }

  /** The same for requests: the server gets them when the hold ends. */
  holdRequests(): () => void {
    return this.#hold('requests');
  }

  /** Drops replies: all from now on, the next `n`, or those for which the predicate holds. */
  swallowReplies(which: number | ((reply: string) => boolean) = Infinity): Fault {
    const matches = typeof which === 'number' ? () => true : which;
    const times = typeof which === 'number' ? which : Infinity;
    return this.#replyRules.fault(({ bytes }) => matches(bytes.toString('utf8')), 'swallow', times);
  }

  /** Drops requests, which the server then never sees: all from now on, the next `n`, or those that match. */
  swallowRequests(which: number | RequestMatch = Infinity): Fault {
    const matches = typeof which === 'number' ? () => true : matcher(which);
    return this.#requestRules.fault(matches, 'swallow', typeof which === 'number' ? which : Infinity);
  }

  /**
   * Lets the next request that matches through and drops the server's reply to it; with `cut` it also breaks the
   * connection at that moment. A script's first EVALSHA may be answered by NOSCRIPT: match what comes after, or
   * load it before.
   */
  swallowReplyTo(
    match: RequestMatch,
    { cut = false, times = 1 }: { cut?: boolean; times?: number } = {},
  ): Fault {
    const matches = matcher(match);
    return this.#replyRules.fault(
      ({ request }) => request !== undefined && matches(request),
      cut ? 'cut' : 'swallow',
      times,
    );
  }

  /** Resolves when a request that matches has left for the server. Earlier ones do not count. */
  waitForRequest(match: RequestMatch, timeout = WAIT_TIMEOUT): Promise<void> {
    const matches = matcher(match);
    return this.#requestRules.waitFor(matches, timeout, `a request ${String(match)}`);
  }

  /** Resolves when the server has answered a request that matches, be the reply held, swallowed or delivered. */
  waitForReplyTo(match: RequestMatch, timeout = WAIT_TIMEOUT): Promise<void> {
    const matches = matcher(match);
    const isReply = ({ request }: Reply): boolean => request !== undefined && matches(request);
    return this.#replyRules.waitFor(isReply, timeout, `the reply to ${String(match)}`);
  }

  /** Listens to each request as it leaves for the server, before any fault. Returns a function that stops this. */
  onRequest(listener: (request: string) => void): () => void {
    return this.#requestRules.listen(listener);
  }

  /** Listens to each reply as it comes from the server, with its request. Returns a function that stops this. */
  onReply(listener: (reply: string, request: string | undefined) => void): () => void {
    return this.#replyRules.listen(({ bytes, request }) => listener(bytes.toString('utf8'), request));
  }

  async stop(): Promise<void> {
    await this.refuse();
  }

  /** @internal */
  async listen(): Promise<void> {
    if (this.#server) return;
    const server = createServer((client) => {
      const { target } = this;
      const connection: ProxyConnection = new ProxyConnection(
        client,
        {
          target: { host: target.host, port: target.port },
          protocol: target.protocol ?? 'resp',
          requests: this.#requests,
          replies: this.#replies,
          judge: {
            request: (text) => this.#requestRules.judge(text),
            reply: (bytes, request) => this.#replyRules.judge({ bytes, request }),
          },
        },
        () => this.#connections.delete(connection),
      );
      this.#connections.add(connection);
    });
    server.listen(this.port, LOOPBACK);
    await once(server, 'listening');
    this.#server = server;
  }

  #hold(direction: Direction): () => void {
    const traffic = this.#traffic(direction);
    this.#change(traffic, (lane) => lane.held++);
    let released = false;
    return () => {
      if (released) return;
      released = true;
      this.#change(traffic, (lane) => lane.held--);
    };
  }

  #traffic(direction: Direction | undefined): Traffic[] {
    if (direction === undefined) return [this.#requests, this.#replies];
    return [direction === 'requests' ? this.#requests : this.#replies];
  }

  #change(traffic: Traffic[], change: (traffic: Traffic) => void): void {
    traffic.forEach(change);
    for (const connection of this.#connections) connection.update();
  }
}

/** Starts a proxy on a free loopback port. */
export async function startProxy(target: ProxyOptions): Promise<TcpProxy> {
  for (let attempt = 1; ; attempt++) {
    const proxy = new TcpProxy(await freePort(), target);
    try {
      await proxy.listen();
      return proxy;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || attempt >= LISTEN_TRIES) throw error;
    }
  }
}

function matcher(match: RequestMatch): (request: string) => boolean {
  if (typeof match === 'function') return match;
  if (typeof match === 'string') return (request) => request.includes(match);
  // search() starts at the beginning even with a `g` or `y` flag.
  return (request) => request.search(match) >= 0;
}
