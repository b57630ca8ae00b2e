import { join } from 'node:path';
import ts from 'typescript';
import { projectRoot } from '../../../support/machine.js';

/** A public name of an entry, as the compiler sees it. */
export interface PublicName {
  readonly name: string;
  /** Text of its docstring, without tags. */
  readonly doc: string;
  readonly symbol: ts.Symbol;
}

/** The files of the package's entries, below `lib`. */
export const ENTRIES = [
  'index.ts',
  'testing/index.ts',
  'stores/redis/index.ts',
  'stores/postgres/index.ts',
  'stores/mysql/index.ts',
  'stores/mongo/index.ts',
  'guard/index.ts',
  'show/otel/index.ts',
  'show/prometheus/index.ts',
  'show/board/index.ts',
];

/** The public names of the package, looked at by the compiler. The types of dependencies are nobody's concern here, and take seconds to read. */
export class Surface {
  readonly #program = ts.createProgram(ts.sys.readDirectory(join(projectRoot, 'lib'), ['.ts', '.tsx']), {
    ...projectOptions(),
    noResolve: true,
    types: [],
  });
  readonly #checker = this.#program.getTypeChecker();

  /** @param entry the file of an entry, below `lib` */
  names(entry: string): PublicName[] {
    const file = this.#program.getSourceFile(join(projectRoot, 'lib', entry));
    const module = file && this.#checker.getSymbolAtLocation(file);
    if (module === undefined) throw new Error(`lib/${entry} is no module`);
    return this.#checker.getExportsOfModule(module).map((exported) => {
      const symbol =
        exported.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(exported) : exported;
      const doc = ts.displayPartsToString(symbol.getDocumentationComment(this.#checker));
      return { name: exported.name, doc, symbol };
    });
  }

  /** The text that a property of a class always has: `code` of an error. */
  constantOf({ symbol }: PublicName, property: string): string | undefined {
    const type = this.#typeOf(symbol).getProperty(property);
    const value = type && this.#checker.getTypeOfSymbol(type);
    return value?.isStringLiteral() ? value.value : undefined;
  }

  isSubclass({ symbol }: PublicName, base: string): boolean {
    const bases = symbol.flags & ts.SymbolFlags.Class ? (this.#typeOf(symbol).getBaseTypes() ?? []) : [];
    return bases.some((type) => type.getSymbol()?.name === base);
  }

  /** Properties of an interface, inherited ones included, with the text of their `@default` tag. */
  properties(name: PublicName): Map<string, string | undefined> {
    return new Map(
      this.#typeOf(name.symbol)
        .getProperties()
        .map((property) => {
          const tag = property.getJsDocTags(this.#checker).find((found) => found.name === 'default');
          return [property.name, tag && ts.displayPartsToString(tag.text)];
        }),
    );
  }

  /** What the property `type` of a union's members can be: the types of events. */
  variants({ symbol }: PublicName, property: string): string[] {
    const type = this.#typeOf(symbol);
    return (type.isUnion() ? type.types : [type]).flatMap((member) => {
      const found = member.getProperty(property);
      const value = found && this.#checker.getTypeOfSymbol(found);
      return value?.isStringLiteral() ? [value.value] : [];
    });
  }

  /** The texts that a union of texts consists of. */
  literals({ symbol }: PublicName): string[] {
    const type = this.#typeOf(symbol);
    return (type.isUnion() ? type.types : [type]).flatMap((member) =>
      member.isStringLiteral() ? [member.value] : [],
    );
  }

  #typeOf(symbol: ts.Symbol): ts.Type & Partial<ts.InterfaceType> {
    const type = this.#checker.getDeclaredTypeOfSymbol(symbol);
    // Of a type with a parameter all that it can be.
    return this.#checker.getBaseConstraintOfType(type) ?? type;
  }
}

function projectOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(projectRoot, 'tsconfig.json'), (path) =>
    ts.sys.readFile(path),
  ) as { config: unknown };
  return ts.parseJsonConfigFileContent(config, ts.sys, projectRoot).options;
}
