import type { MongoDatabase } from '../../../../lib/stores/mongo/client.js';

/** What an error of the driver has. */
export const driverError = (name: string, fields: object = {}): Error =>
  Object.assign(new Error('no luck'), { name }, fields);

/** A document, as it is stored. */
export type Stored = Readonly<Record<string, unknown>> & { readonly _id: string };

/** A database that answers what a test says, and notes what it was sent. */
export class FakeMongo {
  readonly sent: { readonly what: string; readonly body: unknown; readonly options: unknown }[] = [];
  now = 1_000_000;
  stored: readonly Stored[] = [];
  /** What reads find. */
  answer = (): readonly Stored[] => this.stored;
  /** Answers commands by their first word; one that is no answer is thrown. */
  commands: Readonly<Record<string, unknown>> = {};
  /** What the next batches answer, or throw. Without any all are written. */
  batches: unknown[] = [];

  readonly db: MongoDatabase = {
    databaseName: 'app',
    command: async (command, options) => {
      const [word = ''] = Object.keys(command);
      this.#note(word, command, options);
      const answer = this.commands[word] ?? {};
      if (answer instanceof Error) throw answer;
      return { localTime: new Date(this.now), ...answer };
    },
    collection: () => ({
      aggregate: (pipeline, options) => ({
        toArray: async () => {
          this.#note('aggregate', pipeline, options);
          const { aggregate: error } = this.commands;
          if (error instanceof Error) throw error;
          return this.answer().map((one) => ({ ...one, now: new Date(this.now) }));
        },
      }),
      bulkWrite: async (operations: never[], options) => {
        this.#note('bulkWrite', operations, options);
        const answer = this.batches.shift() ?? { matchedCount: operations.length };
        if (answer instanceof Error) throw answer;
        return answer as { matchedCount: number };
      },
    }),
  };

  get words(): string[] {
    return this.sent.map(({ what }) => what);
  }

  #note(what: string, body: unknown, options: unknown): void {
    this.sent.push({ what, body, options });
  }
}
