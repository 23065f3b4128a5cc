import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** The repository, with a slash at the end. */
export const ROOT = normalize(join(import.meta.dirname, '../../'));

/** Markdown files of the repository and those that the build makes, by their paths. */
export function pages(): ReadonlySet<string> {
  const git = ['ls-files', '-z', '--cached', '--others', '*.md'];
  const listed = execFileSync('git', git, { cwd: ROOT, encoding: 'utf8' }).split('\0');
  return new Set(
    listed.filter((page) => page !== '' && !page.includes('node_modules/') && existsSync(join(ROOT, page))),
  );
}

/** Whether a relative link of a page leads to a page of the site. */
export const linkedPage = (from: string, href: string, all: ReadonlySet<string>): boolean =>
  all.has(normalize(join(dirname(from), href.replace(/#.*$/, ''))));
