import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, expect, test } from 'vitest';
import { readFileBounded, readStreamBounded } from '../src/secret-input/read-bounded.ts';

const dir = tempDir();
afterAll(() => dir.remove());

const TOO_MUCH = { exit: 'usage', message: expect.stringMatching(/^that is more than 1 KiB/) };
const unending = function* (): Iterable<Buffer> {
  for (;;) yield Buffer.alloc(700);
};

test('a file is read to its end, and no byte beyond what it may have', async () => {
  const path = join(dir.path, 'file');
  writeFileSync(path, 'x'.repeat(1_024));
  expect(await readFileBounded(path, 1_024)).toHaveLength(1_024);
  writeFileSync(path, 'x'.repeat(1_025));
  await expect(readFileBounded(path, 1_024)).rejects.toMatchObject(TOO_MUCH);
});

test('what has no end is given up', async () => {
  const stream = Readable.from(unending());
  const { signal } = new AbortController();
  await expect(readStreamBounded(stream, 1_024, signal)).rejects.toMatchObject(TOO_MUCH);
  expect(stream.destroyed).toBe(true);
});

test('a file that cannot be read is named, with the system’s reason', async () => {
  const path = join(dir.path, 'missing');
  await expect(readFileBounded(path, 9)).rejects.toMatchObject({
    exit: 'usage',
    message: `${path} cannot be read: no such file or directory`,
  });
});
