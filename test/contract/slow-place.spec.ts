import { describe, test } from '@jest/globals';
import { describeLockDocuments, describeLockEntries } from '../../lib/testing/port/port-contract.js';
import { describeLockStore } from './cases/contract.js';
import { slowContract, slowDocuments, slowEntries } from './support/slow-subject.js';

/* Each call of a place takes 60 ms there and back, on a clock that a test moves. */

const runner = { describe, test };

describeLockDocuments('a place that is 60 ms away', slowDocuments(), runner);
describeLockEntries('entries that are 60 ms away', slowEntries(), runner);
describeLockStore('instances of a place that is 60 ms away', slowContract(), runner);
