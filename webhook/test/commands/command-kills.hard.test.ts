/** R20 at length: backups and rotations of the root key, killed at any moment, beside a serve that stores and delivers. */
import { expect, test } from 'vitest';
import { killBackups, killRotations } from '../support/command-kills.ts';

test('100 killed backups leave no half file, and each is made by running it again', async () => {
  await expect(killBackups({ kills: 100, records: 100 })).resolves.toBeUndefined();
});

test('100 killed rotations lose no record, and each is finished by running it again', async () => {
  expect(await killRotations({ kills: 100, records: 400 })).toBeGreaterThan(0);
});
