import { abandonCases } from './abandon-cases.js';
import { check } from '../../../lib/testing/port/assert.js';
import { batchCases } from './batch-cases.js';
import { endCases } from './end-cases.js';
import { leftCallCases } from './left-call-cases.js';
import { queuedCallCases } from './queued-call-cases.js';
import { exclusionCases } from './exclusion-cases.js';
import { historyCases } from './history-cases.js';
import { inspectCases } from './inspect-cases.js';
import { interruptionCases } from './interruption-cases.js';
import { Kit } from './kit.js';
import { lineCases } from './line-cases.js';
import { missCases } from './miss-cases.js';
import { nameCases } from './name-cases.js';
import type { CaseDefinition } from './case.js';
import type { ContractSubject, LockStoreContractOptions } from './options.js';
import { ownershipCases } from './ownership-cases.js';
import { pauseCases } from './pause-cases.js';
import { registryCases } from './registry-cases.js';
import { restoreCases } from './restore-cases.js';
import { unrestoredCases } from './unrestored-cases.js';
import { calledCases } from './called-cases.js';
import { queuedCallEndCases } from './queued-call-end-cases.js';
import { intervalCases } from './interval-cases.js';
import { tickCases } from './tick-cases.js';
import { timeCases } from './time-cases.js';
import type { ContractCase, TestRunner } from '../../../lib/testing/port/port-case.js';

const definitions: readonly CaseDefinition[] = [
  ...exclusionCases,
  ...ownershipCases,
  ...endCases,
  ...restoreCases,
  ...unrestoredCases,
  ...tickCases,
  ...abandonCases,
  ...intervalCases,
  ...timeCases,
  ...nameCases,
  ...batchCases,
  ...inspectCases,
  ...lineCases,
  ...calledCases,
  ...queuedCallCases,
  ...leftCallCases,
  ...queuedCallEndCases,
  ...historyCases,
  ...interruptionCases,
  ...missCases,
  ...registryCases,
  ...pauseCases,
].sort((a, b) => a.rule.localeCompare(b.rule, 'en', { numeric: true }));

/** What the case with this sentence is called. */
export function caseName(sentence: string): string {
  const found = definitions.find((definition) => definition.sentence === sentence);
  if (found === undefined) throw new Error(`No case of the contract has the sentence: ${sentence}`);
  return `rule ${found.rule}: ${sentence}`;
}

/**
 * The contract of `LockStore` as cases that any test runner can run, one after another. Cases for which `options`
 * has no hook are left out. No case depends on how fast the machine is.
 */
export function lockStoreContract(options: LockStoreContractOptions): ContractCase[] {
  return definitions
    .filter(({ needs = [], restore = false, durable = false }) => {
      const isDurable = options.durable === true;
      return needs.every((hook) => options[hook] !== undefined) && !(isDurable ? restore : durable);
    })
    .map(({ rule, sentence, run }) => ({
      name: `rule ${rule}: ${sentence}`,
      run: async () => {
        const subject = await options.create();
        try {
          if (options.queuedCalls === true) await subject.store.queuedCalls?.init?.();
          if (options.history === true) await startHistory(subject);
          await run(new Kit(subject, options));
        } finally {
          await subject.close?.();
        }
      },
    }));
}

/** Each instance of an application does this at its start. */
async function startHistory({ store, others = [] }: ContractSubject): Promise<void> {
  for (const each of [store, ...others]) {
    const problem = await each.history?.init?.();
    check(problem === undefined, () => `the store should keep a history, but says: ${String(problem)}`);
  }
}

/**
 * Registers the contract suite with a test runner:
 *
 * ```ts
 * describeLockStore('MyStore', { create: async () => ({ store: new MyStore() }), wait: sleep }, { describe, test });
 * ```
 */
export function describeLockStore(name: string, options: LockStoreContractOptions, runner: TestRunner): void {
  runner.describe(name, () => {
    for (const { name: sentence, run } of lockStoreContract(options)) runner.test(sentence, run);
  });
}
