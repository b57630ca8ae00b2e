/** Names that a store could confuse with each other, or not treat as names. */
export function confusableNames(base: string): string[] {
  const parts = '|:lock|:state|:lock:state|:|::|/x|/../x'.split('|');
  const patterns = ['*', '?', '[a]', 'a', '_', '%', '%%', '%s', '%1$s', '$1', '\\', '\\\\', '+', '%20'];
  const quotes = ["'", "')", '"', '`', ';--', ']]'];
  // Spaces that are trimmed, the same text in two normalisation forms, and letters that fold into others.
  const spaces = [' ', '\u00a0', '\u200b'];
  const letters = ['\u00e9', 'e\u0301', 'e', '\ufb01', 'fi', '\u00df', 'ss', '\u0130', 'i', '\uff11', '1'];
  const wide = ['\u4e2d\u6587', '\ud83d\udd12', '\ud83d\udd11'];
  const suffixes = [...parts, ...patterns, ...quotes, ...spaces, ...letters, ...wide];
  const longest = base.padEnd(199, 'x');
  const like = [` ${base}`, `:${base}`, base.slice(0, -1), base.toUpperCase(), `${longest}1`, `${longest}2`];
  const words = ['__proto__', 'constructor', 'toString', '0', '00', 'null', 'undefined'];
  return [...suffixes.map((suffix) => base + suffix), ...like, ...words];
}
