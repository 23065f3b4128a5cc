import type { Component } from './components.ts';

/** Licenses that ask for no more than their notice. A package under another one is named below, after a review. */
const PERMISSIVE = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
]);

/** By package, the license that was reviewed. MPL-2.0 asks for the source of its own files, which are unchanged on npm. */
const REVIEWED: Readonly<Record<string, string | undefined>> = { 'web-push': 'MPL-2.0' };

/** One line for each component whose license is neither permissive nor reviewed. */
export function licenseProblems(components: readonly Component[]): readonly string[] {
  return components
    .filter(({ name, license }) => !isPermissive(license) && REVIEWED[name] !== license)
    .map(
      ({ name, version, license }) =>
        `${name} ${version} is under ${license}; review it, then name it in scripts/release/licenses.ts`,
    );
}

/** Of several licenses to choose from one is enough; one with further conditions is never. */
function isPermissive(license: string): boolean {
  if (/ (?:AND|WITH) /.test(license)) return false;
  return license
    .replaceAll(/[()]/g, '')
    .split(' OR ')
    .some((each) => PERMISSIVE.has(each));
}
