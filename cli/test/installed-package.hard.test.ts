import { type InstalledPackage, installedPackage, nodesOnPath } from '@svault/test-kit/installed-package';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testsOfBuiltClient } from './built-client.ts';
import { someone } from './command-line.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

let installed: InstalledPackage;

beforeAll(() => {
  installed = installedPackage('cli', 'svault');
});
afterAll(() => installed.remove());

describe.each(nodesOnPath())(
  'the npm package, installed in an empty folder, on Node $version',
  ({ node }) => {
    let people: PairAndPeople;
    beforeAll(async () => {
      people = await pairAndPeople();
    });
    afterAll(() => people.close());

    testsOfBuiltClient(() => ({ program: [node, installed.command], people }));
  },
);

test('a Node that is too old is told so in one line', async () => {
  const older = `Object.defineProperty(process, 'versions', { value: { node: '18.20.8' } })`;
  const program = [process.execPath, '--import', `data:text/javascript,${older}`, installed.command] as const;
  const { code, out, err } = await someone().spawned(['--version'], { program });
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toMatch(/^This needs Node\.js 20 or newer, and this is v\S+: https:\S+\n$/);
});
