import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Failure } from '../src/failure.ts';
import { someone } from './command-line.ts';
import { type WholeProject, writeProject } from '../src/webhook-project/write-project.ts';

let root: string;
let folder: string;
beforeEach(() => {
  root = someone().dir;
  folder = join(root, 'a', 'b');
});

const project = (more: Partial<WholeProject> = {}): WholeProject => ({
  folder,
  files: [
    { path: 'compose.yaml', text: 'new\n' },
    { path: 'tunnel/serve.json', text: '{}\n' },
  ],
  secrets: [{ path: 'secrets/master.key', secret: 'made\n' }],
  privateFolders: ['secrets', 'state'],
  giveTo: undefined,
  ...more,
});
const write = (what: WholeProject, replacing = false, signal = new AbortController().signal): Promise<void> =>
  writeProject(what, { replacing, signal });
const modeOf = (path: string): number => statSync(join(folder, path)).mode & 0o777;
const everything = (): string[] => readdirSync(root, { recursive: true, encoding: 'utf8' }).toSorted();
const usage = (said: RegExp): Partial<Failure> => ({
  exit: 'usage',
  message: expect.stringMatching(said) as string,
});

describe('writeProject', () => {
  it('writes the whole project, the secrets for their owner alone, under every umask', async () => {
    const before = process.umask(0o077);
    try {
      await write(project());
    } finally {
      process.umask(before);
    }
    expect(everything()).toEqual([
      'a',
      'a/b',
      'a/b/compose.yaml',
      'a/b/secrets',
      'a/b/secrets/master.key',
      'a/b/state',
      'a/b/tunnel',
      'a/b/tunnel/serve.json',
    ]);
    expect(['.', 'secrets', 'state', 'secrets/master.key'].map(modeOf)).toEqual([0o700, 0o700, 0o700, 0o600]);
    expect(['tunnel', 'tunnel/serve.json', 'compose.yaml'].map(modeOf)).toEqual([0o755, 0o644, 0o644]);
  });

  it('overwrites no file without force, and no secret at all, and leaves no new file then', async () => {
    await write(project());
    const before = everything();
    writeFileSync(join(folder, 'compose.yaml'), 'mine\n');
    await expect(write(project({ secrets: [] }))).rejects.toMatchObject({ exit: 'failed' });
    expect(readFileSync(join(folder, 'compose.yaml'), 'utf8')).toBe('mine\n');
    const secrets = [{ path: 'secrets/master.key', secret: 'other\n' }];
    await expect(write(project({ secrets }), true)).rejects.toMatchObject({ exit: 'failed' });
    expect(readFileSync(join(folder, 'secrets/master.key'), 'utf8')).toBe('made\n');
    await write(project({ secrets: [] }), true);
    expect(readFileSync(join(folder, 'compose.yaml'), 'utf8')).toBe('new\n');
    expect(everything()).toEqual(before);
  });

  it('takes the place of a link instead of writing to where it leads', async () => {
    const elsewhere = join(root, 'elsewhere');
    writeFileSync(elsewhere, 'theirs\n');
    mkdirSync(folder, { recursive: true });
    symlinkSync(elsewhere, join(folder, 'compose.yaml'));
    await write(project(), true);
    expect(readFileSync(elsewhere, 'utf8')).toBe('theirs\n');
    expect(readFileSync(join(folder, 'compose.yaml'), 'utf8')).toBe('new\n');
  });

  it.each([
    ['a link', () => symlinkSync(root, join(folder, 'secrets')), /is not a folder, or is a link to one/],
    [
      'open to others',
      () => mkdirSync(join(folder, 'secrets'), { mode: 0o755 }),
      /others may look into .*chmod 700/,
    ],
  ])('puts no secret into a folder that is %s', async (_what, prepare, said) => {
    mkdirSync(folder, { recursive: true });
    prepare();
    const before = everything();
    await expect(write(project())).rejects.toMatchObject(usage(said));
    expect(everything()).toEqual(before);
  });

  it.each([0o777, 0o770])('makes no project where others may change it (mode %o)', async (mode) => {
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, mode);
    await expect(write(project())).rejects.toMatchObject(usage(/changed by others \(chmod go-w /));
    expect(readdirSync(folder)).toEqual([]);
  });

  it('leaves nothing, not even folders, where one file cannot be written or Ctrl-C comes', async () => {
    const impossible = { path: `tunnel/${'x'.repeat(300)}`, text: '' };
    const failing = project({ files: [{ path: 'compose.yaml', text: '' }, impossible] });
    mkdirSync(join(root, 'there'));
    // Its place is taken only in the very last step.
    mkdirSync(join(root, 'there', 'tunnel', 'serve.json'), { recursive: true });
    await expect(write(failing)).rejects.toMatchObject({
      exit: 'failed',
      message: expect.stringContaining(folder) as string,
    });
    await expect(write(project({ folder: join(root, 'there') }))).rejects.toMatchObject({
      exit: 'failed',
    });
    await expect(write(project(), false, AbortSignal.abort())).rejects.toThrow();
    expect(existsSync(folder)).toBe(false);
    expect(everything()).toEqual(['there', 'there/tunnel', 'there/tunnel/serve.json']);
  });
});
