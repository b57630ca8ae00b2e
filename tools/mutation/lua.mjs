// Mutants of Lua, by its lines: scripts for Redis stand in template literals.

/** What to look for in a line of Lua, and what stands for it in a mutant. */
const SWAPS = [
  ['operator', /==/g, () => '~='],
  ['operator', /~=/g, () => '=='],
  ['operator', /<(?!=)/g, () => '<='],
  ['operator', /<=/g, () => '<'],
  ['operator', />(?!=)/g, () => '>='],
  ['operator', />=/g, () => '>'],
  ['operator', /\band\b/g, () => 'or'],
  ['operator', /\bor\b/g, () => 'and'],
  ['operator', /\bnot /g, () => ''],
  ['operator', / \+ /g, () => ' - '],
  ['operator', / - /g, () => ' + '],
  ['value', /\btrue\b/g, () => 'false'],
  ['value', /\bfalse\b/g, () => 'true'],
  // Not the index of a key or an argument, nor a part of a name.
  ['value', /(?<![[\w.'])\d+(?![\w.'\]])/g, (number) => String(Number(number) + 1)],
  ['condition', /(?<=\bif ).+(?= then\b)/g, () => 'true'],
  ['condition', /(?<=\bif ).+(?= then\b)/g, () => 'false'],
];

/**
 * @param {string} text of a whole file
 * @param {number} start of a part of a template literal in it
 */
export function luaEdits(text, start, end) {
  const part = text.slice(start, end);
  if (!/\bredis\.call\b|\bthen\b|\blocal \w+ =/.test(part)) return [];
  const edits = [];
  let at = start;
  for (const line of part.split('\n')) {
    const code = line.replace(/--.*$/, '');
    edits.push(...swapsIn(code, at), ...withoutCall(code, at));
    at += line.length + 1;
  }
  return edits;
}

function swapsIn(code, at) {
  return SWAPS.flatMap(([kind, pattern, swap]) =>
    [...code.matchAll(pattern)].map(({ 0: found, index }) => ({
      kind,
      start: at + index,
      end: at + index + found.length,
      text: swap(found),
    })),
  );
}

/** A command that is not sent, where it is a statement of one line. */
function withoutCall(code, at) {
  const call = /(?<=^\s*|\bthen )redis\.call\(.*\)(?=\s*$| end\b)/.exec(code);
  if (call === null) return [];
  const start = at + call.index;
  return [{ kind: 'statement', start, end: start + call[0].length, text: '' }];
}
