import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderMermaidSVG } from 'beautiful-mermaid';
import { defineConfig } from 'vitepress';
import { ROOT, linkedPage, pages } from './pages.ts';

/** The site has the repository's Markdown files at their paths, so that links work in both. */
const PAGES = pages();

const titleOf = (page: string): string =>
  /^# (.+)$/m.exec(readFileSync(join(ROOT, page), 'utf8'))?.[1] ?? page;
const itemsOf = (names: readonly string[]) =>
  names.map((page) => ({ text: titleOf(page), link: `/${page.slice(0, -'.md'.length)}` }));
const inFolder = (folder: string) =>
  itemsOf([...PAGES].filter((page) => new RegExp(`^docs/${folder}/[^/]+\\.md$`).test(page)).toSorted());

export default defineConfig({
  title: 'svault',
  description: 'Credentials for software agents',
  srcDir: '..',
  srcExclude: ['**/node_modules/**', '**/dist/**', '**/.svault/**'],
  rewrites: { 'README.md': 'index.md' },
  cleanUrls: false,
  vite: { publicDir: false },
  markdown: {
    config: (md) => {
      const fence = md.renderer.rules.fence;
      md.renderer.rules.fence = (tokens, index, options, env, self) => {
        const token = tokens[index];
        if (token?.info.trim() !== 'mermaid') return fence?.(tokens, index, options, env, self) ?? '';
        return drawing(token.content);
      };
      md.core.ruler.push('links to sources', ({ tokens, env }) => {
        const page = (env as { readonly relativePath: string; readonly path: string }).path.slice(
          ROOT.length,
        );
        for (const { children } of tokens)
          for (const token of children ?? []) {
            const href = token.type === 'link_open' ? token.attrGet('href') : null;
            if (href === null || /^(?:[a-z]+:|#)/.test(href) || linkedPage(page, href, PAGES)) continue;
            // A source file: not on the site.
            token.tag = 'span';
            token.attrs = [['title', href]];
            const close = children?.slice(children.indexOf(token)).find(({ type }) => type === 'link_close');
            if (close !== undefined) close.tag = 'span';
          }
        return true;
      });
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Quickstart', link: '/docs/quickstart' },
      { text: 'Guides', link: '/docs/index' },
      { text: 'Security', link: '/docs/security' },
      { text: 'Changelog', link: '/CHANGELOG' },
    ],
    sidebar: [
      { text: 'Start', items: itemsOf(['docs/quickstart.md', 'docs/concepts.md', 'docs/security.md']) },
      { text: 'Guides', items: inFolder('guides') },
      { text: 'Deploy', items: inFolder('deploy') },
      { text: 'Operate', items: [...inFolder('operate'), ...itemsOf(['docs/performance.md'])] },
      { text: 'Reference', items: inFolder('reference') },
      { text: 'API by subject', collapsed: true, items: inFolder('reference/api') },
      {
        text: 'Webhook authors',
        items: [...itemsOf(['shared/PROTOCOL.md']), ...inFolder('webhook-authors')],
      },
      {
        text: 'Contributors',
        collapsed: true,
        items: [
          ...itemsOf(['CONTRIBUTING.md', 'docs/architecture.md', 'DIVERGENCES.md']),
          ...inFolder('decisions'),
        ],
      },
    ],
  },
});

const COLORS = { bg: '#ffffff', fg: '#1c1c1e', muted: '#3c3c43', line: '#5c5c66', font: 'sans-serif' };

/** An image in the page itself, with the source of the diagram for those who do not see it. */
function drawing(source: string): string {
  // The renderer names a font of a service on the web.
  const svg = renderMermaidSVG(source, COLORS).replaceAll(/@import url\([^)]*\);?/g, '');
  const words = source
    .trim()
    .replaceAll(/\s*\n\s*/g, '; ')
    .replaceAll('&', '&amp;')
    .replaceAll('"', '&quot;');
  return `<p><img src="data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}" alt="${words.replaceAll('<', '&lt;')}" /></p>`;
}
