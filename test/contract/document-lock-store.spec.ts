import { describe, test } from '@jest/globals';
import { describeLockStore } from './cases/contract.js';
import { documentContract } from './support/document-subject.js';

describeLockStore('a store of documents, of which a few instances use one place', documentContract(), {
  describe,
  test,
});

describeLockStore('a store of documents and entries', documentContract(true), { describe, test });
