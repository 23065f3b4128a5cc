/** The members of a workspace's package.json that the packing reads. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports?: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly files?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: unknown;
  readonly scripts?: unknown;
}

/** The published manifest: the same package with every entry pointing at compiled code. */
export interface PublishedManifest extends Omit<Manifest, 'exports' | 'devDependencies' | 'scripts'> {
  readonly exports?: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
}

const compiled = (source: string, extension: '.js' | '.d.ts'): string =>
  source.replace(/^\.\/src\//, './dist/').replace(/\.ts$/, extension);

/**
 * Maps a workspace's manifest to the published one: `./src/x.ts` becomes `./dist/x.js` and its types, since Node
 * strips no types under `node_modules`. What only the workspace needs is left out.
 * @param installs the dependencies that are installed with it; where it is given, the compiled code has the others in it
 */
export function publishedManifest(manifest: Manifest, installs?: readonly string[]): PublishedManifest {
  const { exports, bin, dependencies, devDependencies: _dev, scripts: _scripts, ...rest } = manifest;
  const installed = Object.entries(dependencies ?? {}).filter(([name]) => installs?.includes(name) ?? true);
  const isSource = (path: string): boolean => path.endsWith('.ts');
  return {
    ...rest,
    ...(installed.length > 0 && { dependencies: Object.fromEntries(installed) }),
    ...(bin && {
      bin: Object.fromEntries(Object.entries(bin).map(([name, path]) => [name, compiled(path, '.js')])),
    }),
    ...(exports && {
      exports: Object.fromEntries(
        Object.entries(exports).map(([subpath, path]) => [
          subpath,
          isSource(path) ? { types: compiled(path, '.d.ts'), default: compiled(path, '.js') } : path,
        ]),
      ),
    }),
  };
}
