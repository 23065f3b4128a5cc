import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, expect, test } from 'vitest';
import { IMAGES, NODE_IMAGE } from '../../compose/test/containers/engine/images.ts';
import { ROOT } from '../packing/pack.ts';
import { buildImage, IMAGE_NAMES, imageDifferences, removeImage } from './images.ts';

const dir = tempDir();
afterAll(() => dir.remove());

const [checkout, work] = [join(dir.path, 'another-folder'), join(dir.path, 'work')];
mkdirSync(work);
cpSync(ROOT, checkout, {
  recursive: true,
  filter: (path) => !['node_modules', 'dist', '.git'].includes(basename(path)),
});
// As another umask leaves it.
execFileSync('chmod', ['-R', 'g+w,o=', checkout]);

test.each(IMAGE_NAMES)(
  'the image of %s is the same as one built later, in another folder with other modes, but for times',
  (name) => {
    const tag = `svault-${name}:built-later-${process.pid}`;
    buildImage(checkout, name, tag);
    try {
      const found = imageDifferences([IMAGES[name], tag], { newest: 0, work });
      // The first one is labelled by the library that builds it.
      expect(found.filter((line) => !line.startsWith('setting Labels:'))).toEqual([]);
    } finally {
      removeImage(tag);
    }
  },
);

test('two images differ where a file has another content, mode, owner, time or target, is in one only, or a setting is another', () => {
  const build = (made: string, script: string): string => {
    const folder = join(dir.path, made);
    mkdirSync(join(folder, 'compose'), { recursive: true });
    writeFileSync(
      join(folder, 'compose/setup.Dockerfile'),
      `FROM ${NODE_IMAGE}\nENV MADE=${made}\nRUN mkdir /made && cd /made && touch same && ${script}\n`,
    );
    const tag = `svault-setup:${made}-${process.pid}`;
    buildImage(folder, 'setup', tag);
    return tag;
  };
  const tags: [string, string] = [
    build('one', 'echo one > content; touch -m -d @1 time; touch mode owner; ln -s one link'),
    build(
      'other',
      'echo two > content; touch -m -d @2 time; touch mode owner; ln -s two link; chmod 600 mode; chown 1 owner; touch added',
    ),
  ];
  try {
    const found = imageDifferences(tags, { newest: 1_000, work });
    expect(
      found.map((line) => /^(?:setting |layer \d+, )(?<what>.+?): /.exec(line)?.groups?.['what']),
    ).toEqual([
      'Env',
      ...['added', 'content', 'link -> one', 'link -> two', 'mode', 'owner', 'time'].map(
        (path) => `made/${path}`,
      ),
    ]);
  } finally {
    tags.forEach(removeImage);
  }
});
