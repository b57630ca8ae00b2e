import { StoreUnavailableError } from '../../base/errors.js';
import { LeaseCalls, type LeaseCommands } from './lease-commands.js';
import type { LeaseScript } from './script.js';

/** Looks at locks: those of one turn of the event loop go together, in few commands. */
export class LockLooks {
  readonly #calls: LeaseCalls<unknown>;

  constructor(commands: LeaseCommands, script: LeaseScript) {
    this.#calls = new LeaseCalls(commands, script, (reply) => reply, false);
  }

  /**
   * @param args the script's arguments for this lock
   * @param alone looks at it alone, and says what is wrong: Redis refuses a command as a whole for one of its keys
   * @returns what the script answers for it
   */
  at(name: string, args: readonly string[], alone: () => Promise<unknown>): Promise<unknown> {
    return new Promise((answered, failed) => {
      const again = (error: Error): void => {
        if (error instanceof StoreUnavailableError && !error.refused) failed(error);
        else alone().then(answered, failed);
      };
      this.#calls.call(name, args, { answered, failed: again });
    });
  }
}
