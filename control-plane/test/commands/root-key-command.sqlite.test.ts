import { join } from 'node:path';
import { randomToken } from '@svault/shared';
import { ageKeyCommand } from '@svault/test-kit/age-key-command';
import { expect, test } from 'vitest';
import { command, program } from '../support/run-program.ts';
import { serviceInTest } from '../support/use-service.ts';

test('commands that print root keys are run once each, and a rotation moves from one to the other', async () => {
  const { place } = await serviceInTest();
  const { SV_MASTER_KEY: present = '', ...others } = place.env;
  const root = ageKeyCommand(join(place.folder, 'root'), present);
  const next = ageKeyCommand(join(place.folder, 'next'), randomToken(32));
  const { PATH = '' } = process.env;
  const env = { ...others, PATH, SV_MASTER_KEY_COMMAND: root.command };
  const rotating = { ...env, SV_MASTER_KEY_NEXT_COMMAND: next.command };
  expect(await program(rotating, 'rotate-master-key')).toEqual({
    code: 0,
    stdout:
      'The root key is rotated. Have the command of SV_MASTER_KEY_COMMAND print the new key before the next start.\n',
    stderr: '',
  });
  expect([root.runs(), next.runs()]).toEqual([1, 1]);
  expect((await command({ ...env, SV_MASTER_KEY_COMMAND: next.command }, 'owner-link')).code).toBe(0);
  expect((await command(env, 'owner-link')).stderr).toContain('SV_MASTER_KEY does not open this database');
});
