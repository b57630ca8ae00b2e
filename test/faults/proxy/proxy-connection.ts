import { connect, type Socket } from 'node:net';
import { Lane, type Traffic } from './proxy-lane.js';
import { isPush, requestText, RespFramer, rawFramer, type Framer } from './resp-frames.js';

/** The verdict on one request or reply. */
export type Verdict = 'pass' | 'swallow' | 'cut';

/** The faults and listeners of a proxy, called for every request and reply. */
export interface Judge {
  request(text: string): Verdict;
  /** `request` is the one it answers, undefined for messages out of turn and protocols other than RESP. */
  reply(reply: Buffer, request: string | undefined): Verdict;
}

export interface ConnectionOptions {
  target: { host: string; port: number };
  protocol: 'resp' | 'raw';
  requests: Traffic;
  replies: Traffic;
  judge: Judge;
}

/**
 * A client's connection and the one to the server that goes with it. Everything is judged at the server's side: a
 * request when it leaves for the server, a reply when it comes from it.
 */
export class ProxyConnection {
  readonly #server: Socket;
  readonly #requests: Lane;
  readonly #replies: Lane;
  /** Requests that the server has not answered yet; it answers in this order. */
  readonly #unanswered: string[] = [];
  #forgotten = false;

  constructor(
    private readonly client: Socket,
    private readonly options: ConnectionOptions,
    onClose: () => void,
  ) {
    const server = connect({ ...options.target, noDelay: true });
    this.#server = server;
    client.setNoDelay(true);
    this.#requests = new Lane(options.requests, server, (bytes) => this.#passRequest(bytes));
    this.#replies = new Lane(options.replies, client);
    const framer = (): Framer => (options.protocol === 'resp' ? new RespFramer() : rawFramer);
    const requests = framer();
    const replies = framer();
    client.on('data', (chunk: Buffer) => {
      if (!this.#forgotten) requests.push(chunk).forEach((bytes) => this.#requests.push(bytes));
    });
    server.on('data', (chunk: Buffer) => {
      if (!this.#forgotten) replies.push(chunk).forEach((bytes) => this.#takeReply(bytes));
    });
    // A close follows every error.
    client.on('error', () => undefined);
    server.on('error', () => undefined);
    const closed = (): void => {
      if (client.closed && server.closed) onClose();
    };
    client.on('close', () => {
      if (this.#forgotten) server.destroy();
      this.#requests.end();
      closed();
    });
    server.on('close', () => {
      if (!this.#forgotten) this.#replies.end();
      closed();
    });
    server.on('connect', () => this.update());
    this.update();
  }

  /** Whether the client is still there; the server may learn later that it is not. */
  get open(): boolean {
    return !this.client.destroyed;
  }

  /** Call this when the traffic's state has changed. */
  update(): void {
    if (this.options.requests.frozen) {
      this.client.pause();
      this.#server.pause();
      return;
    }
    this.client.resume();
    this.#server.resume();
    this.#requests.pump();
    this.#replies.pump();
  }

  /** From now on nothing passes, and neither side is told. */
  forget(): void {
    this.#forgotten = true;
    this.#requests.destroy();
    this.#replies.destroy();
  }

  cut(): void {
    this.#requests.destroy();
    this.#replies.destroy();
    this.client.destroy();
    this.#server.destroy();
  }

  #passRequest(bytes: Buffer): boolean {
    const text = this.options.protocol === 'resp' ? requestText(bytes) : bytes.toString('utf8');
    const verdict = this.options.judge.request(text);
    if (verdict === 'cut') this.cut();
    if (verdict !== 'pass') return false;
    if (this.options.protocol === 'resp') this.#unanswered.push(text);
    return true;
  }

  #takeReply(bytes: Buffer): void {
    if (this.client.destroyed) return;
    const request = isPush(bytes) ? undefined : this.#unanswered.shift();
    const verdict = this.options.judge.reply(bytes, request);
    if (verdict === 'cut') this.cut();
    if (verdict === 'pass') this.#replies.push(bytes);
  }
}
