import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, describe, expect, test } from 'vitest';
import { readSecret } from '../src/secret-input/read-secret.ts';

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
  let err = '';
  const secret = await readSecret(
    {
      flags: { format: 'table', color: true },
      terminal: {
        out: () => expect.unreachable(),
        err: (text) => void (err += text),
        stdin: Readable.from(stdin, { objectMode: false }),
        interactive: { in: false, out: false, err: false },
        columns: undefined,
      },
      color: false,
      env: {},
      signal: new AbortController().signal,
    },
    { question: 'Secret', ...source },
  );
  return { secret, err };
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
    const message = expect.stringContaining('no UTF-8');
    await expect(read({}, [Uint8Array.of(0xff, 0xfe, 0x41)])).rejects.toMatchObject({
      exit: 'usage',
      message,
    });
    const path = file('binary', Uint8Array.of(0xc0, 0x80));
    await expect(read({ file: path })).rejects.toMatchObject({ exit: 'usage', message });
  });

  test('is not waited for after Ctrl-C', async () => {
    mkdirSync(join(dir.path, 'waiting'));
    const interruption = new AbortController();
    const waiting = readSecret(
      {
        flags: { format: 'table', color: true },
        terminal: {
          out: () => undefined,
          err: () => undefined,
          stdin: new Readable({ read: () => interruption.abort() }),
          interactive: { in: false, out: false, err: false },
          columns: undefined,
        },
        color: false,
        env: {},
        signal: interruption.signal,
      },
      { question: 'Secret' },
    );
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
  });
});
