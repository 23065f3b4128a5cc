import { expect, it } from 'vitest';
import { killBackups, killRotations } from '../support/command-kills.ts';

// At length: command-kills.hard.test.ts.

it('a backup that is killed at any moment leaves no half file, and is made by running it again', async () => {
  await expect(killBackups({ kills: 6, records: 50 })).resolves.toBeUndefined();
});

it('a rotation that is killed at any moment loses no record, and is finished by running it again', async () => {
  await expect(killRotations({ kills: 5, records: 50 })).resolves.toBeDefined();
});
