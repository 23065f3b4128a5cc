import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from '@svault/test-kit/temp-dir';
import { expect, onTestFinished, test } from 'vitest';
import { hasSection } from './checks.ts';
import { checksumLines, checksumsOf, differences } from './checksums.ts';

function folder(files: Readonly<Record<string, string>>): string {
  const dir = tempDir();
  onTestFinished(() => dir.remove());
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(dir.path, path, '..'), { recursive: true });
    writeFileSync(join(dir.path, path), content);
  }
  return dir.path;
}

test('sha256sum accepts the checksums of a folder, hidden files among them', () => {
  const dir = folder({ 'b/c.txt': 'one', 'a.txt': 'two', '.hidden/d': '' });
  const checksums = checksumsOf(dir);
  expect([...checksums.keys()]).toEqual(['.hidden/d', 'a.txt', 'b/c.txt']);
  const said = execFileSync('sha256sum', ['--check', '--strict'], {
    cwd: dir,
    input: checksumLines(checksums),
    encoding: 'utf8',
  });
  expect(said).toBe('.hidden/d: OK\na.txt: OK\nb/c.txt: OK\n');
});

test('two builds differ where a file is in one only, has other bytes, or is a link elsewhere', () => {
  const [one, other] = [
    folder({ same: '1', changed: '1', removed: '1' }),
    folder({ same: '1', changed: '2', added: '1' }),
  ];
  symlinkSync('same', join(one, 'link'));
  symlinkSync('changed', join(other, 'link'));
  expect(differences(checksumsOf(one), checksumsOf(other))).toEqual(['added', 'changed', 'link', 'removed']);
  expect(differences(checksumsOf(one), checksumsOf(one))).toEqual([]);
});

test('a changelog has a section of a version by its whole number', () => {
  expect(hasSection('# Changelog\n\n## 0.1.0 (unreleased)\n', '0.1.0')).toBe(true);
  expect(hasSection('# Changelog\n\n## 0.1.01\n\nSince 0.1.0.\n', '0.1.0')).toBe(false);
});
