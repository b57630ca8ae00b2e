/*
 * A scan of Lua as the scripts of the library use it: which variables a piece reads, assigns and declares, block by block. Pieces
 * that are put together have splices, `$NAME`, where a statement may stand.
 */

/** What a piece does to the variables around it, in the order of its text. */
export interface LuaEvents {
  read(name: string): void;
  assign(name: string): void;
  /** A local of the innermost open block. `value`: the expression that it gets, as tokens. */
  declare(name: string, value: readonly string[]): void;
  splice(name: string): void;
  open(): void;
  close(): void;
}

const TOKEN =
  /--[^\n]*|\s+|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|\$\w+|\d+(?:\.\d+)?|[A-Za-z_]\w*|\.\.\.|\.\.|[=~<>]=|./gy;

const KEYWORDS = new Set(
  'and break do else elseif end false for function if in local nil not or repeat return then true until while'.split(
    ' ',
  ),
);
const BINARY = new Set('and or < > <= >= ~= == .. + - * / %'.split(' '));
const BLOCK_ENDS = new Set(['end', 'else', 'elseif', 'until', undefined]);

/** The tokens of Lua: without comments, texts as `''`. */
export function luaTokens(lua: string): string[] {
  const all = [...lua.matchAll(TOKEN)].map(([token]) => token);
  return all
    .filter((token) => !token.startsWith('--') && token.trim() !== '')
    .map((token) => (/^['"]/.test(token) ? "''" : token));
}

/** @throws for Lua that this scan does not know */
export function scanLua(lua: string, events: LuaEvents): void {
  new Scan(luaTokens(lua), events).all();
}

class Scan {
  #at = 0;

  constructor(
    private readonly tokens: readonly string[],
    private readonly events: LuaEvents,
  ) {}

  all(): void {
    this.#statements();
    if (this.#next !== undefined) throw this.#unknown();
  }

  get #next(): string | undefined {
    return this.tokens[this.#at];
  }

  #unknown(): Error {
    return new Error(
      `unexpected in Lua: … ${this.tokens.slice(Math.max(0, this.#at - 8), this.#at + 3).join(' ')}`,
    );
  }

  /** Goes on if the next token is this one. */
  #take(token: string): boolean {
    if (this.#next !== token) return false;
    this.#at += 1;
    return true;
  }

  #expect(token: string): void {
    if (!this.#take(token)) throw this.#unknown();
  }

  #name(): string {
    const name = this.#next;
    if (name === undefined || !/^[A-Za-z_]/.test(name) || KEYWORDS.has(name)) throw this.#unknown();
    this.#at += 1;
    return name;
  }

  #statements(): void {
    while (!BLOCK_ENDS.has(this.#next)) this.#statement();
  }

  #block(declared: readonly string[] = []): void {
    this.events.open();
    for (const name of declared) this.events.declare(name, []);
    this.#statements();
    this.events.close();
  }

  #statement(): void {
    const token = this.#next ?? '';
    if (token.startsWith('$')) {
      this.#at += 1;
      this.events.splice(token.slice(1));
    } else if (this.#take('local')) this.#local();
    else if (this.#take('if')) this.#if();
    else if (this.#take('for')) this.#for();
    else if (this.#take('while')) this.#loop();
    else if (this.#take('break')) return;
    else if (this.#take('return')) {
      if (!BLOCK_ENDS.has(this.#next)) this.#expressions();
    } else this.#assignmentOrCall();
  }

  #local(): void {
    if (this.#take('function')) {
      this.events.declare(this.#name(), []);
      return this.#function();
    }
    const names = [this.#name()];
    while (this.#take(',')) names.push(this.#name());
    const values = this.#take('=') ? this.#expressions() : [];
    names.forEach((name, index) => this.events.declare(name, values[index] ?? []));
  }

  #if(): void {
    do {
      this.#expressions();
      this.#expect('then');
      this.#block();
    } while (this.#take('elseif'));
    if (this.#take('else')) this.#block();
    this.#expect('end');
  }

  #for(): void {
    const names = [this.#name()];
    while (this.#take(',')) names.push(this.#name());
    if (!this.#take('in')) this.#expect('=');
    this.#loop(names);
  }

  #loop(names: readonly string[] = []): void {
    this.#expressions();
    this.#expect('do');
    this.#block(names);
    this.#expect('end');
  }

  #assignmentOrCall(): void {
    const targets = [this.#suffixed()];
    while (this.#take(',')) targets.push(this.#suffixed());
    const plain = targets.filter((name) => name !== undefined);
    if (this.#take('=')) {
      this.#expressions();
      for (const name of plain) this.events.assign(name);
    } else if (plain.length > 0) throw this.#unknown();
  }

  /** @returns the tokens of each expression */
  #expressions(): string[][] {
    const all: string[][] = [];
    do {
      const start = this.#at;
      this.#expression();
      all.push(this.tokens.slice(start, this.#at));
    } while (this.#take(','));
    return all;
  }

  #expression(): void {
    this.#operand();
    while (BINARY.has(this.#next ?? '')) {
      this.#at += 1;
      this.#operand();
    }
  }

  #operand(): void {
    while (this.#take('not') || this.#take('-') || this.#take('#'));
    const token = this.#next ?? '';
    if (token === "''" || /^\d/.test(token) || ['nil', 'true', 'false', '...'].includes(token)) this.#at += 1;
    else if (this.#take('function')) this.#function();
    else if (token === '{') this.#table();
    else {
      const name = this.#suffixed();
      if (name !== undefined) this.events.read(name);
    }
  }

  /** Parameters and body. */
  #function(): void {
    this.#expect('(');
    const parameters: string[] = [];
    while (!this.#take(')')) {
      if (!this.#take('...')) parameters.push(this.#name());
      this.#take(',');
    }
    this.#block(parameters);
    this.#expect('end');
  }

  #table(): void {
    this.#expect('{');
    if (this.#next !== '}') this.#expressions();
    this.#expect('}');
  }

  /** A name, or an expression in parentheses, with fields, indices and calls. Returns a name that stands alone: it may be assigned. */
  #suffixed(): string | undefined {
    let alone: string | undefined;
    if (this.#take('(')) {
      this.#expression();
      this.#expect(')');
    } else alone = this.#name();
    const more = (): void => {
      if (alone !== undefined) this.events.read(alone);
      alone = undefined;
    };
    for (;;) {
      if (this.#take('.')) {
        more();
        this.#name();
      } else if (this.#take('[')) {
        more();
        this.#expression();
        this.#expect(']');
      } else if (this.#take('(')) {
        more();
        if (this.#next !== ')') this.#expressions();
        this.#expect(')');
      } else return alone;
    }
  }
}
