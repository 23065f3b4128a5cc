import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSealingKey } from '@svault/shared/sealed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CommandLine } from './command-line.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

let people: PairAndPeople;
let svault: PairAndPeople['admin']['svault'];

beforeAll(async () => {
  people = await pairAndPeople();
  ({ svault } = people.admin);
});
afterAll(() => people.close());

/** A file of the admin's. */
function file(name: string, text: string | Uint8Array): string {
  const path = join(people.admin.dir, name);
  writeFileSync(path, text);
  return path;
}

const rsaPem = (modulusLength: number): string =>
  generateKeyPairSync('rsa', {
    modulusLength,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  }).privateKey;

async function isThere(name: string): Promise<boolean> {
  const { code } = await svault(['tokens', 'show', name]);
  return code === 0;
}

describe('a secret comes back as it was stored', () => {
  test.each([
    ['plain', 's3cret'],
    ['with-umlauts', 'schlüssel 🔑 \u0000\u0001\u001b[31m'],
    ['of-lines', 'first\nsecond\n\n\tthird'],
    ['with-spaces', '  both ends  '],
    ['large', 'x'.repeat(64 * 1024)],
    ['with space & 100%', 'odd name'],
    ['日本', 'another name'],
  ])('%s, from stdin', async (name, secret) => {
    const added = await svault(['add', name], { input: `${secret}\n` });
    expect(added).toEqual({
      code: 0,
      out: '',
      err: `${name} is stored at ${new URL(people.pair.webhookUrl).host}\n`,
    });
    expect(await svault(['get', name])).toEqual({ code: 0, out: secret, err: '' });
  });

  test('short as it is, for a proxy, with --allow-short-secret', async () => {
    const args = ['add', 'pin', '--allow-host', 'a.example', '--allow-short-secret'];
    expect((await svault(args, { input: '482913' })).code).toBe(0);
  });

  test('from a file, and from the command line with a warning', async () => {
    const fromFile = await svault(['add', 'from-file', '--from-file', file('s', 'in a file\n')]);
    expect(fromFile.code).toBe(0);
    expect((await svault(['get', 'from-file'])).out).toBe('in a file');
    const argument = await svault(['add', 'argument', '--value', 'seen by all']);
    expect(argument).toMatchObject({ code: 0, err: expect.stringMatching(/^warning: other users/) });
    expect((await svault(['get', 'argument'])).out).toBe('seen by all');
  });
});

