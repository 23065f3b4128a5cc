import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MAX_BYTES = 150_000;
const PNG = '89504e470d0a1a0a';

test('the README shows the console by day or by night, as its reader has it, in pictures that are there and small', () => {
  const readme = readFileSync(`${ROOT}README.md`, 'utf8');
  const [picture = ''] = /<picture>[^]*?<\/picture>/.exec(readme) ?? [];
  const dark = /<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">/.exec(picture)?.[1];
  const [, light, alt] = /<img src="([^"]+)" alt="([^"]+)"/.exec(picture) ?? [];
  expect([light, dark]).toEqual(['./docs/images/console-light.png', './docs/images/console-dark.png']);
  expect(alt).not.toBe('');
  for (const path of [`${ROOT}${light}`, `${ROOT}${dark}`]) {
    expect([path, existsSync(path)]).toEqual([path, true]);
    const bytes = readFileSync(path);
    expect([path, bytes.subarray(0, 8).toString('hex')]).toEqual([path, PNG]);
    expect([path, bytes.length < MAX_BYTES]).toEqual([path, true]);
    // Width and height of the IHDR chunk.
    expect([path, bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([path, 1280, 1120]);
  }
});
