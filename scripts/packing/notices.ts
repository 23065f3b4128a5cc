import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The licenses of the packages that a bundle has code of, as they ask for: each with its name, version and text.
 * @param files that the bundle was made from
 * @throws Error where a package comes without a license
 */
export function noticesOf(files: readonly string[]): string {
  const notices = packagesOf(files).map((path) => {
    const { name, version } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as {
      name: string;
      version: string;
    };
    return `${name} ${version}\n\n${licenseIn(path)}`;
  });
  return notices.toSorted().join(`\n${'-'.repeat(78)}\n\n`);
}

/** The folders of the packages that these files are from, each once; a file of the workspace is from none. */
export function packagesOf(files: readonly string[]): readonly string[] {
  return [...new Set(files.filter((path) => path.includes('node_modules/')).map(packageFolder))];
}

/** The text of every license in a package's folder, or what it says of its license elsewhere. @throws Error where it says none */
export function licenseIn(folder: string): string {
  const files = globSync('{LICENSE,LICENCE,License,license}*', { cwd: folder });
  const texts = [...new Set(files.map((file) => readFileSync(join(folder, file), 'utf8')))];
  if (texts.length === 0) texts.push(statedLicense(folder));
  return texts.map((text) => `${text.trimEnd()}\n`).join('\n');
}

/** Of a package without a file of it: the name and the author of its manifest, and the section of its README. */
function statedLicense(folder: string): string {
  const { license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    license?: string;
    author?: string | { name: string };
  };
  if (license === undefined) throw new Error(`${folder} has no license to pass on`);
  const by = typeof author === 'string' ? author : author?.name;
  const [readme] = globSync('README*', { cwd: folder });
  const section =
    readme === undefined
      ? undefined
      : /^#+ *licen[cs]e.*$/im.exec(readFileSync(join(folder, readme), 'utf8'));
  return [`${license}${by === undefined ? '' : `, ${by}`}`, section?.input.slice(section.index)].join('\n\n');
}

/** Some packages have a package.json in their subfolders as well, without a name. */
function packageFolder(file: string): string {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = join(folder, 'package.json');
    if (existsSync(manifest) && 'version' in (JSON.parse(readFileSync(manifest, 'utf8')) as object))
      return folder;
  }
  throw new Error(`${file} is in no package`);
}
