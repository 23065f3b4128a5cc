import { readFileSync } from 'node:fs';
import { PAGE_STYLE } from '@svault/server-kit/page-style';
import { htmlPage } from '@svault/server-kit/html-page';
import { safeHtml } from '@svault/server-kit/safe-html';
import { expect, test } from 'vitest';
import { SCREENS } from '../../../src/api/console/screens.ts';

const sourceOf = (path: string): string =>
  readFileSync(new URL(`../../../console/src/${path}`, import.meta.url), 'utf8');

/** The colours of a style sheet in the light theme, then those in the dark one. */
const coloursOf = (style: string): readonly string[] =>
  [...style.matchAll(/(--[a-z-]+): (#[0-9a-f]{3,6});/g)].map(([, name, value]) => `${name} ${value}`);

test('the console has the colours of the server-rendered pages, in both themes', () => {
  expect(coloursOf(PAGE_STYLE)).toHaveLength(18);
  expect(coloursOf(sourceOf('style.css'))).toEqual(coloursOf(PAGE_STYLE));
});

test('the console has the mark of the server-rendered pages, in the page and as its icon', () => {
  const identity = { program: 'control plane', url: 'http://127.0.0.1' } as const;
  const page = htmlPage(identity, {
    name: 'login',
    title: 'Sign in',
    body: safeHtml`<p></p>`,
    next: undefined,
  });
  const outlineOf = (text: string): string | undefined => / d="([^"]+)"/.exec(text)?.[1];
  expect(outlineOf(page)).toMatch(/^M7 0h14/);
  for (const file of ['shell/shell.tsx', 'mark.svg'])
    expect([file, outlineOf(sourceOf(file))]).toEqual([file, outlineOf(page)]);
});

test('the server answers the addresses of the screens that the console has, and no others', () => {
  const paths = [...sourceOf('router.tsx').matchAll(/ path: '([^']+)'/g)].map(([, path = '']) => path);
  expect(paths.map((path) => path.replaceAll('$', ':')).toSorted()).toEqual(['/', ...SCREENS].toSorted());
});
