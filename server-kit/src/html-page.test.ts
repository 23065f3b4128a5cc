import { expect, test } from 'vitest';
import { type PageContent, htmlPage } from './html-page.ts';
import { safeHtml } from './safe-html.ts';

const IDENTITY = { program: 'webhook', url: 'https://hooks.example/svault' } as const;
const EVIL = `"'><script>alert(1)</script>`;

const pageOf = (more: Partial<PageContent> = {}): string =>
  htmlPage(IDENTITY, {
    name: 'a-page',
    title: 'A title',
    body: safeHtml`<p>fine</p>`,
    next: safeHtml`<p>on</p>`,
    ...more,
  });

test('a page has a mark, the product, the instance, the account, where to go next, and a footer', () => {
  const page = pageOf({ account: 'owner@example.org' });
  for (const part of [
    '<title>A title · svault</title>',
    '<svg class="mark"',
    '<strong>svault</strong> <span class="instance">hooks.example/svault</span>',
    '<bdi>owner@example.org</bdi>',
    '<h1>A title</h1>\n<p>fine</p>\n<div class="next"><p>on</p></div>\n</main>',
    '<p>svault webhook at hooks.example/svault: it holds your credentials.</p>',
  ])
    expect(page).toContain(part);
});

test('a page has no script and nothing from elsewhere, unless it says that it uses the script', () => {
  expect(pageOf()).not.toMatch(/<script|src=|href=|@import|url\(/);
  expect(pageOf({ usesScript: true }).match(/<script>/g)).toHaveLength(1);
});

test('title, account, name and address are text', () => {
  const page = htmlPage(
    { ...IDENTITY, url: `https://${EVIL}` },
    { name: EVIL, title: EVIL, account: EVIL, body: safeHtml`${EVIL}`, next: undefined },
  );
  expect(page).not.toContain('<script');
  expect(page.match(/&lt;script/g)).toHaveLength(7);
});
