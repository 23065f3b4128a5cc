import type { Page } from 'playwright-core';
import { usePage } from '@svault/test-kit/use-page';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newProof } from '../support/cli-client.ts';
import { authorizationPath } from '../support/consent-page.ts';
import {
  type Answer,
  type ManagementService,
  clientOf,
  startService,
} from '../support/management-service.ts';

import { type RedirectTarget, atItsAddress, startRedirectTarget } from '../support/page.ts';

const PASSWORD = 'a long enough password';

const own = usePage();
const { heading, press, tabTo } = own;
let service: ManagementService;
let client: RedirectTarget;

beforeAll(async () => {
  const limits = { SV_LIMIT_OAUTH_AUTHORIZE: '1000', SV_LIMIT_OAUTH_REGISTER: '1000' };
  service = await startService({ ...(await atItsAddress()), ...limits });
  client = await startRedirectTarget('Back in the program');
  await choosePassword(await own.browser.newPage());
});
afterAll(async () => {
  client?.server.close();
  await service?.stop();
});
beforeEach(() => {
  client.arrivals.length = 0;
});

async function choosePassword(once: Page): Promise<void> {
  await once.goto(service.running.ownerLink ?? '');
  await once.getByRole('button', { name: 'Sign in and set a password' }).click();
  await once.locator('#new').fill(PASSWORD);
  await once.locator('#repeated').fill(PASSWORD);
  await Promise.all([once.waitForEvent('load'), once.locator('#repeated').press('Enter')]);
  await once.context().close();
}

async function signIn(on: Page): Promise<void> {
  await on.getByLabel('E-mail').fill('owner@example.org');
  await on.getByLabel('Password').fill(PASSWORD);
  await Promise.all([on.waitForEvent('load'), on.getByLabel('Password').press('Enter')]);
}

/** The label or text of the focused element. */
const focused = (): Promise<string> =>
  own.page.evaluate(
    '(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim().replace(/\\s+/g, " ")',
  );

async function asJson(answer: Promise<Answer>): Promise<Answer['json']> {
  const { status, json, text } = await answer;
  if (status >= 300) throw new Error(`${status}: ${text}`);
  return json;
}

/** Discovers and registers after a 401, up to the authorization address. */
async function authorizationUrl(clientName: string, state: string): Promise<string> {
  const bare = await service.anyone('POST', '/api/agents/mcp', { body: {} });
  expect(bare.status).toBe(401);
  const [, metadataUrl = ''] =
    /resource_metadata="([^"]+)"/.exec(bare.headers.get('www-authenticate') ?? '') ?? [];
  const get = (url: string, path = ''): Promise<Answer['json']> => asJson(clientOf(url)('GET', path));
  const { resource, authorization_servers: servers } = await get(metadataUrl);
  const metadata = await get(servers[0], '/.well-known/oauth-authorization-server');
  const body = { client_name: clientName, redirect_uris: [client.redirectUri.replace(/:\d+/, '')] };
  const { client_id } = await asJson(clientOf(metadata.registration_endpoint)('POST', '', { body }));
  const path = authorizationPath({
    response_type: 'code',
    client_id,
    redirect_uri: client.redirectUri,
    code_challenge: newProof().codeChallenge,
    code_challenge_method: 'S256',
    resource,
    state,
  });
  return metadata.authorization_endpoint + path.slice(path.indexOf('?'));
}

const agents = new Map<string, string>();
async function makeAgent(name: string, mcpEnabled: boolean, description = ''): Promise<void> {
  const body = { name, mcpEnabled, description };
  agents.set(name, (await asJson(service.admin('POST', '/api/agents', { body }))).agent.id);
}

