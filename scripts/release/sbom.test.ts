import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { tempDir } from '@svault/test-kit/temp-dir';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { bundlePackage } from '../../cli/scripts/bundle.ts';
import { type Component, componentsOf } from './components.ts';
import { licenseProblems } from './licenses.ts';
import { partsOfPackage } from './parts.ts';
import { sbomOf } from './sbom.ts';

const SUBJECT = { name: 'svault', version: '1.2.3', type: 'npm' } as const;
const LIBRARY: Component = {
  name: '@scope/library',
  version: '2.0.0',
  license: 'MIT',
  sha512: 'ab'.repeat(64),
};

describe('the bill of materials of the command line', () => {
  let components: readonly Component[];
  beforeAll(async () => {
    components = componentsOf(await partsOfPackage('cli'));
  });

  test('names every package that the bundler took code from, and no other', async () => {
    const dir = tempDir();
    onTestFinished(() => dir.remove());
    const files = await bundlePackage(dir.path, { inCheckout: false });
    const bundled = files
      .map((path) => /.*node_modules\/(?<name>(?:@[^/]+\/)?[^/]+)\//.exec(path)?.groups?.['name'])
      .filter((name) => name !== undefined);
    expect(bundled).toContain('commander');
    const names = components.map(({ name }) => name);
    expect(bundled.filter((name) => !names.includes(name))).toEqual([]);
    const further = names.filter((name) => !bundled.includes(name));
    expect(further.filter((name) => !name.startsWith('@napi-rs/keyring'))).toEqual([]);
  });

  test('states for each the license and the digest of the lock file', () => {
    expect(components.filter(({ sha512 }) => sha512?.length !== 128)).toEqual([]);
    expect(licenseProblems(components)).toEqual([]);
  });
});

test('a bill of materials is the same whatever the order of the packages, and has neither a time nor a serial number', async () => {
  const other: Component = { name: 'another', version: '1.0.0', license: 'ISC' };
  const text = await sbomOf(SUBJECT, [LIBRARY, other]);
  expect(await sbomOf(SUBJECT, [other, LIBRARY])).toBe(text);
  expect(text).not.toMatch(/timestamp|serialNumber/);
});

test('a bill of materials conforms to the schema of CycloneDX 1.6, and names packages by their URL', async () => {
  const text = await sbomOf(SUBJECT, [
    LIBRARY,
    { ...LIBRARY, version: '3.0.0', license: '(MIT OR Apache-2.0)' },
  ]);
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
  expect(await validator.validate(text)).toBeNull();
  expect(await validator.validate(text.replaceAll('"purl"', '"purls"'))).not.toBeNull();
  expect(JSON.parse(text)).toMatchObject({
    specVersion: '1.6',
    metadata: { component: { purl: 'pkg:npm/svault@1.2.3' } },
    components: [{ purl: 'pkg:npm/%40scope/library@2.0.0' }, { purl: 'pkg:npm/%40scope/library@3.0.0' }],
  });
});

test.each<[string, string, boolean]>([
  ['library', 'MIT', true],
  ['library', '(GPL-3.0-only OR MIT)', true],
  ['web-push', 'MPL-2.0', true],
  ['library', 'MPL-2.0', false],
  ['library', 'MIT AND GPL-3.0-only', false],
  ['library', '(MIT OR ISC) AND GPL-3.0-only', false],
  ['library', 'UNLICENSED', false],
])('%s under %s may be in an artefact: %s', (name, license, allowed) => {
  expect(licenseProblems([{ name, version: '1.0.0', license }])).toHaveLength(allowed ? 0 : 1);
});
