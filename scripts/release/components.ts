import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ROOT } from '../packing/pack.ts';

/** A package of npm in an artefact. */
export interface Component {
  readonly name: string;
  readonly version: string;
  /** As its manifest states it: an SPDX expression. */
  readonly license: string;
  /** SHA-512 of its tarball, hexadecimal; missing where the lock file has none. */
  readonly sha512?: string;
}

/** Reads the manifests of installed packages. @param folders of them @throws Error where one states no license */
export function componentsOf(folders: readonly string[]): readonly Component[] {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, { readonly integrity?: string } | undefined>>;
  };
  const found = folders.map((folder): Component => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    ) as Partial<Component>;
    if (name === undefined || version === undefined || typeof license !== 'string')
      throw new Error(`${folder}/package.json does not state its name, version and license`);
    const integrity = packages[relative(ROOT, folder)]?.integrity;
    const sha512 =
      integrity === undefined
        ? undefined
        : /^sha512-(?<digest>[\w+/]+=*)$/.exec(integrity)?.groups?.['digest'];
    return {
      name,
      version,
      license,
      ...(sha512 !== undefined && { sha512: Buffer.from(sha512, 'base64').toString('hex') }),
    };
  });
  return [...new Map(found.map((each) => [`${each.name}@${each.version}`, each])).values()];
}
