// One folder after another, so that its line can be printed while others run (tools/folders.mjs); in each the longest file first.
import sequencers from '@jest/test-sequencer';
import { expect } from './folders.mjs';

const TestSequencer = sequencers.default ?? sequencers;

export default class Sequencer extends TestSequencer {
  sort(tests) {
    return expect(super.sort(tests));
  }
}
