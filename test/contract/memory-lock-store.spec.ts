import { describe, test } from '@jest/globals';
import { describeLockStore } from '../../lib/testing/index.js';
import { memoryContract } from './support/memory-subject.js';

describeLockStore('MemoryLockStore', memoryContract(), { describe, test });
