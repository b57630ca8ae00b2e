import { type Clock, systemClock, type Timer } from '../../base/clock.js';
import type { HintChannel } from '../../contract/lock-store.js';

/** How often the connection is tested, ms. A test that has not come back when the next one is due counts as failed. */
const BEAT = 10_000;
/** When the first test is due, ms. */
const FIRST_BEAT = 2_000;
/** How soon a lost connection is opened again, ms. */
const RECONNECT = 1_000;
/** How many attempts fail in a row until a problem is reported: a database that restarts is back by then. */
const FAILURES_UNTIL_TOLD = 10;

/** A connection on which a process listens. */
export interface Listening {
  /** Rejects if nothing can be heard on it. */
  readonly ready: Promise<unknown>;
  close(): void;
}

/** What a {@link TestedChannel} is made of. */
export interface ChannelParts {
  /** Begins to listen. @param lost to be called when nothing more can be heard */
  listen(heard: (text: string) => void, lost: () => void): Listening;
  /** Sends a text to this channel, on the way that hints take. */
  send(text: string): Promise<unknown>;
  /** Receives the token of a call. */
  readonly called: (token: string) => void;
  /** Why tests never come back, and what to do. */
  readonly deaf: string;
  /** Why there is no connection, and what to do. */
  readonly refused: (error: unknown) => string;
}

/**
 * Hears which call of this process is called.
 *
 * 1. It sends itself a test again and again, on the way that hints take. If the test does not arrive, no hint would: the channel is not open.
 * 2. A failure here costs time, and nothing else: calls in line also ask.
 */
export class TestedChannel implements HintChannel {
  open = false;
  problem: string | undefined;
  #listening: Listening | undefined;
  #timer: Timer | undefined;
  #beats = 0;
  /** The test that has not come back yet. */
  #awaited: string | undefined;
  /** The newest test that was sent. */
  #sent: string | undefined;
  /** How many attempts have failed since a test came back. */
  #failures = 0;
  #hasOpened = false;
  #closed = false;

  constructor(
    private readonly parts: ChannelParts,
    private readonly clock: Clock = systemClock,
  ) {
    void this.#listen();
  }

  close(): void {
    this.#closed = true;
    this.#drop();
  }

  async #listen(): Promise<void> {
    let own: Listening | undefined;
    try {
      own = this.parts.listen(
        (text) => this.#heard(text),
        () => this.#lost(own),
      );
      this.#listening = own;
      await own.ready;
      if (this.#listening === own) this.#beat(FIRST_BEAT);
    } catch (error) {
      this.#failures += 1;
      if (this.#failures === FAILURES_UNTIL_TOLD) this.problem = this.parts.refused(error);
      this.#lost(own);
    }
  }

  #beat(limit: number): void {
    // Not if the test could not be sent: then the database is away, which others find out and report.
    if (this.#awaited !== undefined && this.#awaited === this.#sent) return this.#failed();
    const beat = `beat ${++this.#beats}`;
    this.#awaited = beat;
    void this.parts.send(beat).then(
      () => (this.#sent = beat),
      () => undefined,
    );
    this.#timer = this.clock.setTimer(() => this.#beat(BEAT), limit);
  }

  #heard(text: string): void {
    if (!text.startsWith('beat ')) return this.parts.called(text);
    if (text !== this.#awaited) return;
    this.#awaited = undefined;
    this.#failures = 0;
    this.problem = undefined;
    this.#hasOpened = true;
    this.open = !this.#closed;
  }

  #failed(): void {
    // A connection that worked before has only died.
    if (!this.#hasOpened) this.problem = this.parts.deaf;
    this.#lost(this.#listening);
  }

  #lost(listening: Listening | undefined): void {
    if (this.#closed || listening !== this.#listening) return;
    this.#drop();
    this.#timer = this.clock.setTimer(() => void this.#listen(), RECONNECT);
  }

  #drop(): void {
    const listening = this.#listening;
    this.open = false;
    this.#listening = undefined;
    this.#awaited = undefined;
    this.#timer?.cancel();
    listening?.close();
  }
}
