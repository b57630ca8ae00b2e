import { describe, test } from '@jest/globals';
import { describeLockStore } from './cases/contract.js';
import { memoryContract } from './support/memory-subject.js';

describeLockStore('MemoryLockStore', memoryContract(), { describe, test });
