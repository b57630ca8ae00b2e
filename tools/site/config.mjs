// Of the site: tools/docs.mjs puts it beside a copy of the documents.
import { readFileSync } from 'node:fs';

const sections = JSON.parse(readFileSync(new URL('./sections.json', import.meta.url), 'utf8'));
const linkOf = (path) => `/${path.replace(/\.md$/, '')}`;

/** What a link to a heading has behind the `#`, in the way of GitHub: the pages are read there, too. */
const slugify = (heading) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

export default {
  title: 'nestjs-scheduler-lock',
  description: 'Each @Cron() of a NestJS fleet on one instance',
  // The site may lie in any folder, and be read from a disk behind any server.
  base: process.env.DOCS_BASE ?? '/',
  outDir: './dist',
  rewrites: { 'README.md': 'index.md', 'docs/README.md': 'docs/index.md' },
  // A file of the repository, and no page.
  ignoreDeadLinks: [/LICENSE$/],
  markdown: { anchor: { slugify } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [{ text: 'Documents', link: '/docs/' }],
    sidebar: sections.map(({ name, pages }) => ({
      text: name,
      items: pages.map(({ name: text, path }) => ({ text, link: linkOf(path) })),
    })),
  },
};
