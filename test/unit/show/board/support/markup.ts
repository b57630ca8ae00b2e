/*
 * Whether HTML that templates have made has each element where HTML allows it. A browser moves or drops others without a word: a row in a
 * list is no row. It knows what the page is made of, and no more.
 */

/** Where these may be. */
const PARENTS: Readonly<Record<string, readonly string[]>> = {
  li: ['ul', 'ol'],
  tr: ['thead', 'tbody'],
  td: ['tr'],
  th: ['tr'],
  thead: ['table'],
  tbody: ['table'],
  dt: ['dl', 'div'],
  dd: ['dl', 'div'],
  summary: ['details'],
  figcaption: ['figure'],
  option: ['select'],
  rect: ['svg', 'g', 'a', 'pattern'],
  path: ['svg', 'g', 'a'],
  use: ['svg'],
  pattern: ['defs'],
  line: ['svg', 'g', 'a'],
  text: ['svg', 'g', 'a'],
};

/** What these may have as children, and no text. */
const CHILDREN: Readonly<Record<string, readonly string[]>> = {
  html: ['head', 'body'],
  head: ['meta', 'title', 'link', 'script', 'noscript'],
  ul: ['li'],
  ol: ['li'],
  table: ['thead', 'tbody'],
  thead: ['tr'],
  tbody: ['tr'],
  tr: ['td', 'th'],
  dl: ['div', 'dt', 'dd'],
  select: ['option'],
};

/** In these is text, and what goes with text. */
const TEXT_ONLY = new Set('p h1 h2 h3 span button label dt summary abbr time'.split(' '));
const BLOCKS = new Set(
  'p h1 h2 h3 div ul ol dl table section header footer main nav form figure details'.split(' '),
);
/** None of these is in one of its own kind. */
const NOT_NESTED = new Set(['a', 'form', 'button', 'label']);
const IN_LINK = new Set(['button', 'input', 'select', 'details']);
const EMPTY = new Set(['meta', 'link', 'input', 'br']);

const TAG = /<(\/?)([a-z][a-z0-9]*)((?:[^<>"]|"[^"]*")*)>/gi;

/** @returns a line for each element that is where it may not be, and for each that does not end where it should */
export function misplaced(html: string): string[] {
  const found: string[] = [];
  const open: string[] = [];
  let after = 0;
  for (const { index, 0: whole, 1: end, 2: name = '', 3: rest = '' } of html.matchAll(TAG)) {
    const parent = open.at(-1) ?? '';
    const text = html.slice(after, index).trim();
    if (parent in CHILDREN && text !== '') found.push(`text in <${parent}>: ${text.slice(0, 40)}`);
    after = index + whole.length;
    if (end === '/') {
      if (open.pop() !== name) found.push(`</${name}> ends <${parent}>`);
      continue;
    }
    if (!isAllowed(name, parent, open)) found.push(`<${name}> in <${open.join('><')}>`);
    if (!rest.endsWith('/') && !EMPTY.has(name)) open.push(name);
  }
  return [...found, ...open.map((name) => `<${name}> has no end`)];
}

function isAllowed(name: string, parent: string, open: readonly string[]): boolean {
  const isIn = (...names: string[]): boolean => names.some((each) => open.includes(each));
  if (PARENTS[name]?.includes(parent) === false || CHILDREN[parent]?.includes(name) === false) return false;
  if (BLOCKS.has(name) && TEXT_ONLY.has(parent)) return false;
  if (NOT_NESTED.has(name) && isIn(name)) return false;
  return !IN_LINK.has(name) || !isIn('a', 'button');
}
