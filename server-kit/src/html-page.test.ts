import { expect, test } from 'vitest';
import { escapeHtml, htmlPage } from './html-page.ts';

test('nothing of a text can leave element content or a quoted attribute', () => {
  expect(escapeHtml(`<script a="b" c='d'>&amp;`)).toBe(
    '&lt;script a=&quot;b&quot; c=&#39;d&#39;&gt;&amp;amp;',
  );
});

test('a page has no script and escapes its title', () => {
  const page = htmlPage('<b>', '<p>fine</p>');
  expect(page).toContain('<title>&lt;b&gt; · svault</title>');
  expect(page).toContain('<h1>&lt;b&gt;</h1>\n<p>fine</p>');
  expect(page).not.toContain('<script');
});
