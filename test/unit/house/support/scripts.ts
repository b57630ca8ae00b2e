import ts from 'typescript';
import { type LuaEvents, luaTokens, scanLua } from './lua.js';
import { nodesOf, type Source } from './sources.js';

/*
 * Compares the headers of Lua constants with their Lua. Each line is a list of names, `-` if there are none:
 *
 *   a fragment      needs: variables of its hosts that it reads before it sets them
 *                   leaves: variables that it declares or sets, and that its hosts read after it
 *   a script        KEYS: its keys in order; `name...` for any number of them
 *                   ARGV: its arguments in order; `name?` for one that may be missing, `name...` for one per key
 *   a constant that puts a `${body}` into Lua
 *                   gives: variables that the body finds
 */

const HEADER = /^\s*\*\s+(needs|leaves|gives|KEYS|ARGV):[ ]+(\S.*)$/gm;
const GLOBALS = new Set(
  'redis string math table tonumber tostring type error pcall unpack KEYS ARGV'.split(' '),
);
const ARGUMENT = /(?:width > (\d+) and )?ARGV \[ i(?: \+ (\d+))? \]/g;

type Kind = 'fragment' | 'script' | 'lease script' | 'maker';

interface Piece {
  readonly path: string;
  readonly name: string;
  readonly kind: Kind;
  /** Splices are marked as `scanLua` wants them. */
  readonly lua: string;
  readonly header: ReadonlyMap<string, readonly string[]>;
}

/** What is found in a piece and all that is spliced into it. */
interface Found {
  /** Variables of the surroundings that it reads before it sets them, and those that it sets. */
  readonly reads: Set<string>;
  readonly assigns: Set<string>;
  /** By fragment: what it has set and others read after it. */
  readonly left: Map<string, Set<string>>;
  readonly declared: [name: string, value: string][];
  /** The variables that are visible at `${body}`. */
  readonly atBody: Set<string>;
}

/** What is wrong with the headers of the Lua in these files, one line each. */
export function headerProblems(sources: readonly Source[]): string[] {
  const all = piecesOf(sources);
  const pieces = new Map(all.map((piece) => [piece.name, piece]));
  const makers = all.filter(({ kind }) => kind === 'maker');
  const given = new Set(makers.flatMap(({ header }) => header.get('gives') ?? []));
  const hosts = all.filter(({ kind }) => kind === 'script' || kind === 'lease script');
  const left = new Map<string, Set<string>>();
  for (const host of hosts) {
    for (const [name, names] of look(host, pieces).left)
      left.set(name, new Set([...(left.get(name) ?? []), ...names]));
  }
  return all.flatMap((piece) => {
    const found = look(piece, pieces);
    const problems =
      piece.kind === 'maker'
        ? compare(
            piece,
            'gives',
            [...found.atBody].filter((name) => piece.header.get('gives')?.includes(name)),
          )
        : piece.kind === 'fragment'
          ? [
              ...compare(piece, 'needs', [...found.reads]),
              ...compare(piece, 'leaves', [...(left.get(piece.name) ?? [])]),
              ...(left.has(piece.name) ? [] : ['no script uses it']),
            ]
          : scriptProblems(piece, found, { pieces, given });
    if (pieces.get(piece.name) !== piece) problems.push('another piece of Lua has this name');
    return problems.map((problem) => `${piece.path}: ${piece.name}: ${problem}`);
  });
}

function scriptProblems(
  piece: Piece,
  { reads, assigns, declared }: Found,
  { pieces, given }: { pieces: ReadonlyMap<string, Piece>; given: ReadonlySet<string> },
): string[] {
  const lua = luaTokens(expand(piece, pieces)).join(' ');
  const ofLease = piece.kind === 'lease script';
  const keyNames = piece.header.get('KEYS') ?? [];
  const keys = ofLease
    ? [...['lock', 'state'].filter((name) => reads.has(name)), ...namedKeys(declared)]
    : namesIn(lua, 'KEYS', keyNames);
  const globals = [...reads, ...assigns].filter((name) => !(ofLease && given.has(name)));
  const argumentNames = piece.header.get('ARGV') ?? [];
  const nameAt = (index: number): string => argumentNames[index]?.replace('?', '') ?? `(ARGV ${index + 1})`;
  const args = new Map<number, string>();
  const problems: string[] = [];
  for (const [text, width, offset = '0'] of lua.matchAll(ARGUMENT)) {
    const index = Number(offset);
    args.set(index, width === undefined ? nameAt(index) : `${nameAt(index)}?`);
    if (width !== undefined && Number(width) !== index) problems.push(`it reads "${text}"`);
  }
  for (const [name, value] of declared) {
    for (const [, , offset = '0'] of value.matchAll(ARGUMENT)) {
      const expected = nameAt(Number(offset));
      if (name !== expected) problems.push(`ARGV calls "${expected}" what the Lua calls "${name}"`);
    }
  }
  const found = ofLease
    ? [...args].sort(([one], [other]) => one - other).map(([, name]) => name)
    : namesIn(lua, 'ARGV', argumentNames);
  return [
    ...compare(piece, 'KEYS', keys, true),
    ...compare(piece, 'ARGV', found, true),
    ...problems,
    ...globals.map((name) => `it uses the global variable "${name}"`),
  ];
}

