import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, describe, expect, test } from 'vitest';
import { readStreamBounded } from '../src/secret-input/read-bounded.ts';
import { readSecret } from '../src/secret-input/read-secret.ts';
import { invocationAt, seat } from './command-line.ts';

const dir = tempDir();
afterAll(() => dir.remove());
const file = (name: string, content: string | Uint8Array): string => {
  const path = join(dir.path, name);
  writeFileSync(path, content);
  return path;
};

/** @param stdin bytes, in the chunks in which they come */
async function read(
  source: { readonly file?: string; readonly argument?: string },
  stdin: readonly Uint8Array[] = [],
): Promise<{ readonly secret: string; readonly err: string }> {
  const { said, terminal } = seat({ stdin: Readable.from(stdin, { objectMode: false }) });
  const secret = await readSecret(invocationAt({ terminal }), { question: 'Secret', ...source });
  expect(said.out).toBe('');
  return { secret, err: said.err };
}
const bytes = (text: string): Uint8Array => Buffer.from(text);

describe('a secret', () => {
  test.each([
    ['abc', 'abc'],
    ['abc\n', 'abc'],
    ['abc\r\n', 'abc'],
    ['abc\n\n', 'abc\n'],
    ['\n abc \t\n', '\n abc \t'],
    ['\ufeffabc', '\ufeffabc'],
    ['a\u0000b', 'a\u0000b'],
    ['x'.repeat(64 * 1024), 'x'.repeat(64 * 1024)],
    [`${'x'.repeat(64 * 1024)}\r\n`, 'x'.repeat(64 * 1024)],
  ])('%.20j comes as it is but for one line break at the end', async (content, secret) => {
    expect(await read({}, [bytes(content)])).toEqual({ secret, err: '' });
    expect(await read({ file: '-' }, [bytes(content)])).toEqual({ secret, err: '' });
    expect(await read({ file: file('secret', content) }, [bytes('other')])).toEqual({ secret, err: '' });
  });

  test('may come in pieces that cut a character', async () => {
    const [first, ...others] = Buffer.from('😀');
    expect((await read({}, [Buffer.from([first ?? 0]), Buffer.from(others)])).secret).toBe('😀');
  });

  test('of a pipe that a shell made is read as a file', async () => {
    const path = join(dir.path, 'pipe');
    const made = execFile('sh', ['-c', `mkfifo '${path}' && echo made && printf s3cret > '${path}'`]);
    await new Promise((resolve) => made.stdout?.once('data', resolve));
    expect((await read({ file: path })).secret).toBe('s3cret');
  });

  test('of the command line comes with one line of warning', async () => {
    const { secret, err } = await read({ argument: 's3cret' });
    expect(secret).toBe('s3cret');
    expect(err).toMatch(/^warning: .*\n$/);
    expect(err).not.toContain('s3cret');
  });

  test.each([
    ['none', {}, '', /nothing came from stdin/],
    ['an empty line', {}, '\n', /nothing came from stdin/],
    ['an empty argument', { argument: '' }, '', /nothing came from the command line/],
    ['more than 64 KiB', {}, 'x'.repeat(64 * 1024 + 1), /64 KiB/],
    ['far more', {}, 'x'.repeat(1024 * 1024), /64 KiB/],
    ['two sources', { argument: 'a', file: '-' }, 'b', /not both/],
    ['a file that is not there', { file: join(dir.path, 'none') }, '', /none cannot be read: no such file/],
    ['a folder', { file: dir.path }, '', /cannot be read: .*directory/],
  ])('%s: exit 2', async (_what, source, stdin, said) => {
    await expect(read(source, stdin === '' ? [] : [bytes(stdin)])).rejects.toMatchObject({
      exit: 'usage',
      message: expect.stringMatching(said),
    });
  });

  test('that is no text: exit 2, since it would be delivered as something else', async () => {
    const refused = { exit: 'usage', message: expect.stringContaining('not UTF-8') as string };
    await expect(read({}, [Uint8Array.of(0xff, 0xfe, 0x41)])).rejects.toMatchObject(refused);
    const path = file('binary', Uint8Array.of(0xc0, 0x80));
    await expect(read({ file: path })).rejects.toMatchObject(refused);
  });

  test('that has no end is given up', async () => {
    const stdin = Readable.from(
      (function* (): Iterable<Buffer> {
        for (;;) yield Buffer.alloc(7_000);
      })(),
    );
    const { signal } = new AbortController();
    await expect(readStreamBounded(stdin, 1_024, signal)).rejects.toMatchObject({
      exit: 'usage',
      message: expect.stringMatching(/^that is more than 1 KiB/) as string,
    });
    expect(stdin.destroyed).toBe(true);
  });

  test('is not waited for after Ctrl-C', async () => {
    const interruption = new AbortController();
    const { terminal } = seat({ stdin: new Readable({ read: () => interruption.abort() }) });
    const waiting = readSecret(invocationAt({ terminal }, interruption), { question: 'Secret' });
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
  });
});
