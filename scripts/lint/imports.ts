import { posix } from 'node:path';
import { ARROWS, PACKAGE_ARROWS, PACKAGE_FOLDERS } from './arrows.ts';

/** An import as the rule sees it. `names` is undefined where everything comes along (default, namespace, dynamic). */
export interface Import {
  /** Importing file, its path from the root with forward slashes. */
  readonly file: string;
  readonly specifier: string;
  readonly names: readonly string[] | undefined;
}

/** Test files: next to the source, in `test/`, and suites that run on several implementations. */
const TEST = /\.(test|contract)\.ts$|^[^/]+\/test\//;
const INTEGRATION_TEST = /^[^/]+\/test\//;
/** What brings the real other side to an integration test, in this process or as processes. */
const TEST_ONLY_PACKAGES = ['test-kit', 'compose', 'shared'];

/** Says why an import is refused, or undefined where it is allowed. */
export function refusal({ file, specifier, names }: Import): string | undefined {
  const target = specifier.startsWith('.') ? `./${posix.join(posix.dirname(file), specifier)}` : specifier;
  return packageRefusal(file, target) ?? (TEST.test(file) ? undefined : arrowRefusal(file, target, names));
}

function packageRefusal(file: string, target: string): string | undefined {
  const own = file.split('/', 1)[0] ?? '';
  const allowed = PACKAGE_ARROWS[own];
  const other = packageOf(target);
  if (allowed === undefined || other === undefined || other === own) return undefined;
  if (target.startsWith('./')) return `${own} reaches into ${other} by path; import the package by its name`;
  if (allowed.includes(other)) return undefined;
  if (INTEGRATION_TEST.test(file) && TEST_ONLY_PACKAGES.includes(other)) return undefined;
  return `${own} may import ${allowed.length === 0 ? 'no workspace package' : allowed.join(', ')}, not ${other}`;
}

function packageOf(target: string): string | undefined {
  if (target.startsWith('./')) {
    const folder = target.split('/', 2)[1] ?? '';
    return folder in PACKAGE_ARROWS ? folder : undefined;
  }
  const name = target.split('/', target.startsWith('@') ? 2 : 1).join('/');
  return PACKAGE_FOLDERS[name];
}

function arrowRefusal(file: string, target: string, names: Import['names']): string | undefined {
  return ARROWS.find(
    (arrow) =>
      arrow.from.test(file) &&
      arrow.to.test(target) &&
      (arrow.names === undefined || names === undefined || names.some((name) => arrow.names?.includes(name))),
  )?.why;
}
