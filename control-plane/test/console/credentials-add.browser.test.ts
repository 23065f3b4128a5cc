import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from '@svault/test-kit/temp-dir';
import { encodeQR } from 'qr';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { useConsole } from '../support/console.ts';
import { agentOn } from '../support/pair-agents.ts';

const own = useConsole();
const files = tempDir();
afterAll(() => files.remove());

let name: string;
let count = 0;
beforeEach(() => {
  name = `added-${++count}`;
});

const { field } = own;
const submit = (label = 'Store') => own.button(label).click();

/** Opens the form of a kind, from the list as a person does, and gives the credential its name. */
async function openForm(kind: string): Promise<void> {
  await own.open('/credentials');
  await own.link('Add credential').click();
  await own.page.getByRole('link', { name: kind }).click();
  await field('Name').fill(name);
}

/** The page of the credential, once its secret is stored. */
async function stored(): Promise<Record<string, unknown>> {
  await own.page.waitForURL(own.address(`/credentials/${name}`));
  await own.page.getByText('1, stored').waitFor();
  return (await own.service.admin('GET', `/api/tokens/${name}`)).json as Record<string, unknown>;
}

/** What an agent with a grant gets. */
async function fetched(): Promise<Record<string, unknown>> {
  await stored();
  const agent = await agentOn(own.service.pair, name);
  const { status, json } = await agent.fetch(name);
  expect(status).toBe(200);
  return json.token as Record<string, unknown>;
}

/** What is said beside a field, also to assistive technology. */
async function expectBeside(label: string, text: string): Promise<void> {
  const said = async (): Promise<string | null> => {
    const ids = ((await field(label).getAttribute('aria-describedby')) ?? '').split(' ');
    return own.page.locator(`[id="${ids.at(-1)}"]`).textContent();
  };
  await expect.poll(() => field(label).getAttribute('aria-invalid')).toBe('true');
  await expect.poll(said).toContain(text);
}

const tokenRequests = () =>
  own.requested.filter(
    (request) => request.method() === 'POST' && new URL(request.url()).pathname.startsWith('/api/tokens'),
  );

const rsaKey = (type: 'pkcs1' | 'pkcs8', modulusLength = 2_048): string =>
  generateKeyPairSync('rsa', { modulusLength }).privateKey.export({ type, format: 'pem' }).toString();

