import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Outcome } from './command-line.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

let people: PairAndPeople;
const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2_048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
beforeAll(async () => {
  people = await pairAndPeople();
  const file = {
    type: 'service_account',
    client_email: 'a@b.iam.gserviceaccount.com',
    private_key: privateKey,
  };
  writeFileSync(join(people.admin.dir, 'key.json'), JSON.stringify(file));
  writeFileSync(join(people.admin.dir, 'app.pem'), privateKey);
});
afterAll(() => people.close());

const add = (...args: readonly string[]): Promise<Outcome> =>
  people.admin.svault(['add', ...args].map((word) => word.replace('FILES', people.admin.dir)));

/** What would be stored, without its secrets. */
async function recordOf(...args: readonly string[]): Promise<object> {
  const { code, out, err } = await add(...args, '--dry-run', '--json');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const requests = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly body: object });
  return requests.at(-1)?.body ?? {};
}

const APP = [
  '--field',
  'minter.appId=12',
  '--field',
  'minter.installationId=34',
  '--from-file',
  'FILES/app.pem',
];

test.each([
  ['gcp', 'gcp-service-account', ['--from-file', 'FILES/key.json'], 'RawCredential'],
  ['app', 'github-app', APP, 'RawCredential'],
  [
    'crm',
    'oauth-google',
    [
      '--field',
      'provider.clientId=x',
      '--field',
      'accessToken=0123456789abcdef0123',
      '--field',
      'refreshToken=r',
    ],
    'JWT',
  ],
])(
  'svault add %s --preset %s stores a record of its kind at the webhook',
  async (name, preset, args, tokenType) => {
    expect(await add(name, '--preset', preset, ...args)).toMatchObject({ code: 0 });
    const { out } = await people.admin.svault(['show', name, '--json']);
    expect(JSON.parse(out)).toMatchObject({ tokenType, webhook: { tokenType, empty: false } });
  },
);

test('an OAuth preset brings the token endpoint, and a field on the command line goes before what a preset says', async () => {
  const client = ['--field', 'provider.clientId=x', '--field', 'accessToken=0123456789abcdef0123'];
  await add('mail', '--preset', 'oauth-google', ...client);
  const { out } = await people.admin.svault(['show', 'mail', '--json']);
  const provider = { tokenUrl: 'https://oauth2.googleapis.com/token', clientId: 'x' };
  expect(JSON.parse(out)).toMatchObject({ webhook: { provider } });
  const other = ['--field', 'provider.tokenUrl=https://id.example/token'];
  await add('own', '--preset', 'oauth-google', ...other, ...client);
  const { out: own } = await people.admin.svault(['show', 'own', '--json']);
  expect(JSON.parse(own)).toMatchObject({ webhook: { provider: { tokenUrl: 'https://id.example/token' } } });
});

test('a person is asked for what a preset needs, the secret last and without an echo', async () => {
  const stdin = Object.assign(new PassThrough(), { setRawMode: () => undefined });
  const answers = ['AKIAEXAMPLE\n', '\n', 'eu-central-1\n', 'a-secret-access-key-of-aws\r'];
  const onErr = (said: string): void => {
    const asked =
      said.match(/AKIA…\): |\/… \(empty: none\): |eu-central-1 \(empty: none\): |key of aws: /g)?.length ?? 0;
    while (answers.length > 4 - asked) stdin.write(answers.shift() ?? '');
  };
  const { code, err } = await people.admin.svault(['add', 'aws', '--preset', 'aws-sts'], {
    stdin,
    isPerson: true,
    onErr,
  });
  expect({ code, err }).toEqual({ code: 0, err: expect.stringMatching(/aws is stored at /) as string });
  expect(err).not.toContain('a-secret-access-key-of-aws');
});

test.each([
  [['aws', '--preset', 'aws-sts'], 'the preset aws-sts needs --field minter.accessKeyId=…'],
  [['app', '--preset', 'github-app'], 'needs --field minter.appId=… and --field minter.installationId=…'],
  [
    ['x', '--preset', 'gcp-service-account', '--from-file', 'FILES/app.pem'],
    'that is not the key file of a service account',
  ],
  [
    ['x', '--preset', 'oauth', '--type', 'TOTP', ...['--field', 'provider.tokenUrl=https://a.example']],
    'provider.clientId',
  ],
  [['x', '--preset', 'aws'], 'Allowed choices are aws-sts, gcp-service-account, github-app, oauth'],
])('svault add %j names nothing at the control plane: exit 2', async (args, said) => {
  const { code, out, err } = await add(...args);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain(said);
  expect(err).not.toContain('PRIVATE KEY');
});

test('under --dry-run a preset shows the names of its members and no secret', async () => {
  const record = await recordOf('gcp', '--preset', 'gcp-service-account', '--from-file', 'FILES/key.json');
  expect(record).toEqual({ tokenType: 'RawCredential', minter: '…' });
});