describe('each type', () => {
  test('JWT, with what it is refreshed with', async () => {
    const { code } = await svault(
      [
        ...['tokens', 'new', 'jwt', '--type', 'JWT'],
        ...['--field', `refreshToken=@${file('rt', 'the-refresh-token')}`],
        ...['--field', 'provider.tokenUrl=https://login.example/token', '--field', 'provider.clientId=c1'],
        ...['--field', 'shareRefreshToken=true', '--expires-at', '2036-01-01T00:00:00Z'],
      ],
      { input: 'the-access-token' },
    );
    expect(code).toBe(0);
    expect((await svault(['get', 'jwt'])).out).toBe('the-access-token');
    expect((await svault(['get', 'jwt', '--field', 'refreshToken'])).out).toBe('the-refresh-token');
    expect((await svault(['get', 'jwt', '--field', 'expiryTime'])).out).toBe('2036-01-01T00:00:00.000Z');
    const shown = JSON.parse((await svault(['show', 'jwt', '--format', 'json'])).out);
    expect(shown.webhook).toMatchObject({ hasRefreshToken: true, provider: { clientId: 'c1' } });
  });

  test('Certificate, whichever of its two parts is read', async () => {
    const key = file('key.pem', '-----BEGIN PRIVATE KEY-----\nQUJD\n-----END PRIVATE KEY-----\n');
    const chain = '-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n';
    const first = await svault(['add', 'cert', '--type', 'Certificate', '--field', `privateKey=@${key}`], {
      input: chain,
    });
    expect(first.code).toBe(0);
    expect((await svault(['get', 'cert'])).out).toBe(chain);
    expect((await svault(['get', 'cert', '--field', 'privateKey'])).out).toBe(readFileSync(key, 'utf8'));
    const certificate = `certificate=@${file('chain.pem', chain)}`;
    const args = ['add', 'cert-2', '--type', 'Certificate', '--field', certificate, '--from-file', key];
    expect((await svault(args)).code).toBe(0);
    expect((await svault(['get', 'cert-2', '--field', 'privateKey'])).out).toBe(readFileSync(key, 'utf8'));
    const neither = await svault(['add', 'cert-3', '--type', 'Certificate'], { input: chain });
    expect(neither).toMatchObject({ code: 2, err: expect.stringContaining('--field privateKey=@FILE') });
  });

  test('SSHKey, to its last line break, without which OpenSSH reads none', async () => {
    const { privateKey } = generateKeyPairSync('ed25519', {
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    const added = await svault(['add', 'ssh', '--type', 'SSHKey', '--from-file', file('id', privateKey)]);
    expect(added.code).toBe(0);
    expect((await svault(['get', 'ssh'])).out).toBe(privateKey);
    expect((await svault(['get', 'ssh', '--field', 'fingerprint'])).out).toMatch(/^SHA256:[\w+/]{43}$/);
  });

  test('TOTP, from base32 or from what a QR code says', async () => {
    const given = ['--type', 'TOTP', '--field', 'digits=8', '--field', 'period=60'];
    const plain = await svault(['add', 'totp', ...given], { input: 'JBSW Y3DP EHPK 3PXP' });
    expect(plain).toMatchObject({
      code: 0,
      err: expect.stringMatching(/^warning: this TOTP seed has 80 bits; RFC 4226 [^\n]*\n[^\n]*\n$/),
    });
    const long = { input: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ' };
    const quiet = await svault(['add', 'totp-3', '--type', 'TOTP'], long);
    expect(quiet).toMatchObject({ code: 0, err: expect.not.stringContaining('warning') });
    const uri = 'otpauth://totp/Acme:me?secret=JBSWY3DPEHPK3PXP&issuer=Acme&digits=8&period=60';
    expect((await svault(['add', 'totp-2', '--type', 'TOTP'], { input: uri })).code).toBe(0);
    const [one, other] = [await svault(['get', 'totp']), await svault(['get', 'totp-2'])];
    expect(one.out).toMatch(/^\d{8}$/);
    expect(other.out).toBe(one.out);
    expect((await svault(['get', 'totp', '--field', 'expiresIn'])).out).toMatch(/^\d+$/);
  });

  test('RawCredential, with a minter whose key alone is read', async () => {
    const fields = [
      'minter.type=github-app',
      'minter.appId=1',
      'minter.installationId=2',
      'minter.repositories=one,two',
      'minter.permissions={"contents":"read"}',
    ];
    const args = ['--type', 'RawCredential', ...fields.flatMap((field) => ['--field', field])];
    const added = await svault(['add', 'app', ...args], { input: rsaPem(2_048) });
    expect(added).toMatchObject({ code: 0, err: expect.not.stringContaining('warning') });
    const err = 'this cannot be stored: minter.privateKey: not an RSA key of 2048 to 8192 bits in PEM\n';
    for (const input of ['not a key', rsaPem(1_024)])
      expect(await svault(['add', 'app-2', ...args], { input })).toEqual({
        code: 2,
        out: '',
        err: `error: ${err}`,
      });
  });

  test('all of it from a file, but for the secret', async () => {
    const body = file(
      'body.json',
      JSON.stringify({ tokenType: 'RawCredential', allowedHosts: ['api.example'], delivery: 'any' }),
    );
    expect((await svault(['add', 'body', '--body', body], { input: 'the rest of it, 0189' })).code).toBe(0);
    expect((await svault(['get', 'body'])).out).toBe('the rest of it, 0189');
    const whole = JSON.stringify({ value: 'all of it' });
    expect((await svault(['add', 'body-2', '--body', '-'], { input: whole })).code).toBe(0);
    expect((await svault(['get', 'body-2'])).out).toBe('all of it');
  });
});

describe('what cannot be stored leaves nothing behind, and is not quoted', () => {
  const SECRET = 'dont-quote-0189';
  const x25519 = createSealingKey('X25519');
  const OKP = { kty: 'OKP', x: 'A'.repeat(43) };
  const recipient = (jwk: object): string[] => ['--recipient', JSON.stringify(jwk)];
  test.each<[string, string[], RegExp]>([
    ['no base32', ['--type', 'TOTP'], /secret: not base32/],
    ['a host that is none', ['--allow-host', 'a_b.example'], /`--allow-host` must be host, host:port/],
    ['a delivery that does not fit', ['--delivery', 'proxy-only', '--allow-host', '*'], /allowedHosts/],
    ['sealed for nobody', ['--delivery', 'sealed'], /recipients/],
    ['a field that the type lacks', ['--field', 'refreshToken=x'], /refreshToken/],
    ['a minter that is none', ['--type', 'RawCredential', '--field', 'minter.type=azure'], /minter\.type/],
    ['a time that is none', ['--expires-at', 'soon'], /expiryTime: not a time/],
    [
      'no host beside a host',
      ['--allow-host', 'none', '--allow-host', 'a.example'],
      /none cannot be combined/,
    ],
    ['nothing to store, and a secret', ['--empty', '--value', 'x'], /--empty stores nothing/],
    ['nothing to store, and a setting', ['--empty', '--allow-short-secret'], /--empty stores nothing/],
    ['a short secret for a proxy', ['--allow-host', 'a.example'], /80 bits.*--allow-short-secret/],
    ['a recipient that is a private key', recipient(x25519.privateJwk.reveal()), /that is a private key/],
    ['a recipient that agrees on zeros', recipient({ ...OKP, crv: 'X25519' }), /not a public JWK/],
    ['a recipient that signs', recipient({ ...OKP, crv: 'Ed25519' }), /not a public JWK/],
    ['a recipient of another curve', recipient({ ...x25519.publicJwk, kty: 'EC' }), /not a public JWK/],
  ])('%s', async (what, args, said) => {
    const name = `bad ${what}`;
    const { code, out, err } = await svault(['add', name, ...args], { input: SECRET });
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(said);
    expect(err).not.toContain(SECRET);
    expect(err.trim().split('\n').length).toBeLessThanOrEqual(2);
    expect(await isThere(name)).toBe(false);
  });

  test('a body that is no JSON, or says something twice', async () => {
    for (const text of [`{"value":"${SECRET}"`, `{"value":"${SECRET}","value":"x"}`, `["${SECRET}"]`]) {
      const { code, err } = await svault(['add', 'no-body', '--body', file('bad.json', text)]);
      expect(code).toBe(2);
      expect(err).not.toContain(SECRET);
    }
    const twice = ['--body', file('ok.json', '{"value":"x","delivery":"any"}'), '--delivery', 'any'];
    expect((await svault(['add', 'no-body', ...twice])).err).toContain('delivery is given twice');
  });

  test.each(['--value', '--from-file'])(
    'a record that is whole, and a secret beside it: %s',
    async (flag) => {
      const other = flag === '--value' ? 'another' : file('other', 'another');
      const input = '{"tokenType":"PlainText","value":"whole"}';
      const { code, out, err } = await svault(['add', 'x', '--body', '-', flag, other], { input });
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(err).toContain(`${flag} is one secret too many`);
      expect(err).not.toContain('another');
    },
  );

  test('a field’s file that is no text, which is named', async () => {
    const path = file('binary', Buffer.from([0xff, 0xfe, 0x00]));
    const args = ['add', 'x', '--type', 'SSHKey', '--field', `privateKey=@${path}`];
    const err = `error: ${path} is not UTF-8 text; encode it in base64 first\n`;
    expect(await svault(args)).toEqual({ code: 2, out: '', err });
  });

  test('names that are none', async () => {
    for (const name of ['a/b', '', '.', 'x'.repeat(129), 'a\u001b[31m'])
      expect(await svault(['add', name], { input: 'x' })).toMatchObject({
        code: 2,
        err: expect.stringMatching(/is not a name of a credential/),
      });
  });
});

describe('a name that is taken', () => {
  test('says how to go on, and changes nothing', async () => {
    await svault(['add', 'taken'], { input: 'first' });
    const { code, err } = await svault(['add', 'taken'], { input: 'second' });
    expect(code).toBe(1);
    expect(err).toMatch(/there is a credential taken already: svault set taken.*\[CONFLICT/);
    expect((await svault(['get', 'taken'])).out).toBe('first');
  });
});

describe('the formats', () => {
  test('of add and get', async () => {
    const added = await svault(['add', 'formats', '--format', 'json', '--tags', 'a, b', '--name', 'F'], {
      input: 's',
    });
    const json = JSON.parse(added.out);
    expect(json).toMatchObject({
      token: { serviceName: 'formats', displayName: 'F', tags: ['a', 'b'] },
      stored: { version: 1 },
    });
    expect(added.out).not.toContain('ticket');
    expect((await svault(['add', 'formats-2', '--format', 'name'], { input: 's' })).out).toBe('formats-2\n');
    const got = await svault(['get', 'formats', '--format', 'json']);
    expect(JSON.parse(got.out)).toMatchObject({ accessToken: 's', serviceName: 'formats' });
    expect((await svault(['get', 'formats', '--format', 'name'])).out).toBe('formats\n');
    const field = await svault(['get', 'formats', '--field', 'tokenType', '--format', 'json']);
    expect(field.out).toBe('"PlainText"\n');
  });

  test('a field that did not come', async () => {
    await svault(['add', 'fields'], { input: 'do-not-show' });
    const { code, out, err } = await svault(['get', 'fields', '--field', 'refreshToken']);
    expect({ code, out }).toEqual({ code: 4, out: '' });
    expect(err).toMatch(/comes without refreshToken; it has accessToken, /);
    expect(err).not.toContain('do-not-show');
    for (const name of ['toString', '__proto__', 'constructor'])
      expect((await svault(['get', 'fields', '--field', name])).code).toBe(4);
  });
});

/** An agent that signed in by its key, and the public key that this made. */
async function signedIn(
  name: string,
  service: string,
  ...more: readonly string[]
): Promise<{ readonly line: CommandLine; readonly jwk: string }> {
  const { key } = await people.agent(name, service);
  const line = people.stranger();
  const args = ['login', '--key', '-', '--base-url', people.pair.controlPlaneUrl(), ...more];
  const { code, out } = await line.svault(args, { input: key });
  expect(code).toBe(0);
  return { line, jwk: out.trim() };
}

test('a sealed credential is opened by the login that it is for, and by no other', async () => {
  const { line, jwk } = await signedIn('reader', 'sealed');
  const other = await signedIn('other', 'sealed');
  const stored = await svault(['add', 'sealed', '--recipient', jwk], { input: 'for one alone' });
  expect(stored).toMatchObject({ code: 0 });
  for (const who of [line, people.admin])
    expect(await who.svault(['get', 'sealed'])).toMatchObject({
      code: 3,
      out: '',
      err: expect.stringMatching(/DELIVERY_NOT_ALLOWED/),
    });
  expect(await svault(['agents', 'edit', 'reader', '--sealing-key', jwk])).toMatchObject({ code: 0 });
  expect(await line.svault(['get', 'sealed'])).toEqual({ code: 0, out: 'for one alone', err: '' });
  expect(await line.svault(['get', '--check', 'sealed'])).toMatchObject({ code: 0, out: '' });
  const json = JSON.parse((await line.svault(['get', 'sealed', '--format', 'json'])).out);
  expect(json).toMatchObject({ accessToken: 'for one alone', serviceName: 'sealed' });
  expect(people.pair.recorded().toString('latin1')).not.toContain(`"accessToken":"for one alone"`);

  // The control plane says that another agent has the reader's key: what it gets, it cannot open.
  await svault(['agents', 'edit', 'other', '--sealing-key', jwk]);
  expect(await other.line.svault(['get', 'sealed'])).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(/came sealed to another key than the one that .* keeps/),
  });
});

test.each(['P-256', 'P-384', 'X25519'])(
  'a credential that is sealed to a key of %s is opened by the login that made the key',
  async (curve) => {
    const [name, service] = [`of-${curve}`, `sealed-to-${curve}`];
    const { line, jwk } = await signedIn(name, service, '--sealing-curve', curve);
    expect(JSON.parse(jwk)).toMatchObject({ crv: curve });
    const stored = await svault(['add', service, '--recipient', jwk], { input: 'for one alone' });
    expect(stored).toMatchObject({ code: 0 });
    expect(await svault(['agents', 'edit', name, '--sealing-key', jwk])).toMatchObject({ code: 0 });
    expect(await line.svault(['get', service])).toEqual({ code: 0, out: 'for one alone', err: '' });
    expect(people.pair.recorded().toString('latin1')).not.toContain('"accessToken":"for one alone"');
  },
);

test('a sealing curve is for agents alone', async () => {
  const args = ['login', '--sealing-curve', 'X25519', '--base-url', people.pair.controlPlaneUrl()];
  const line = people.stranger();
  expect(await line.svault(args)).toMatchObject({ code: 2, err: expect.stringContaining('--sealing-curve') });
  const byKey = await line.svault([...args, '--key', '-'], { input: people.pair.adminKey });
  expect(byKey).toMatchObject({ code: 2, err: expect.stringContaining('--sealing-curve') });
});

test('a login without a sealing key says how to get one', async () => {
  const { publicJwk } = createSealingKey();
  const jwk = JSON.stringify(publicJwk);
  await svault(['add', 'sealed-2', '--recipient', jwk], { input: 'x' });
  const agent = await people.agent('keyless', 'sealed-2');
  await svault(['agents', 'edit', 'keyless', '--sealing-key', jwk]);
  expect(await agent.svault(['get', 'sealed-2'])).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(/came sealed, and env keeps no key that opens it: svault login --key/),
  });
});