test('a client gets from 401 over sign-in and consent to its tokens, with the keyboard alone', async () => {
  await own.page.goto(`${service.running.url}/login`);
  await signIn(own.page);

  // The account has no agent yet.
  await own.page.goto(await authorizationUrl('Claude Code', 'no agent'));
  expect(await heading()).toBe('There is no agent yet');

  await makeAgent('deploy-bot', false, 'Ships what was merged, and rolls back what was not meant');
  await own.page.reload();
  expect(await heading()).toBe('Let this program act as your agent?');
  await makeAgent('research', true);
  await makeAgent('an agent with a rather long name, as they are given by people with much to do', true);

  await own.context.clearCookies();
  await own.page.goto(await authorizationUrl('Claude Code', 'ä state'));
  expect(await heading()).toBe('Sign in');
  await own.page.locator('input:focus').waitFor();
  await own.page.keyboard.type('owner@example.org');
  await own.page.keyboard.press('Tab');
  await own.page.keyboard.type(PASSWORD);
  await press('Enter');
  expect(await heading()).toBe('Let this program act as your agent?');

  // Without a choice the browser does not send the form.
  await own.page.keyboard.press('Tab');
  expect(await own.page.locator(':checked').count()).toBe(0);
  await own.page.keyboard.press('Enter');
  await expect.poll(() => own.page.locator(':focus').getAttribute('name')).toBe('agent');
  expect(client.arrivals).toEqual([]);

  await own.page.keyboard.press('ArrowDown');
  expect(await focused()).toContain('deploy-bot');
  await own.page.keyboard.press('Tab');
  expect(await focused()).toBe('Allow');
  await press('Enter');
  expect(await heading()).toBe('Back in the program');
  const [arrival] = client.arrivals;
  expect(Object.fromEntries(arrival?.searchParams ?? [])).toEqual({
    code: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
    state: 'ä state',
    iss: service.running.url,
  });
  const agent = await asJson(service.admin('GET', `/api/agents/${agents.get('deploy-bot')}`));
  expect(agent.mcpEnabled).toBe(true);

  // Denied, without an agent chosen.
  await own.page.goto(await authorizationUrl('x', 'again'));
  await tabTo(own.page.getByRole('button', { name: 'Deny', exact: true }));
  await press('Enter');
  expect(client.arrivals.at(-1)?.searchParams.get('error')).toBe('access_denied');

  // Many agents, and a request that cannot be answered.
  for (let n = 0; n < 5; n++) await makeAgent(`agent ${n}`, n % 2 === 0);
  await own.page.goto(
    await authorizationUrl(
      'A client whose name is long enough to need more than one line of the page, it seems',
      's',
    ),
  );
  await own.page.keyboard.press('Tab');
  expect(await focused()).toContain('Which agent');
  await own.page.keyboard.type('agent 2');
  await own.page.keyboard.press('Tab');
  await own.page.keyboard.press('Tab');
  await press('Enter');
  expect(client.arrivals.at(-1)?.searchParams.has('code')).toBe(true);
  await own.page.goto(`${service.running.url}/api/mcp-oauth/authorize?client_id=nobody&redirect_uri=x`);
  expect(await heading()).toBe('This program cannot be let in');

  await service.admin('POST', '/api/vault/lock');
  await own.page.goto(await authorizationUrl('x', 'locked'));
  expect(await heading()).toBe('The vault is locked');
  await service.admin('POST', '/api/vault/unlock');
  // Messages of the expected errors.
  expect(own.complaints.filter((text) => !/status of 4\d\d/.test(text))).toEqual([]);
});

test('a web client opens the consent in a popup, which redirects back to it', async () => {
  await makeAgent('of a page', true);
  await own.page.goto(client.redirectUri.replace('callback', 'client'));
  const opened = own.page.waitForEvent('popup');
  await own.page.evaluate(
    `window.onmessage = ({ data }) => { window.told = data }; open(${JSON.stringify(await authorizationUrl('a page', 'popup'))})`,
  );
  const popup = await opened;
  await popup.waitForLoadState();
  await signIn(popup);
  await popup.getByRole('button', { name: 'Deny' }).click();
  await popup.waitForURL(/error=access_denied/);
  await popup.evaluate("opener.postMessage('done', '*')");
  await expect.poll(() => own.page.evaluate('window.told')).toBe('done');
});

test('another site cannot frame the consent page', async () => {
  const url = await authorizationUrl('framed', 's');
  await own.page.goto(client.redirectUri.replace('callback', 'framing'));
  await own.page.evaluate(
    `new Promise((done) => { const frame = document.createElement('iframe'); frame.src = ${JSON.stringify(url)};
      frame.onload = frame.onerror = done; document.body.append(frame); })`,
  );
  // The browser shows an error in its place, on a page that nobody can look into.
  expect(
    await own.page
      .frames()
      .at(-1)
      ?.evaluate('document.body.textContent')
      .catch(() => ''),
  ).not.toContain('Sign in');
  await expect
    .poll(() => own.complaints.join('\n'))
    .toMatch(/frame-ancestors|Refused to (frame|display)|Framing/i);
});
