import { describe, expect, test } from '@jest/globals';
import { holderText } from '../../../lib/contract/holder-text.js';
import { pauseHolder, readPause } from '../../../lib/contract/pause.js';

const until = Date.parse('2026-12-02T10:00:00Z');

describe('the holder of a pause', () => {
  test('says who, why and until when', () => {
    const text = pauseHolder({ actor: 'anna@ops', reason: 'the provider is down', until });
    expect(text).toBe('paused until 2026-12-02T10:00:00Z by anna@ops: the provider is down');
  });

  test.each([
    [{ actor: 'anna@ops', reason: 'down: again', until }],
    [{ actor: 'anna', until }],
    [{ actor: 'Jörg 🔒', reason: 'café', until }],
    [{ actor: 'by whom', reason: 'paused until 3', until }],
  ])('is read as it was: %j', (pause) => {
    expect(readPause(pauseHolder(pause))).toEqual(pause);
  });

  test.each(['ops: anna', 'ops:  anna', 'ops:\u00A0anna'])(
    'tells an actor with a colon from the reason: %s',
    (actor) => {
      expect(readPause(pauseHolder({ actor, reason: 'down', until }))).toEqual({
        actor: 'ops:anna',
        reason: 'down',
        until,
      });
    },
  );

  test.each([['x'], ['é'], ['🔒']])('has room in each column, however long its texts are: %s', (char) => {
    const text = pauseHolder({ actor: char.repeat(60), reason: char.repeat(200), until });
    expect(holderText(text, Infinity).length).toBeLessThanOrEqual(180);
    const { actor = '', reason = '', until: read } = readPause(text) ?? {};
    expect(actor).toMatch(new RegExp(`^(${char})+…?$`, 'u'));
    expect(reason).toMatch(new RegExp(`^(${char})+…$`, 'u'));
    expect(read).toBe(until);
  });

  test('breaks no line', () => {
    expect(pauseHolder({ actor: 'an\nna', reason: 'a\u2028b', until })).toMatch(/ by an na: a b$/);
  });

  test.each([
    undefined,
    '',
    'host:1:abc',
    'paused until tomorrow by anna',
    'paused until 2026-12-02T10:00:00Z',
  ])('is no other text: %s', (holder) => {
    expect(readPause(holder)).toBeUndefined();
  });
});
