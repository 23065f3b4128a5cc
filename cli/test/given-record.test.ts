import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newKey } from '@svault/shared';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CommandLine, type Outcome, commandLine } from './command-line.ts';

let admin: CommandLine;
beforeAll(() => {
  // Nothing is asked of it: what is wrong is found out before.
  admin = commandLine({ SVAULT_BASE_URL: 'http://127.0.0.1:1', SVAULT_KEY: newKey('svadmin') });
});
afterAll(() => admin.remove());

const BODY = '{"tokenType":"PlainText","value":"whole"}';
const add = (...args: string[]): Promise<Outcome> => admin.svault(['add', 'x', ...args], { input: BODY });

test.each([['--value'], ['--from-file']])(
  'a record that is whole takes no secret beside it: %s',
  async (flag) => {
    const file = join(admin.dir, 'other');
    writeFileSync(file, 'another');
    const { code, out, err } = await add('--body', '-', flag, flag === '--value' ? 'another' : file);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(`${flag} is one secret too many`);
    expect(err).not.toContain('another');
  },
);

test('a minter’s key that is too short to sign with is refused here', async () => {
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 1_024,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const minter = { type: 'github-app', appId: '1', installationId: '2', privateKey };
  const input = JSON.stringify({ tokenType: 'RawCredential', minter });
  expect(await admin.svault(['add', 'x', '--body', '-'], { input })).toEqual({
    code: 2,
    out: '',
    err: 'error: this cannot be stored: minter.privateKey: not an RSA key of 2048 to 8192 bits in PEM\n',
  });
});

test('a field’s file that is no text is named', async () => {
  const file = join(admin.dir, 'binary');
  writeFileSync(file, Buffer.from([0xff, 0xfe, 0x00]));
  const { code, out, err } = await add('--type', 'SSHKey', '--field', `privateKey=@${file}`);
  expect({ code, out, err }).toEqual({
    code: 2,
    out: '',
    err: `error: ${file} is no UTF-8 text; put it into base64 first\n`,
  });
});
