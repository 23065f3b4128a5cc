import { usePage } from '@svault/test-kit/use-page';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BegunLogin, bearer, beginLogin, exchange } from '../support/cli-client.ts';
import { OWNER, type TestProvider, settingsFor, startProvider } from '../support/identity-provider.ts';
import { type ManagementService, startService } from '../support/management-service.ts';

import { type RedirectTarget, atItsAddress, startRedirectTarget } from '../support/page.ts';

const PASSWORD = 'a long enough password';

const own = usePage();
const { heading, press, tabTo } = own;

/** Types into the fields in their order, from where the page puts the focus, and sends the form. */
async function fillByKeyboard(...texts: readonly string[]): Promise<void> {
  await own.page.locator('input:focus').waitFor();
  for (const [index, text] of texts.entries()) {
    if (index > 0) await own.page.keyboard.press('Tab');
    await own.page.keyboard.type(text);
  }
  await press('Enter');
}

const button = (name: string) => own.page.getByRole('button', { name });
/** That leads to the identity provider. */
const signInAt = () => own.page.getByRole('link', { name: 'Sign in at' });

describe('by password', () => {
  let service: ManagementService;
  beforeAll(async () => {
    service = await startService(await atItsAddress());
  });
  afterAll(() => service?.stop());

  const at = (path: string): string => service.running.url + path;

  test('an owner sets a password, signs out and in, and approves a CLI login with the keyboard alone', async () => {
    await own.page.goto(service.running.ownerLink ?? '');
    await tabTo(button('Sign in and set a password'));
    await press('Enter');
    await fillByKeyboard(PASSWORD, `${PASSWORD}!`);
    await expect.poll(() => own.page.getByRole('alert').textContent()).toContain('differ');
    await fillByKeyboard(PASSWORD, PASSWORD);
    expect(await heading()).toBe('Your password is set');
    await own.page.getByRole('link', { name: 'the console' }).click();
    await own.page.getByRole('heading', { name: 'Home' }).waitFor();
    expect(own.page.url()).toBe(at('/'));

    await own.page.goto(at('/login'));
    await tabTo(button('Sign out'));
    await press('Enter');
    expect(await heading()).toBe('Sign in');
    await fillByKeyboard('owner@example.org', 'not the password');
    await expect.poll(() => own.page.getByRole('alert').textContent()).toContain('wrong');

    const login = await beginLogin(service, { client: 'svault on a build machine with a rather long name' });
    await own.page.goto(login.authorizeUrl);
    expect(await heading()).toBe('Sign in');
    await fillByKeyboard('owner@example.org', PASSWORD);
    expect(await heading()).toBe('Sign in the command line?');
    await expect.poll(() => own.page.locator('.fingerprint').textContent()).toBe(login.userCode);
    await tabTo(button('Allow'));
    await press('Enter');
    expect(await heading()).toBe('Paste this code');
    await expectSignedIn(service, login, (await own.page.locator('.value').textContent()) ?? '');
    await own.page.goto(login.authorizeUrl);
    expect(await heading()).toBe('There is nothing to decide');
    // What the two refused forms and the page that is gone answered with.
    expect(own.complaints.every((text) => /status of 4\d\d/.test(text))).toBe(true);
  });
});

describe('at an identity provider', () => {
  let provider: TestProvider;
  let service: ManagementService;
  let client: RedirectTarget;

  beforeAll(async () => {
    const settings = await atItsAddress();
    provider = await startProvider({ serviceUrl: settings.SV_BASE_URL });
    provider.people.set('owner-sub', OWNER);
    service = await startService({ ...settings, ...settingsFor(provider) });
    client = await startRedirectTarget('Back to the terminal');
  });
  afterAll(async () => {
    client?.server.close();
    await service?.stop();
    await provider?.stop();
  });

  test('denying at the provider shows an error, and signing in returns to the CLI approval', async () => {
    const login = await beginLogin(service, { client: 'svault', redirectUri: client.redirectUri });
    await own.page.goto(login.authorizeUrl);
    provider.signsIn = undefined;
    await tabTo(signInAt());
    await press('Enter');
    expect(await heading()).toBe('You are not signed in');

    provider.signsIn = 'owner-sub';
    await own.page.goto(login.authorizeUrl);
    await tabTo(signInAt());
    await press('Enter');
    expect(await heading()).toBe('Sign in the command line?');
    await tabTo(button('Allow'));
    await press('Enter');
    expect(await heading()).toBe('Back to the terminal');
    const answer = client.arrivals[0]?.searchParams;
    expect(answer?.get('state')).toBe(login.requestId);
    await expectSignedIn(service, login, answer?.get('code') ?? '');
  });
});

/** The code that the browser was given signs the client in. */
async function expectSignedIn(service: ManagementService, login: BegunLogin, code: string): Promise<void> {
  const { codeVerifier } = login;
  const grant = await exchange(service, { code, codeVerifier });
  const me = await bearer(service, grant.json.accessToken)('GET', '/api/me');
  expect(me.json).toMatchObject({ email: 'owner@example.org', via: 'session', method: 'cli' });
}
