import type { PortKit } from './port-kit.js';

/** One case of the contract suite. */
export interface ContractCase {
  /** Number of the rule on the interface, and the sentence that the case checks. */
  readonly name: string;
  /** Rejects with a plain `Error` that says what the store did, and what it should have done. */
  run(): Promise<void>;
}

/** The few functions of a test runner that the suite needs: those of Jest, Vitest, Mocha and `node:test` fit. */
export interface TestRunner {
  describe(name: string, body: () => void): unknown;
  test(name: string, body: () => Promise<void>): unknown;
}

/** A sentence of a contract, with its check. */
export interface Definition<Kit, Hook extends string> {
  /** Number of the rule on the interface. */
  readonly rule: number;
  readonly sentence: string;
  readonly needs?: readonly Hook[];
  run(kit: Kit): Promise<void>;
}

/** A sentence of the contract of `LockDocuments`. */
export type PortCaseDefinition = Definition<PortKit, 'skewInstanceClock' | 'takeByStranger' | 'holdDocument'>;

/** The cases of a contract for which the options have all hooks, by their rules. */
export function contractCases<Kit, Hook extends string, Subject extends { close?(): void | Promise<void> }>(
  definitions: readonly Definition<Kit, Hook>[],
  options: { readonly [hook in Hook]?: unknown } & { create(): Subject | Promise<Subject> },
  kitOf: (subject: Subject) => Kit,
): ContractCase[] {
  return definitions
    .toSorted((a, b) => a.rule - b.rule)
    .filter(({ needs = [] }) => needs.every((hook) => options[hook] !== undefined))
    .map(({ rule, sentence, run }) => ({
      name: `rule ${rule}: ${sentence}`,
      run: async () => {
        const subject = await options.create();
        try {
          await run(kitOf(subject));
        } finally {
          await subject.close?.();
        }
      },
    }));
}
