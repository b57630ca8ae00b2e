import type { ChildMessage } from './child.js';

type Listener = (message: ChildMessage) => void | Promise<void>;

/** The child's side of the channel. */
export interface Parent {
  send(message: ChildMessage): Promise<void>;
  /** Messages of one type. A listener that fails ends the child. */
  on(type: string, listener: Listener): void;
}

/**
 * The main function of a program that `spawnChild` runs. The program ends when its parent is gone, and with its
 * error on stderr and exit code 1 when `main` or a listener fails.
 */
export function childMain(main: (parent: Parent) => void | Promise<void>): void {
  const fail = (error: unknown): void => {
    console.error(error);
    process.exit(1);
  };
  process.on('disconnect', () => process.exit(0));
  if (process.send === undefined) fail(new Error('To be started by spawnChild'));
  Promise.resolve(main({ send, on: (type, listener) => listen(type, listener, fail) })).catch(fail);
}

function send(message: ChildMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(message, undefined, undefined, (error: Error | null) =>
      error ? reject(error) : resolve(),
    );
  });
}

function listen(type: string, listener: Listener, fail: (error: unknown) => void): void {
  process.on('message', (message: ChildMessage) => {
    if (message.type !== type) return;
    void Promise.resolve(message).then(listener).catch(fail);
  });
}
