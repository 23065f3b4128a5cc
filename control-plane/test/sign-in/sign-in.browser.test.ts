import { mkdirSync } from 'node:fs';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { freePort } from '@svault/compose/free-port';
import { launchChromium } from '@svault/test-kit/chromium';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type BegunLogin, bearer, beginLogin, exchange } from '../support/cli-client.ts';
import { CLIENT, type TestProvider, startProvider } from '../support/identity-provider.ts';
import { type ManagementService, startService } from '../support/management-service.ts';

const PASSWORD = 'a long enough password';
const WIDTHS = [1280, 375];

let browser: Browser;
let context: BrowserContext;
let page: Page;
/** What the browser complained about: blocked styles, failed loads, errors. */
let complaints: string[];

beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser?.close());
beforeEach(async () => {
  context = await browser.newContext();
  page = await context.newPage();
  complaints = [];
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.location().url.endsWith('/favicon.ico'))
      complaints.push(message.text());
  });
});
afterEach(() => context.close());

/** A service whose public address is where it listens. */
async function startAtItsAddress(more: Readonly<Record<string, string>> = {}): Promise<ManagementService> {
  const port = await freePort();
  return startService({
    SV_BASE_URL: `http://127.0.0.1:${port}`,
    SV_LISTEN: `127.0.0.1:${port}`,
    ...more,
  });
}

const heading = (): Promise<string | null> => page.locator('h1').textContent();

/** Accessible, and no wider than a desktop or a phone. With SCREENSHOTS in the environment, a picture of each is put there. */
async function expectGoodToLookAt(name: string): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map(({ id, help }) => `${id}: ${help}`)).toEqual([]);
  const folder = process.env['SCREENSHOTS'];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 720 });
    const wide = await page.evaluate('document.documentElement.scrollWidth');
    expect([name, width, Number(wide) <= width]).toEqual([name, width, true]);
    if (folder === undefined) continue;
    mkdirSync(folder, { recursive: true });
    await page.screenshot({ path: join(folder, `${name}-${width}.png`), fullPage: true });
  }
}

/** Types into the fields in their order, from where the page has put the focus, and sends the form. */
async function fillByKeyboard(...texts: readonly string[]): Promise<void> {
  for (const [index, text] of texts.entries()) {
    if (index > 0) await page.keyboard.press('Tab');
    await page.keyboard.type(text);
  }
  await press('Enter');
}

const press = async (key: string): Promise<void> => {
  await Promise.all([page.waitForEvent('load'), page.keyboard.press(key)]);
};

async function tabTo(name: string): Promise<void> {
  const wanted = page
    .locator(':focus')
    .and(page.getByRole('button', { name }).or(page.getByRole('link', { name })));
  for (let presses = 0; presses < 10 && (await wanted.count()) === 0; presses++)
    await page.keyboard.press('Tab');
  expect(await wanted.count()).toBe(1);
}

