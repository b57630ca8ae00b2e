import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeLockStore, lockStoreContract } from './cases/contract.js';
import { brokenStores } from './support/broken-stores.js';
import { memoryContract } from './support/memory-subject.js';
import { LateReferenceHistory } from './support/reference-history.js';
import { DurableReferenceStore, ReferenceStore, referenceContract } from './support/reference-store.js';
import { projectRoot } from '../support/machine.js';

const sentences = lockStoreContract(referenceContract()).map(({ name }) => name);
const durable = { ...referenceContract((clock) => new DurableReferenceStore(clock)), durable: true };
const late = referenceContract((clock) => {
  const store = new ReferenceStore(clock);
  store.history = new LateReferenceHistory(store);
  return store;
});
const all = [...new Set([...sentences, ...lockStoreContract(durable).map(({ name }) => name)])];

describeLockStore('a correct store', referenceContract(), { describe, test });
describeLockStore('a correct store that is durable', durable, { describe, test });

describeLockStore('a correct store that keeps records a second later', late, { describe, test });

describe('every case of the contract suite', () => {
  test('holds a sentence of the page, and every sentence there has a case', () => {
    const page = readFileSync(join(projectRoot, 'test/contract/README.md'), 'utf8');
    const numbers = [...page.matchAll(/^- (\d+\.\d+) /gm)].map(([, number]) => number);
    const held = all.map((name) => /^rule ([\d.]+): /.exec(name)?.[1]);
    expect(new Set(numbers).size).toBe(numbers.length);
    expect([...new Set(held)].sort()).toEqual(numbers.sort());
  });

  test('has a name of its own and a broken store that it is to catch', () => {
    expect(new Set(sentences).size).toBe(sentences.length);
    expect([...new Set(brokenStores.map(({ caught }) => caught))].sort()).toEqual([...all].sort());
  });

  test.each(brokenStores.map((broken) => [broken.caught, broken] as const))(
    'fails on a store that is broken in this way: %s',
    async (sentence, { make, message, durable: isDurable = false }) => {
      const found = lockStoreContract({ ...referenceContract(make), durable: isDurable }).find(
        ({ name }) => name === sentence,
      );
      const failure: unknown = await found?.run().then(
        () => 'passed',
        (error: unknown) => error,
      );
      expect(failure).toBeInstanceOf(Error);
      const readable = (failure as Error).message
        .replaceAll(/contract-[0-9a-f]{8}-/gi, '')
        .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
        .replaceAll(/host:1:[0-9a-f]{8}/g, '<holder>');
      expect(readable).toBe(message);
    },
  );
});

describe('the contract suite', () => {
  test('leaves out the cases that need what a store cannot do', () => {
    const { create, wait } = referenceContract();
    const names = lockStoreContract({ create, wait }).map(({ name }) => name);
    expect(names.length).toBeGreaterThan(30);
    expect(names.filter((name) => /forgot|evict|lost all|broken|clocks|inspect/.test(name))).toEqual([]);
  });

  test('does not ask a durable store to restore, but never to', () => {
    const names = lockStoreContract(durable).map(({ name }) => name);
    expect(names.filter((name) => !sentences.includes(name))).toEqual([
      'rule 3.10: a durable store does not extend a lease that ran out, though nobody took its lock',
    ]);
    const left = sentences.filter((name) => !names.includes(name));
    expect(left.length).toBe(10);
    for (const name of left) expect(name).toMatch(/restore/);
  });

  test('says why a store keeps no history', async () => {
    const contract = memoryContract();
    const init = (): Promise<string> => Promise.resolve('there is no table: create it');
    const cases = lockStoreContract({
      ...contract,
      create: async () => {
        const { store } = await contract.create();
        const { history } = store;
        if (history !== undefined) Object.assign(history, { init });
        return { store };
      },
    });
    await expect(cases[0]?.run()).rejects.toThrow(
      'the store should keep a history, but says: there is no table: create it',
    );
  });

  test('closes the store also when a case fails', async () => {
    let open = 0;
    const contract = memoryContract();
    const cases = lockStoreContract({
      ...contract,
      create: async () => {
        const subject = await contract.create();
        open += 1;
        const store = { ...subject.store, extend: () => Promise.reject(new Error('broken')) };
        return { store, close: () => void (open -= 1) };
      },
    });
    const results = await Promise.allSettled(cases.map(({ run }) => run()));
    expect(results.some(({ status }) => status === 'rejected')).toBe(true);
    expect(open).toBe(0);
  });

  test('registers each case with the runner it is given', () => {
    const registered: string[] = [];
    describeLockStore('Mine', referenceContract(), {
      describe: (name, body) => {
        registered.push(name);
        body();
      },
      test: (name) => registered.push(name),
    });
    expect(registered).toEqual(['Mine', ...sentences]);
  });
});
