import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from './pack.ts';
import type { Manifest, PublishedManifest } from './manifest.ts';

interface Packed {
  readonly tarball: string;
  readonly manifest: Manifest;
  /** What the tarball has instead. */
  readonly installed: PublishedManifest;
}

/** An empty project with the packed packages in it, as a stranger would have it. Each method throws on failure. */
export interface Consumer {
  /** Imports every entry under Node, which strips no types under `node_modules`. */
  importEverything(): void;
  /** Compiles a file that imports every entry, with the packages' own declarations checked. */
  resolveTypes(): void;
  /** Runs `--help` of every command. */
  startCommands(): void;
}

/** Unpacks tarballs into `node_modules` of a project. @param project an existing, empty folder */
export function installPackages(project: string, packages: readonly Packed[]): Consumer {
  const modules = join(project, 'node_modules');
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  for (const { tarball, manifest } of packages) {
    const target = join(modules, manifest.name);
    mkdirSync(target, { recursive: true });
    execFileSync('tar', ['-xzf', tarball, '-C', target, '--strip-components=1']);
  }
  linkThirdParty(modules, packages);
  const entries = packages.flatMap(({ manifest }) =>
    Object.entries(manifest.exports ?? {})
      .filter(([, path]) => path.endsWith('.ts'))
      .map(([subpath]) => manifest.name + subpath.slice(1)),
  );
  const node = (...args: string[]): string => execFileSync('node', args, { cwd: project, encoding: 'utf8' });

  return {
    importEverything() {
      for (const entry of entries) {
        const script = `console.log(Object.keys(await import(${JSON.stringify(entry)})).length)`;
        if (Number(node('--input-type=module', '--eval', script)) === 0)
          throw new Error(`${entry} exports nothing`);
      }
    },
    resolveTypes() {
      const imports = entries.map(
        (entry, index) => `import * as e${index} from '${entry}';\nvoid e${index};\n`,
      );
      writeFileSync(join(project, 'use.ts'), imports.join(''));
      const options = [
        '--noEmit',
        '--strict',
        '--module',
        'nodenext',
        '--target',
        'es2024',
        '--types',
        'node',
      ];
      execFileSync(join(ROOT, 'node_modules/.bin/tsc'), [...options, 'use.ts'], {
        cwd: project,
        stdio: 'inherit',
      });
    },
    startCommands() {
      for (const { manifest } of packages)
        for (const path of Object.values(manifest.bin ?? {})) {
          const script = path.replace('./src/', './dist/').replace(/\.ts$/, '.js');
          const help = node(join(modules, manifest.name, script), '--help');
          if (!help.startsWith('Usage: ')) throw new Error(`${manifest.name} --help said: ${help}`);
        }
    },
  };
}

/** Each package gets the dependencies that it declares, peers among them, and no other's; optional ones are left out. */
function linkThirdParty(modules: string, packages: readonly Packed[]): void {
  const own = new Set(packages.map(({ manifest }) => manifest.name));
  for (const { installed } of packages)
    for (const name of Object.keys({ ...installed.dependencies, ...installed.peerDependencies }))
      if (!own.has(name)) link(name, join(modules, installed.name, 'node_modules'));
  // What a TypeScript user of Node has anyway.
  link('@types/node', modules);
}

function link(name: string, into: string): void {
  mkdirSync(dirname(join(into, name)), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules', name), join(into, name));
}