describe('by password', () => {
  let service: ManagementService;
  beforeAll(async () => {
    service = await startAtItsAddress();
  });
  afterAll(() => service?.stop());

  const at = (path: string): string => service.running.url + path;

  test('an owner sets a password, signs out and in, and approves a CLI login with the keyboard alone', async () => {
    await page.goto(service.running.ownerLink ?? '');
    await expectGoodToLookAt('link');
    await tabTo('Sign in');
    await press('Enter');
    expect(await heading()).toBe('You are signed in');
    await expectGoodToLookAt('link-used');

    await tabTo('Set a password');
    await press('Enter');
    await expectGoodToLookAt('password');
    await fillByKeyboard(PASSWORD, `${PASSWORD}!`);
    expect(await page.getByRole('alert').textContent()).toContain('differ');
    await expectGoodToLookAt('password-differs');
    await fillByKeyboard(PASSWORD, PASSWORD);
    expect(await heading()).toBe('Your password is set');

    await page.goto(at('/login'));
    await expectGoodToLookAt('signed-in');
    await tabTo('Sign out');
    await press('Enter');
    expect(await heading()).toBe('Sign in');
    await expectGoodToLookAt('sign-in');
    await fillByKeyboard('owner@example.org', 'not the password');
    expect(await page.getByRole('alert').textContent()).toContain('wrong');
    await expectGoodToLookAt('sign-in-wrong');

    const login = await beginLogin(service, { client: 'svault on a build machine with a rather long name' });
    await page.goto(login.authorizeUrl);
    expect(await heading()).toBe('Sign in');
    await fillByKeyboard('owner@example.org', PASSWORD);
    expect(await heading()).toBe('Sign in the command line?');
    expect(await page.locator('.fingerprint').textContent()).toBe(login.userCode);
    await expectGoodToLookAt('cli');
    await tabTo('Allow');
    await press('Enter');
    expect(await heading()).toBe('Paste this code');
    await expectGoodToLookAt('cli-code');
    await expectSignedIn(service, login, (await page.locator('.value').textContent()) ?? '');
    await page.goto(login.authorizeUrl);
    expect(await heading()).toBe('There is nothing to decide');
    await expectGoodToLookAt('cli-gone');
    // What the two refused forms and the page that is gone answered with.
    expect(complaints.every((text) => /status of 4\d\d/.test(text))).toBe(true);
  });
});

describe('at an identity provider', () => {
  let provider: TestProvider;
  let service: ManagementService;
  let client: Server;
  let redirectUri: string;
  let arrived: Promise<URL>;

  beforeAll(async () => {
    const port = await freePort();
    const serviceUrl = `http://127.0.0.1:${port}`;
    provider = await startProvider({ serviceUrl });
    provider.people.set('owner-sub', { email: 'owner@example.org', email_verified: true });
    service = await startService({
      SV_BASE_URL: serviceUrl,
      SV_LISTEN: `127.0.0.1:${port}`,
      SV_OIDC_ISSUER: provider.issuer,
      SV_OIDC_CLIENT_ID: CLIENT.id,
      SV_OIDC_CLIENT_SECRET: CLIENT.secret,
    });
    client = createServer();
    arrived = new Promise((resolve) =>
      client.on('request', ({ url }, res) => {
        const address = new URL(url ?? '', redirectUri);
        if (address.pathname === '/callback') resolve(address);
        res.setHeader('content-type', 'text/html').end('<title>done</title><h1>Back to the terminal</h1>');
      }),
    );
    await new Promise<void>((resolve) => void client.listen(0, '127.0.0.1', resolve));
    redirectUri = `http://127.0.0.1:${(client.address() as AddressInfo).port}/callback`;
  });
  afterAll(async () => {
    client?.close();
    await service?.stop();
    await provider?.stop();
  });

  test('denying at the provider shows an error, and signing in returns to the CLI approval', async () => {
    const login = await beginLogin(service, { client: 'svault', redirectUri });
    await page.goto(login.authorizeUrl);
    await expectGoodToLookAt('provider');
    provider.signsIn = undefined;
    await tabTo('Sign in at');
    await press('Enter');
    expect(await heading()).toBe('You are not signed in');
    await expectGoodToLookAt('provider-refused');

    provider.signsIn = 'owner-sub';
    await page.goto(login.authorizeUrl);
    await tabTo('Sign in at');
    await press('Enter');
    expect(await heading()).toBe('Sign in the command line?');
    await tabTo('Allow');
    await press('Enter');
    expect(await heading()).toBe('Back to the terminal');
    const answer = (await arrived).searchParams;
    expect(answer.get('state')).toBe(login.requestId);
    await expectSignedIn(service, login, answer.get('code') ?? '');
  });
});

/** The code that the browser was given signs the client in. */
async function expectSignedIn(service: ManagementService, login: BegunLogin, code: string): Promise<void> {
  const { codeVerifier } = login;
  const grant = await exchange(service, { code, codeVerifier });
  const me = await bearer(service, grant.json.accessToken)('GET', '/api/me');
  expect(me.json).toMatchObject({ email: 'owner@example.org', via: 'session', method: 'cli' });
}
