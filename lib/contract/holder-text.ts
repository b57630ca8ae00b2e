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
