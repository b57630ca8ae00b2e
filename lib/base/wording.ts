/** A value as code would write it, shortened. */
export function show(value: unknown): string {
  if (typeof value === 'string') return `'${value.length > 40 ? `${value.slice(0, 40)}…` : value}'`;
  if (typeof value === 'object' && value !== null)
    return `an object of class ${value.constructor?.name ?? 'null'}`;
  return typeof value === 'function' ? 'a function' : String(value);
}

/** `1 tick`, `2 ticks`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** The known name that an unknown one probably means: one or two slips away, or one that begins with it. `undefined`: none. */
export function nearest(given: string, names: readonly string[]): string | undefined {
  const wanted = given.toLowerCase();
  const slips = wanted.length < 5 ? 1 : 2;
  const near = names
    .map((name) => ({ name, distance: distance(wanted, name.toLowerCase()) }))
    .filter((candidate) => candidate.distance <= slips)
    .sort((one, other) => one.distance - other.distance)[0]?.name;
  if (near !== undefined || wanted.length < 3) return near;
  return names.find((name) => name.toLowerCase().startsWith(wanted));
}

/** Names in `given` that are not among `names`, a sentence each: a misspelt option would silently have its default. */
export function unknownNames(given: object, names: readonly string[]): string[] {
  return Object.keys(given)
    .filter((name) => !names.includes(name))
    .map((name) => {
      const meant = nearest(name, names);
      const advice = meant === undefined ? `There are ${names.join(', ')}.` : `Did you mean \`${meant}\`?`;
      return `${name}: there is no such option here. ${advice}`;
    });
}

/** How many letters have to be inserted, deleted, replaced, or swapped with their neighbour to turn one text into the other. */
function distance(one: string, other: string): number {
  let [before, last]: number[][] = [[], Array.from({ length: other.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const replaced = at(last, j - 1) + (one[i - 1] === other[j - 1] ? 0 : 1);
      const swaps = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      const swapped = swaps ? at(before, j - 2) + 1 : replaced;
      row.push(Math.min(replaced, swapped, at(last, j) + 1, at(row, j - 1) + 1));
    }
    [before, last] = [last, row];
  }
  return at(last, other.length);
}

const at = (row: readonly number[] = [], index: number): number => row[index] ?? Number.POSITIVE_INFINITY;

/** The message of an error. In Node an `AggregateError` has none of its own (a host with two addresses, each of which was tried). */
export function messageOf(error: Error): string {
  const several = error instanceof AggregateError ? error.errors.filter((each) => each instanceof Error) : [];
  return error.message || several.map((each) => each.message).join(', ') || error.name;
}

/** The message of an error as a part of a sentence: without a full stop, and without the credentials that a URL may hold. */
export const asClause = (message: string): string =>
  message.replace(/\/\/[^\s/]*@/g, '//***@').replace(/[\s.]+$/, '');

/** A message of a store as one line. In SQL on one line, its first comment would swallow the rest: the command that prints it takes its place. */
export const withoutSql = (text = ''): string =>
  text
    .replace(
      /(r)un this([^\n]*):\n(-- [^]*)$/i,
      (_, r: string, who: string, sql: string) => `${r}un what \`${commandFor(sql)}\` prints${who}.`,
    )
    .replaceAll('\n', ' ');

/** The command that prints this SQL of a setup. */
function commandFor(sql: string): string {
  // A store that could not look has no schema of its own to name.
  const [, quote, schema, table] = /TABLE IF NOT EXISTS (["`])(?:(.*?)\1\.\1)?(.*?)\1/.exec(sql) ?? [];
  const store = quote === '`' ? 'mysql' : 'postgres';
  const where = schema === undefined || schema === 'public' ? '' : ` --schema ${schema}`;
  const which = table === undefined || table === 'shedlock' ? '' : ` --table ${table}`;
  return `npx nestjs-scheduler-lock sql --store ${store}${where}${which}`;
}

/** Why a package could not be loaded, as the end of a sentence. */
export function notLoaded(name: string, error: unknown): string {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown };
  // The codes of Node, Jest and bundlers. The package may also miss a dependency of its own.
  const isMissing =
    String(code).endsWith('MODULE_NOT_FOUND') && new RegExp(`['"]${name}[/'"]`).test(String(message));
  return isMissing
    ? `is not installed. Run: npm install ${name}`
    : `could not be loaded: ${String(message).split('\n')[0]}`;
}

// oxlint-disable-next-line no-control-regex -- what is not ASCII is looked for
const NOT_ASCII = /[^\u0000-\u007f]/g;

/** `JSON.stringify` in ASCII alone: a database that lacks a character, as one in LATIN1 does, would refuse the whole statement. */
export const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(
    NOT_ASCII,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
