import { describe, expect, test } from '@jest/globals';
import { headerProblems } from './support/scripts.js';
import { parseSource, readSources, type Source } from './support/sources.js';

test('the headers of all Lua name its keys, its arguments, and the variables that it shares with other Lua', () => {
  const sources = readSources();
  const lua = sources.filter(({ tree }) => tree.text.includes('/* lua */')).map(({ path }) => path);
  expect(lua).toEqual(expect.arrayContaining(['stores/redis/script.ts', 'stores/redis/extend-script.ts']));
  expect(headerProblems(sources)).toEqual([]);
});

describe('a header is wrong', () => {
  /** Two scripts and two fragments. */
  const SOURCE = `
/**
 * gives: lock, state, i, width
 */
const leaseScript = (body) => script(/* lua */ \`local lock, state, i, width = KEYS[1], KEYS[2], 1, #ARGV\${body}\`);

/**
 * needs: current, job, state
 * leaves: -
 */
const INNER = /* lua */ \`
local s = redis.call('HMGET', state, 'job:' .. job) -- not token
if not s[1] then current = current or false end\`;

/**
 * needs: current, job, lock, state
 * leaves: holder, wait
 */
const OUTER = /* lua */ \`
local holder, unused = redis.call('GET', lock), { 1, 'token' }
if current then \${INNER}
else
  wait = string.format('%.0f', \${LIMIT})
end\`;

/**
 * KEYS: lock, state
 * ARGV: token, ttl, job?
 */
export const TAKE = leaseScript(/* lua */ \`
local token, job = ARGV[i], width > 2 and ARGV[i + 2] or ''
local current, wait = token, 0
for n = 1, 2 do
  \${OUTER}
  if holder then return { holder, ARGV[i + 1] } end
end
return wait\`);

/**
 * KEYS: lock, state
 * ARGV: -
 */
const LOOK = script(/* lua */ \`return { redis.call('GET', KEYS[1]), redis.call('HGETALL', KEYS[2]) }\`);

/**
 * KEYS: lock...
 * ARGV: ttl, token...
 */
const LOOK_AT_ALL = script(/* lua */ \`
local all = { ARGV[1], redis.call('MGET', unpack(KEYS)) }
for n = 1, #KEYS do all[n] = ARGV[n + 1] end
return all\`);
`;
  const parse = (text: string): Source => parseSource('stores/redis/a.ts', text);

  test('in none of these', () => expect(headerProblems([parse(SOURCE)])).toEqual([]));

  test.each<[what: string, right: string, wrong: string, problems: string[]]>([
    [
      'where a fragment reads a variable that it does not name',
      'needs: current, job, state\n',
      'needs: current, state\n',
      ['INNER: needs: says current, state, and the Lua current, job, state'],
    ],
    [
      'where a fragment names a variable that it does not read',
      'needs: current, job, lock, state\n',
      'needs: current, job, lock, state, token\n',
      ['OUTER: needs: says current, job, lock, state, token, and the Lua current, job, lock, state'],
    ],
    [
      'where a host uses a variable that its fragment does not name',
      'leaves: holder, wait\n',
      'leaves: holder\n',
      ['OUTER: leaves: says holder, and the Lua holder, wait'],
    ],
    [
      'where a fragment names a variable that no host uses',
      'leaves: holder, wait\n',
      'leaves: holder, unused, wait\n',
      ['OUTER: leaves: says holder, unused, wait, and the Lua holder, wait'],
    ],
    [
      'where a local of a block is used after its end',
      'return wait`',
      'return { wait, holder }`',
      ['TAKE: it uses the global variable "holder"'],
    ],
    ['where a line is missing', ' * leaves: -\n', '', ['INNER: its header has no line "leaves:"']],
    [
      'where no script uses a fragment any more',
      '  ${OUTER}\n',
      '  local holder = lock .. state\n',
      [
        'INNER: no script uses it',
        'OUTER: leaves: says holder, wait, and the Lua -',
        'OUTER: no script uses it',
      ],
    ],
    [
      'where a script reads an argument more',
      "or ''\n",
      "or ''\nlocal more = ARGV[i + 3]\n",
      [
        'TAKE: ARGV: says token, ttl, job?, and the Lua token, ttl, job?, (ARGV 4)',
        'TAKE: ARGV calls "(ARGV 4)" what the Lua calls "more"',
      ],
    ],
    [
      'where a script reads an argument less',
      'ARGV: token, ttl, job?\n',
      'ARGV: token, ttl, job?, schedule?\n',
      ['TAKE: ARGV: says token, ttl, job?, schedule?, and the Lua token, ttl, job?'],
    ],
    [
      'where an argument changes its place',
      'ARGV: token, ttl, job?\n',
      'ARGV: ttl, token, job?\n',
      ['TAKE: ARGV calls "ttl" what the Lua calls "token"'],
    ],
    [
      'where an argument may be missing',
      'ARGV: token, ttl, job?\n',
      'ARGV: token, ttl, job\n',
      ['TAKE: ARGV: says token, ttl, job, and the Lua token, ttl, job?'],
    ],
    [
      'where Lua asks for another argument than it reads',
      'width > 2 and',
      'width > 1 and',
      ['TAKE: it reads "width > 1 and ARGV [ i + 2 ]"'],
    ],
    [
      'where a script has a key more',
      'KEYS: lock, state\n * ARGV: -',
      'KEYS: lock\n * ARGV: -',
      ['LOOK: KEYS: says lock, and the Lua lock, (KEYS[2])'],
    ],
    [
      'where a script has a key less',
      "redis.call('HGETALL', KEYS[2])",
      '1',
      ['LOOK: KEYS: says lock, state, and the Lua lock'],
    ],
    [
      'where two pieces have one name',
      'const LOOK = script(',
      "const LOOK = script(/* lua */ `return redis.call('GET', KEYS[1]) .. redis.call('GET', KEYS[2])`) ?? script(",
      ['LOOK: another piece of Lua has this name'],
    ],
    [
      'where the body of a script does not find what it is given',
      'gives: lock, state, i, width',
      'gives: lock, state, i, width, now',
      ['leaseScript: gives: says i, lock, now, state, width, and the Lua i, lock, state, width'],
    ],
    [
      'where Lua sets a global variable',
      'local current, wait',
      'local current',
      ['TAKE: it uses the global variable "wait"'],
    ],
  ])('%s', (_what, right, wrong, problems) => {
    expect(SOURCE).toContain(right);
    const found = headerProblems([parse(SOURCE.replace(right, () => wrong))]);
    expect(found).toEqual(problems.map((problem) => `stores/redis/a.ts: ${problem}`));
  });
});
