import { expect, test } from 'vitest';
import { killBackups, killRotations } from '../support/command-kills.ts';

// At length: command-kills.sqlite.hard.test.ts.

test('a backup that is killed at any moment leaves no half file, and is made by running it again', async () => {
  await expect(killBackups(6)).resolves.toBeUndefined();
});

test('a rotation that is killed at any moment loses no key, and is finished by running it again', async () => {
  await expect(killRotations(5)).resolves.toBeUndefined();
});
