/** A name as logs and messages show it. An invalid name is quoted and cut, so that it breaks no line. */
export function displayName(name: unknown): string {
  if (typeof name !== 'string') return `(${name === null ? 'null' : typeof name})`;
  return nameProblem(name) === undefined ? name : JSON.stringify(name.slice(0, 80));
}

/** The longest name of a lock or a job, characters. */
const MAX_LENGTH = 200;

/**
 * What is wrong with the name of a lock or a job, or `undefined`.
 *
 * Stores put names into keys and columns. Braces would move a key to another Redis Cluster slot; control characters
 * and lone surrogates do not survive every driver unchanged.
 */
export function nameProblem(name: unknown): string | undefined {
  if (typeof name !== 'string') return `expected a string, got ${name === null ? 'null' : typeof name}`;
  if (name === '') return 'it is empty';
  if (name.trim() === '') return 'it holds nothing but blanks';
  if (name.length > MAX_LENGTH) return `it has ${name.length} characters, at most ${MAX_LENGTH} are allowed`;
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[{}\u0000-\u001f\u007f]/.test(name)) return 'it holds "{", "}" or a control character';
  if (/\p{Surrogate}/u.test(name)) return 'it holds half of a surrogate pair';
  return undefined;
}

/** The length of ShedLock's column `locked_by`, characters. */
export const LOCKED_BY_LENGTH = 255;

/** An instance id as a store keeps it beside a token: in ASCII, as a column of any character set keeps it. @param room in characters */
export function holderText(holder: string, room: number): string {
  if (/^[ -$&-~]*$/.test(holder)) return holder.slice(0, room);
  let text = '';
  for (const char of holder) {
    const next = /[ -$&-~]/.test(char) ? char : escaped(char);
    // Half an escaped character would be unreadable.
    if (text.length + next.length > room) break;
    text += next;
  }
  return text;
}

/** Percent-encoded, as in a URL. */
const escaped = (char: string): string =>
  [...Buffer.from(char)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