describe('a credential is added by the form of its kind, and an agent fetches it:', () => {
  test('an API key', async () => {
    await openForm('API key or password');
    await own.expectSound('credential-add-text');
    await field('Description').fill('Two\nlines');
    await field('Secret').fill('a value of a test, with "quotes" and ü\n');
    await field('Hosts').fill('https://api.example.com/\napi.example.org:8443');
    await submit();
    expect(await fetched()).toMatchObject({ accessToken: 'a value of a test, with "quotes" and ü' });
    expect((await own.service.admin('GET', `/api/tokens/${name}`)).json).toMatchObject({
      description: 'Two\nlines',
      webhook: { allowedHosts: ['api.example.com', 'api.example.org:8443'], delivery: 'any', version: 1 },
    });
  });

  test('a JSON text, read from a file', async () => {
    const text = '{ "user": "é", "password": "of a test" }\n';
    writeFileSync(join(files.path, 'raw.json'), text);
    await openForm('Anything else');
    await field('Read a file').setInputFiles(join(files.path, 'raw.json'));
    await expect.poll(() => field('Secret').inputValue()).toBe(text);
    await submit();
    expect(await fetched()).toMatchObject({ accessToken: text.trim() });
  });

  test('an access token with its refresh token', async () => {
    await openForm('Access token');
    await field('Access token').fill('access of a test');
    await field('Refresh token').fill('refresh of a test');
    await submit();
    expect(await stored()).toMatchObject({ webhook: { hasRefreshToken: true } });
    expect(await fetched()).toMatchObject({ accessToken: 'access of a test' });
  });

  test('OAuth tokens, which can be refreshed', async () => {
    await openForm('OAuth tokens');
    await own.expectSound('credential-add-oauth');
    await own.button('Google').click();
    await field('Client id').fill('client of a test');
    await field('Client secret').fill('client secret of a test');
    await field('Access token').fill('access of a test');
    await field('Refresh token').fill('refresh of a test');
    await submit();
    expect(await stored()).toMatchObject({
      webhook: {
        hasRefreshToken: true,
        provider: {
          tokenUrl: 'https://oauth2.googleapis.com/token',
          clientId: 'client of a test',
          authMethod: 'client_secret_basic',
          mediated: false,
        },
      },
    });
    await own.button('Refresh now').waitFor();
    expect(await fetched()).toMatchObject({ accessToken: 'access of a test' });
  });

  test('one-time codes by a typed secret', async () => {
    await openForm('One-time codes');
    await field('Secret or otpauth:// address').fill('gezd gnbv gy3t qojq');
    await submit();
    const { accessToken } = await fetched();
    expect(accessToken).toMatch(/^\d{6}$/);
    await expect.poll(() => own.page.getByText('this TOTP seed has 80 bits').count()).toBe(1);
    await own.page.reload();
    await own.page.getByText('1, stored').waitFor();
    expect(await own.page.getByText('this TOTP seed has 80 bits').count()).toBe(0);
  });

  test('AWS keys, which the webhook makes', async () => {
    await openForm('AWS');
    await field('Access key id').fill('AKIAIOSFODNN7EXAMPLE');
    await field('Secret access key').fill('wJalrXUtnFEMI/K7MDENG/of/a/test');
    await field('Role to assume').fill('arn:aws:iam::123456789012:role/reader');
    await field('Session policy').fill('{"Version":"2012-10-17","Statement":[]}');
    await submit();
    expect(await stored()).toMatchObject({ tokenType: 'RawCredential', webhook: { empty: false } });
  });

  test('a Google service account by its key file', async () => {
    const file = {
      type: 'service_account',
      client_email: 'robot@project.iam.gserviceaccount.com',
      private_key: rsaKey('pkcs8'),
    };
    writeFileSync(join(files.path, 'key.json'), JSON.stringify(file));
    await openForm('Google Cloud');
    await field('Read a file').setInputFiles(join(files.path, 'key.json'));
    await submit();
    expect(await stored()).toMatchObject({ tokenType: 'RawCredential', webhook: { empty: false } });
  });

  test('a GitHub App by its private key', async () => {
    await openForm('GitHub App');
    await own.expectSound('credential-add-github-app');
    await field('App id or client id').fill('123456');
    await field('Installation id').fill('7890');
    await field('Private key').fill(rsaKey('pkcs1'));
    await field('Permissions').fill('contents: read\nissues: write');
    await submit();
    expect(await stored()).toMatchObject({ tokenType: 'RawCredential', webhook: { empty: false } });
  });

  test('a certificate with its key', async () => {
    const certificate = `-----BEGIN CERTIFICATE-----\n${Buffer.from('of a test').toString('base64')}\n-----END CERTIFICATE-----`;
    const privateKey = rsaKey('pkcs8');
    await openForm('Certificate');
    await field('Certificate').fill(certificate);
    await field('Private key').fill(privateKey);
    await submit();
    expect(await fetched()).toMatchObject({ accessToken: `${certificate}\n`, privateKey });
  });

  test('an SSH key', async () => {
    const key = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    await openForm('SSH key');
    await field('Private key').fill(key);
    await submit();
    expect(await fetched()).toMatchObject({ accessToken: key });
  });

  test('a text that is sealed to a recipient', async () => {
    const jwk = generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' });
    await openForm('API key or password');
    await field('Secret').fill('a sealed secret of a test');
    await field('Delivery').selectOption('sealed');
    await field('Public keys of the recipients').fill(JSON.stringify(jwk, null, 2));
    await submit();
    expect(await stored()).toMatchObject({ webhook: { delivery: 'sealed' } });
  });
});

describe('a QR picture of one-time codes', () => {
  const URI =
    'otpauth://totp/ACME:a@example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=ACME&digits=8';
  const picker = () => field('Choose a picture');

  /** A page that shows the code, as a person would take a picture of it. */
  async function pictureOf(text: string, cut = false): Promise<Buffer> {
    const page = await own.browser.newPage({ viewport: { width: 640, height: 480 } });
    await page.setContent(
      `<body style="background:#ddd;font:20px sans-serif"><p>Scan this</p><div style="width:300px">${encodeQR(text, 'svg')}</div>`,
    );
    const clip = { x: 0, y: 0, width: cut ? 120 : 640, height: 480 };
    const picture = await page.screenshot({ clip });
    await page.close();
    return picture;
  }
  const file = (buffer: Buffer, mimeType = 'image/png') => ({ name: 'code.png', mimeType, buffer });

  test('is read in the browser, and its codes are delivered', async () => {
    await openForm('One-time codes');
    await picker().setInputFiles(file(await pictureOf(URI)));
    await own.page.getByText('The QR code is read.').waitFor();
    await expect.poll(() => field('Secret or otpauth:// address').inputValue()).toBe(URI);
    await own.expectSound('credential-add-totp');
    await submit();
    const { accessToken } = await fetched();
    expect(accessToken).toMatch(/^\d{8}$/);
  });

  test('is read when it is pasted', async () => {
    await openForm('One-time codes');
    const picture = (await pictureOf(URI)).toString('base64');
    await own.page.evaluate(`{
      const bytes = Uint8Array.from(atob(${JSON.stringify(picture)}), (each) => each.charCodeAt(0));
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File([bytes], 'code.png', { type: 'image/png' }));
      document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
    }`);
    await own.page.getByText('The QR code is read.').waitFor();
    await expect.poll(() => field('Secret or otpauth:// address').inputValue()).toBe(URI);
  });

  test('is refused beside the field where it is damaged, no picture or another code, and nothing is named', async () => {
    await openForm('One-time codes');
    await picker().setInputFiles(file(await pictureOf(URI, true)));
    await own.page.getByText('No QR code can be read in this picture.').waitFor();
    await own.expectSound('credential-damaged-qr');
    await picker().setInputFiles(file((await pictureOf(URI)).subarray(0, 200)));
    await own.page.getByText('This is not a picture that the browser can read.').waitFor();
    await picker().setInputFiles(file(await pictureOf('https://example.com/')));
    await own.page.getByText('This QR code is not one for one-time codes.').waitFor();
    await expect.poll(() => field('Secret or otpauth:// address').inputValue()).toBe('');
    await picker().setInputFiles(file(await pictureOf(URI.replace('/totp/', '/hotp/'))));
    await own.page.getByText('The QR code is read.').waitFor();
    await submit();
    await expectBeside('Secret or otpauth:// address', 'These codes are counted (HOTP).');
    expect(tokenRequests()).toEqual([]);
  });
});

