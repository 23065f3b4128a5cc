import { expect, test } from 'vitest';
import { safeHtml } from './safe-html.ts';

const EVIL = `<script a="b" c='d'>&amp;`;
const ESCAPED = '&lt;script a=&quot;b&quot; c=&#39;d&#39;&gt;&amp;amp;';

test('safeHtml escapes text in element content and in quoted attributes', () => {
  expect(String(safeHtml`<p title="${EVIL}" lang='${EVIL}'>${EVIL}</p>`)).toBe(
    `<p title="${ESCAPED}" lang='${ESCAPED}'>${ESCAPED}</p>`,
  );
});

test('safeHtml takes nested HTML as it is, once', () => {
  const name = safeHtml`<b>${EVIL}</b>`;
  expect(String(safeHtml`<p>${safeHtml`${name}!`}</p>`)).toBe(`<p><b>${ESCAPED}</b>!</p>`);
});

test('safeHtml escapes each text of a list, and writes its parts on lines', () => {
  expect(String(safeHtml`<ul>${['<', safeHtml`<li>`, ['>', 7]]}</ul>`)).toBe('<ul>&lt;\n<li>\n&gt;\n7</ul>');
  expect(String(safeHtml`<ul>${[]}</ul>`)).toBe('<ul></ul>');
});

test('safeHtml writes nothing for undefined, and keeps backslashes and template characters of text', () => {
  expect(String(safeHtml`a${undefined}b \\ ${'\\n${x}$&'}`)).toBe('ab \\ \\n${x}$&amp;');
});

test('safeHtml takes no object that only looks like HTML', () => {
  const forged = { toString: () => '<b>' } as unknown as string;
  expect(() => safeHtml`${forged}`).toThrow(TypeError);
});
