import { expect, test } from 'vitest';
import { compareVersions } from './support-window.ts';

test.each<[string, string | undefined, string | undefined, string[]]>([
  ['1.4.2', '1.4.0', 'svault/1.4.9', []],
  ['1.4.2', '1.3.0', 'svault/1.4.9', []],
  ['1.3.2', '1.4.0', 'svault/1.3.0', []],
  ['1.4.2', '1.4.0', 'svault/1.2.0', ['the webhook']],
  ['1.4.2', '1.2.0', 'svault/1.2.0', ['the webhook', 'the control plane']],
  ['0.9.0', '1.0.0', 'svault/1.0.0', ['svault']],
  ['1.10.0', '1.9.0', 'svault/1.8.0', ['the webhook']],
  ['1.4.0-rc.1', '1.2.0', undefined, ['the control plane']],
  ['1.4.2', undefined, undefined, []],
  ['1.4.2', '1.4.0', '0.2.0', []],
  ['1.4.2', '1.4.0', 'svault/1.4.0\u001b[2J', []],
  ['1.4.2', `${'9'.repeat(99)}.0.0`, 'svault/latest', []],
])(
  'svault %s with control plane %s and webhook %s: to upgrade are %j',
  (client, controlPlaneVersion, version, expected) => {
    expect(compareVersions({ controlPlaneVersion, version }, client).toUpgrade).toEqual(expected);
  },
);

test('it names the programs whose versions it compares', () => {
  const versions = { controlPlaneVersion: '1.3.0', version: 'svault/1.4.0' };
  expect(compareVersions(versions, '1.2.0').found).toBe('svault 1.2.0, control plane 1.3.0, webhook 1.4.0');
  expect(compareVersions({ ...versions, version: 'theirs/1.0.0' }, '1.2.0').found).toBe(
    'svault 1.2.0, control plane 1.3.0',
  );
});