describe('what cannot be stored is said beside its field, stays there, and nothing is named or sent:', () => {
  const typed = async (label: string, text: string, says: string): Promise<void> => {
    await field(label).fill(text);
    await submit();
    await expectBeside(label, says);
    await expect.poll(() => field(label).inputValue()).toBe(text);
  };

  test('a secret of more than 64 KiB; one of 64 KiB is stored', async () => {
    await openForm('API key or password');
    await typed('Secret', 'é'.repeat(32 * 1_024) + 'x', 'A secret field has at most 64 KiB.');
    await own.expectSound('credential-too-large');
    expect(tokenRequests()).toEqual([]);
    await field('Secret').fill('é'.repeat(32 * 1_024));
    await submit();
    expect(await fetched()).toMatchObject({ accessToken: 'é'.repeat(32 * 1_024) });
  });

  test('a damaged PEM, a key that is none, one that is too short and one with a passphrase', async () => {
    await openForm('GitHub App');
    await field('App id or client id').fill('1');
    await field('Installation id').fill('1');
    const key = rsaKey('pkcs8');
    await typed('Private key', 'of a test', 'This is not a private key in PEM');
    await typed('Private key', key.slice(0, 900), 'The PEM text is damaged or cut off');
    await typed(
      'Private key',
      key.replace(/\n.{20}/, '\n'),
      'This is not an RSA private key, or it is damaged.',
    );
    await typed('Private key', key.replace(/\n.{5}/, '\n¿¿'), 'The PEM text is damaged or cut off');
    await typed('Private key', rsaKey('pkcs1', 1_024), 'This RSA key has 1024 bits');
    await typed('Private key', key.replaceAll('PRIVATE', 'PUBLIC'), 'This is PEM, but not a private key');
    const { privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2_048,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'of a test' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    await typed('Private key', privateKey, 'This key is encrypted by a passphrase.');
    expect(tokenRequests()).toEqual([]);
  });

  test('a key file that is cut off, and one of another kind', async () => {
    await openForm('Google Cloud');
    await typed('Key file', '{"type":"service_account","private_key":"of a te', 'This is not JSON');
    await typed('Key file', '{"type":"authorized_user"}', 'not the key file of a service account');
    expect(tokenRequests()).toEqual([]);
  });

  test('hosts with a path, a short secret for proxies, a seed that is no base32, a name with a slash', async () => {
    await openForm('API key or password');
    await field('Secret').fill('1234');
    await typed('Hosts', 'api.example.com/path', 'api.example.com/path: Must be host, host:port');
    await field('Hosts').fill('api.example.com');
    await submit();
    await expectBeside('Proxies may use it although it is short', 'less than 80 bits');
    await field('Hosts').fill('');
    await typed('Name', 'a/b', 'no slash');
    await typed('Name', '', 'A name has 1 to 128 characters');
    await expect.poll(() => own.page.locator(':focus').getAttribute('name')).toBe('serviceName');
    await field('Secret').fill('');
    await submit();
    await expectBeside('Secret', 'This is needed.');
    await openForm('One-time codes');
    await typed('Secret or otpauth:// address', 'not base32!', 'This is neither base32');
    expect(tokenRequests()).toEqual([]);
  });

  test('a name that is taken', async () => {
    await own.service.admin('POST', '/api/tokens', { body: { serviceName: name, tokenType: 'PlainText' } });
    await openForm('API key or password');
    await field('Secret').fill('a secret of a test');
    await submit();
    await expectBeside('Name', 'There is a credential of this name already.');
    await expect.poll(() => field('Secret').inputValue()).toBe('a secret of a test');
    own.expectComplaints('status of 409');
  });
});