/** The names that a script for leases gives to the keys of a lease behind the first two, in their order. */
function namedKeys(declared: Iterable<readonly [string, string]>): string[] {
  const keys = [...declared].flatMap(([name, value]) => {
    const [, number] = /^KEYS \[ k \+ (\d+) \]$/.exec(value) ?? [];
    return number === undefined ? [] : [{ name, number: Number(number) }];
  });
  return keys.sort((one, other) => one.number - other.number).map(({ name }) => name);
}

/** The names of the keys or arguments that a script reads by their numbers, or all of by a variable. */
function namesIn(lua: string, list: 'KEYS' | 'ARGV', names: readonly string[]): string[] {
  const read = [...lua.matchAll(new RegExp(`${list} \\[ (\\d+) \\]`, 'g'))].map(([, index]) => Number(index));
  const found = [...new Set(read)].sort().map((index) => names[index - 1] ?? `(${list}[${index}])`);
  const rest = names.find((name) => name.endsWith('...'));
  const readsAll = new RegExp(`${list} \\[ [a-z]|unpack \\( ${list} \\)`).test(lua);
  return readsAll ? [...found, rest ?? `(${list}...)`] : found;
}

/** @param ordered whether the order counts */
function compare({ header }: Piece, line: string, found: readonly string[], ordered = false): string[] {
  const said = header.get(line);
  if (said === undefined) return [`its header has no line "${line}:"`];
  const text = (names: readonly string[]): string => (ordered ? names : [...names].sort()).join(', ') || '-';
  return text(said) === text(found) ? [] : [`${line}: says ${text(said)}, and the Lua ${text(found)}`];
}

function piecesOf(sources: readonly Source[]): Piece[] {
  const found = sources.flatMap(({ path, tree }) =>
    nodesOf(tree)
      .filter(isLua)
      .map((template) => ({ path, template, ...placeOf(template) })),
  );
  const names = new Set([...found.map(({ name }) => name), 'body']);
  return found.map(({ template, ...piece }) => ({ ...piece, lua: textOf(template, names) }));
}

function isLua(node: ts.Node): node is ts.TemplateLiteral {
  return ts.isTemplateLiteral(node) && node.getFullText().trimStart().startsWith('/* lua */');
}

/** Name, header and kind of the constant that a template is a part of. */
function placeOf(template: ts.Node): Pick<Piece, 'name' | 'kind' | 'header'> {
  let node = template.parent;
  let maker = '';
  let kind: Kind = 'fragment';
  for (; !ts.isVariableStatement(node); node = node.parent) {
    if (ts.isCallExpression(node) && maker === '') maker = node.expression.getText();
    if (ts.isArrowFunction(node)) kind = 'maker';
  }
  if (maker !== '' && kind !== 'maker') kind = maker === 'script' ? 'script' : 'lease script';
  const comment = node.getFullText().slice(0, node.getLeadingTriviaWidth());
  const lists = [...comment.matchAll(HEADER)].map(([, line = '', names = '']): [string, string[]] => [
    line,
    names === '-' ? [] : names.split(', '),
  ]);
  const [declaration] = node.declarationList.declarations;
  return { name: declaration?.name.getText() ?? '', kind, header: new Map(lists) };
}

/** The Lua of a template. What is no splice is a number. */
function textOf(template: ts.TemplateLiteral, names: ReadonlySet<string>): string {
  if (ts.isNoSubstitutionTemplateLiteral(template)) return template.text;
  const spans = template.templateSpans.map(({ expression, literal }) => {
    const name = expression.getText();
    return `${names.has(name) ? ` $${name} ` : '0'}${literal.text}`;
  });
  return template.head.text + spans.join('');
}

function expand({ lua }: Piece, pieces: ReadonlyMap<string, Piece>): string {
  return lua.replaceAll(/\$(\w+)/g, (_, name: string) => {
    const piece = pieces.get(name);
    return piece === undefined ? '' : expand(piece, pieces);
  });
}

function look(piece: Piece, pieces: ReadonlyMap<string, Piece>): Found {
  const found: Found = {
    reads: new Set(),
    assigns: new Set(),
    left: new Map(),
    declared: [],
    atBody: new Set(),
  };
  /** Who has set a variable: the fragments that are open then. */
  type Variable = { by: readonly string[] };
  const around = new Map<string, Variable>();
  const blocks: Map<string, Variable>[] = [new Map()];
  const inside: string[] = [];
  const variable = (name: string): Variable | undefined =>
    blocks.findLast((block) => block.has(name))?.get(name) ?? around.get(name);
  const events: LuaEvents = {
    read(name) {
      if (GLOBALS.has(name)) return;
      const known = variable(name);
      if (known === undefined) {
        found.reads.add(name);
        around.set(name, { by: [] });
      }
      for (const by of known?.by ?? []) if (!inside.includes(by)) found.left.get(by)?.add(name);
    },
    assign(name) {
      const known = variable(name);
      if (known !== undefined) known.by = [...known.by, ...inside];
      else around.set(name, { by: [...inside] });
      if (!blocks.some((block) => block.has(name))) found.assigns.add(name);
    },
    declare(name, value) {
      blocks.at(-1)?.set(name, { by: [...inside] });
      found.declared.push([name, value.join(' ')]);
    },
    splice(name) {
      const fragment = pieces.get(name);
      if (fragment === undefined) {
        for (const block of blocks) for (const visible of block.keys()) found.atBody.add(visible);
        return;
      }
      if (!found.left.has(name)) found.left.set(name, new Set());
      inside.push(name);
      scanLua(fragment.lua, events);
      inside.pop();
    },
    open: () => void blocks.push(new Map()),
    close: () => void blocks.pop(),
  };
  scanLua(piece.lua, events);
  return found;
}
