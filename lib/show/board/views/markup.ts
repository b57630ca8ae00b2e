/** A piece of HTML or SVG that a template has made. */
export class Markup {
  constructor(readonly html: string) {}
}

/** What stands in a template. Nothing is drawn of `undefined` and `false`. */
export type Content = Markup | string | number | false | undefined | readonly Content[];

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function htmlOf(content: Content): string {
  if (content instanceof Markup) return content.html;
  if (content === undefined || content === false) return '';
  if (typeof content === 'object') return content.map(htmlOf).join('');
  return String(content).replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}

/** A template of HTML. Each text in it is escaped, so it can stand between tags, and in quotes as the value of an attribute. */
export const markup = (parts: TemplateStringsArray, ...contents: readonly Content[]): Markup =>
  new Markup(parts.map((part, n) => part + htmlOf(contents[n])).join(''));

/** Draws something for each record. A broken record does not hide the others. @param broken stands for it */
export const each = <T>(
  records: readonly T[],
  draw: (record: T) => Markup,
  broken: Markup = new Markup(''),
): Markup[] =>
  records.map((record) => {
    try {
      return draw(record);
    } catch {
      return broken;
    }
  });
