import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const PAGES = execFileSync('git', ['ls-files', '-z', '*.md'], { cwd: ROOT, encoding: 'utf8' })
  .split('\0')
  .filter((page) => page !== '' && existsSync(join(ROOT, page)));

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
/** Text without code blocks, in which brackets are no links. */
const prose = (page: string): string => read(page).replaceAll(/^```[\s\S]*?^```/gm, '');

/** Links of a page to files of the repository, by their path from the root. */
function linksOf(page: string): readonly { text: string; path: string; anchor: string }[] {
  return [...prose(page).matchAll(/\[([^\]]*)\]\((?!\w+:)([^)\s#]*)(?:#([^)\s]*))?\)/g)].map(
    ([, text = '', path = '', anchor = '']) => ({
      text,
      path: path === '' ? page : normalize(join(dirname(page), path)),
      anchor,
    }),
  );
}

/** Names of the headings of a page, as GitHub makes them. */
function anchorsOf(page: string): ReadonlySet<string> {
  const seen = new Map<string, number>();
  return new Set(
    [...prose(page).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => {
      const name = title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(/\s/g, '-');
      const count = seen.get(name) ?? 0;
      seen.set(name, count + 1);
      return count === 0 ? name : `${name}-${count}`;
    }),
  );
}

test.each(PAGES)('every link of %s leads to a file, and to a heading of it', (page) => {
  const broken = linksOf(page).filter(
    ({ path, anchor }) =>
      !existsSync(join(ROOT, path)) ||
      (anchor !== '' && path.endsWith('.md') && !anchorsOf(path).has(anchor)),
  );
  expect(broken).toEqual([]);
});

test('the links of the alert rules lead to headings of the runbook', () => {
  const links = [...read('compose/monitoring/alerts.yaml').matchAll(/runbook_url: (\S+)#(\S+)/g)];
  expect(links.length).toBeGreaterThan(20);
  const broken = links.filter(([, page = '', anchor = '']) => !anchorsOf(page).has(anchor));
  expect(broken.map(([link]) => link)).toEqual([]);
});

test.each(PAGES)('every name that %s links to a source is in that source', (page) => {
  const missing = linksOf(page).filter(({ text, path }) => {
    const [, name] = /^`(\w+)(?:\(\))?`$/.exec(text) ?? [];
    return name !== undefined && path.endsWith('.ts') && !new RegExp(`\\b${name}\\b`).test(read(path));
  });
  expect(missing).toEqual([]);
});
