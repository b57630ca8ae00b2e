import { shared } from './shared.js';

type Wrap = <T>(send: () => T) => T;

/** Several applications of one process may each have one. */
const wraps = shared('sending', () => new Set<Wrap>());

/** Sends what the stores themselves send: an instrumentation would make a trace without anything in it of each statement. */
export const quietly: Wrap = (send) => {
  const [within] = wraps;
  return within === undefined ? send() : within(send);
};

/** Wraps all that the stores send from now on. Returns a function that ends this. */
export function sendWithin(wrap: Wrap): () => void {
  wraps.add(wrap);
  return () => void wraps.delete(wrap);
}
