import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { ROOT } from './pack.ts';

/** Where `tsc -b` puts the declarations of a package. */
const declarationsOf = (folder: string): string => join(ROOT, folder, 'dist/src');

const IMPORTS = /(\bfrom |\bimport\()'([^']+)'/g;

/**
 * Copies the declarations of a compiled package and all that they import. Those of the signing library go along, since the
 * package has its code inside and does not install it.
 * @param folder of the package
 * @param entries modules of its `src/`, without extension
 * @param into where the compiled code is
 */
export function copyDeclarations(folder: string, entries: readonly string[], into: string): void {
  const [own, shared] = [declarationsOf(folder), declarationsOf('shared')];
  const inside: Readonly<Record<string, string>> = {
    '@svault/shared': join(shared, 'index.d.ts'),
    '@svault/shared/schemas': join(shared, 'schemas/index.d.ts'),
  };
  const copyOf = (file: string): string =>
    file.startsWith(shared) ? join(into, 'shared', relative(shared, file)) : join(into, relative(own, file));
  const done = new Set<string>();
  const copy = (file: string): void => {
    if (done.has(file)) return;
    done.add(file);
    const text = readFileSync(file, 'utf8').replaceAll(IMPORTS, (all, keyword: string, specifier: string) => {
      const imported = specifier.startsWith('.')
        ? resolve(dirname(file), specifier.replace(/\.ts$/, '.d.ts'))
        : inside[specifier];
      if (imported === undefined) return all;
      copy(imported);
      const path = relative(dirname(copyOf(file)), copyOf(imported)).replace(/\.d\.ts$/, '.js');
      return `${keyword}'${path.startsWith('.') ? path : `./${path}`}'`;
    });
    mkdirSync(dirname(copyOf(file)), { recursive: true });
    writeFileSync(copyOf(file), text);
  };
  for (const entry of entries) copy(join(own, `${entry}.d.ts`));
}
