// What the index of the documents leads to: for the site, and for llms.txt.
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const INDEX = 'docs/README.md';

const textOf = (path) => readFileSync(join(root, path), 'utf8');

/**
 * A page begins with its question as a heading, and then the answer in bold.
 *
 * @param name what the index calls it
 */
function pageAt(path, name) {
  const [, title = '', answer = ''] = /^# (.+)\n\n\*\*([^*]+)\*\*/.exec(textOf(path)) ?? [];
  return { path, name, title, answer: answer.replaceAll(/\s+/g, ' ') };
}

/** The sections of the index, with the pages that each leads to, from the root of the project. */
export function sections() {
  const [, ...parts] = textOf(INDEX).split(/^## /m);
  return parts.map((part) => {
    const [name = ''] = part.split('\n');
    const links = [...part.matchAll(/\[([^\]]+)\]\(([^)#]+\.md)\)/g)];
    return {
      name,
      pages: links.map(([, text, link]) =>
        pageAt(normalize(join(dirname(INDEX), link)), text.replaceAll('`', '')),
      ),
    };
  });
}

/** The text of llms.txt: https://llmstxt.org */
export function llms() {
  const { name, description } = JSON.parse(textOf('package.json'));
  const lists = sections().map(
    (section) =>
      `## ${section.name}\n\n${section.pages.map(({ title, path, answer }) => `- [${title}](${path}): ${answer}\n`).join('')}`,
  );
  return `# ${name}\n\n> ${description}\n\n- [README](README.md): what it is, beside others, quick start, five rules, supported versions\n\n${lists.join('\n')}`;
}
