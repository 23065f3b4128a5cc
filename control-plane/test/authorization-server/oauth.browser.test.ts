import { mkdirSync } from 'node:fs';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { freePort } from '@svault/compose/free-port';
import { launchChromium } from '@svault/test-kit/chromium';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { newProof } from '../support/cli-client.ts';
import { authorizationPath } from '../support/consent-page.ts';
import {
  type Answer,
  type ManagementService,
  clientOf,
  startService,
} from '../support/management-service.ts';

const PASSWORD = 'a long enough password';
/** A desktop, and the narrowest that WCAG 2.2 asks for (1.4.10). */
const WIDTHS = [1280, 320];

let browser: Browser;
let context: BrowserContext;
let page: Page;
let service: ManagementService;
/** Where a client listens on this computer. */
let client: Server;
let redirectUri: string;
let arrivals: URL[];
/** Messages of the browser: blocked styles, redirects and frames, errors. */
let complaints: string[];

beforeAll(async () => {
  browser = await launchChromium();
  const port = await freePort();
  service = await startService({
    SV_BASE_URL: `http://127.0.0.1:${port}`,
    SV_LISTEN: `127.0.0.1:${port}`,
    SV_LIMIT_OAUTH_AUTHORIZE: '1000',
    SV_LIMIT_OAUTH_REGISTER: '1000',
  });
  client = createServer((req, res) => {
    const address = new URL(req.url ?? '', redirectUri);
    if (address.pathname === '/callback') arrivals.push(address);
    res.setHeader('content-type', 'text/html').end('<title>done</title><h1>Back in the program</h1>');
  });
  await new Promise<void>((resolve) => void client.listen(0, '127.0.0.1', resolve));
  redirectUri = `http://127.0.0.1:${(client.address() as AddressInfo).port}/callback`;
  await choosePassword(await browser.newPage());
});
afterAll(async () => {
  client?.close();
  await service?.stop();
  await browser?.close();
});
beforeEach(async () => {
  arrivals = [];
  complaints = [];
  context = await browser.newContext();
  page = await context.newPage();
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.location().url.endsWith('/favicon.ico'))
      complaints.push(message.text());
  });
});
afterEach(() => context.close());

async function choosePassword(once: Page): Promise<void> {
  await once.goto(service.running.ownerLink ?? '');
  await once.getByRole('button', { name: 'Sign in' }).click();
  await once.goto(`${service.running.url}/login/password`);
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

const heading = (): Promise<string | null> => page.locator('h1').textContent();

/** Accessible, and no wider than the window, by day and by night. With SCREENSHOTS in the environment, a picture of each is put there. */
async function expectGoodToLookAt(name: string): Promise<void> {
  const folder = process.env['SCREENSHOTS'];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map(({ id, help, nodes }) => [id, help, nodes[0]?.html])).toEqual([]);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      const wide = await page.evaluate('document.documentElement.scrollWidth');
      expect([name, width, Number(wide) <= width]).toEqual([name, width, true]);
      if (folder === undefined) continue;
      mkdirSync(folder, { recursive: true });
      await page.screenshot({ path: join(folder, `${name}-${colorScheme}-${width}.png`), fullPage: true });
    }
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

const press = async (key: string): Promise<void> => {
  await Promise.all([page.waitForEvent('load'), page.keyboard.press(key)]);
};

/** The label or text of the focused element. */
const focused = (): Promise<string> =>
  page.evaluate(
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
  const body = { client_name: clientName, redirect_uris: [redirectUri.replace(/:\d+/, '')] };
  const { client_id } = await asJson(clientOf(metadata.registration_endpoint)('POST', '', { body }));
  const path = authorizationPath({
    response_type: 'code',
    client_id,
    redirect_uri: redirectUri,
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

// Each page is looked at by axe twice, which takes a second or two on a busy machine.

test('a client gets from 401 over sign-in and consent to its tokens, with the keyboard alone', async () => {
  await page.goto(`${service.running.url}/login`);
  await signIn(page);

  // The account has no agent yet.
  await page.goto(await authorizationUrl('Claude Code', 'no agent'));
  expect(await heading()).toBe('There is no agent yet');
  await expectGoodToLookAt('no-agent');

  await makeAgent('deploy-bot', false, 'Ships what was merged, and rolls back what was not meant');
  await page.reload();
  expect(await heading()).toBe('Let this program act as your agent?');
  await expectGoodToLookAt('one-agent');
  await makeAgent('research', true);
  await makeAgent('an agent with a rather long name, as they are given by people with much to do', true);

  await context.clearCookies();
  await page.goto(await authorizationUrl('Claude Code', 'ä state'));
  expect(await heading()).toBe('Sign in');
  await page.keyboard.type('owner@example.org');
  await page.keyboard.press('Tab');
  await page.keyboard.type(PASSWORD);
  await press('Enter');
  expect(await heading()).toBe('Let this program act as your agent?');
  await expectGoodToLookAt('consent');

  // Without a choice the browser does not send the form.
  await page.keyboard.press('Tab');
  expect(await page.locator(':checked').count()).toBe(0);
  await page.keyboard.press('Enter');
  expect(await page.locator(':focus').getAttribute('name')).toBe('agent');
  expect(arrivals).toEqual([]);

  await page.keyboard.press('ArrowDown');
  expect(await focused()).toContain('deploy-bot');
  await page.keyboard.press('Tab');
  expect(await focused()).toContain('Switch MCP on');
  await expectGoodToLookAt('consent-mcp-off');
  await page.keyboard.press('Tab');
  expect(await focused()).toBe('Allow');
  await press('Enter');
  expect(await page.getByRole('alert').textContent()).toContain('MCP is off');
  await expectGoodToLookAt('consent-refused');

  // The choice stays, with the focus on it.
  await page.keyboard.press('Tab');
  expect(await focused()).toContain('deploy-bot');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Space');
  await page.keyboard.press('Tab');
  await press('Enter');
  expect(await heading()).toBe('Back in the program');
  const [arrival] = arrivals;
  expect(Object.fromEntries(arrival?.searchParams ?? [])).toEqual({
    code: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
    state: 'ä state',
    iss: service.running.url,
  });
  const agent = await asJson(service.admin('GET', `/api/agents/${agents.get('deploy-bot')}`));
  expect(agent.mcpEnabled).toBe(true);

  // Denied, without an agent chosen.
  await page.goto(await authorizationUrl('x', 'again'));
  for (let presses = 0; presses < 10 && (await focused()) !== 'Deny'; presses++)
    await page.keyboard.press('Tab');
  await press('Enter');
  expect(arrivals.at(-1)?.searchParams.get('error')).toBe('access_denied');

  // Many agents, and a request that cannot be answered.
  for (let n = 0; n < 5; n++) await makeAgent(`agent ${n}`, n % 2 === 0);
  await page.goto(
    await authorizationUrl(
      'A client whose name is long enough to need more than one line of the page, it seems',
      's',
    ),
  );
  await expectGoodToLookAt('menu');
  await page.keyboard.press('Tab');
  expect(await focused()).toContain('Which agent');
  await page.keyboard.type('agent 2');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await press('Enter');
  expect(arrivals.at(-1)?.searchParams.has('code')).toBe(true);
  await page.goto(`${service.running.url}/api/mcp-oauth/authorize?client_id=nobody&redirect_uri=x`);
  expect(await heading()).toBe('This program cannot be let in');
  await expectGoodToLookAt('unanswerable');

  await service.admin('POST', '/api/vault/lock');
  await page.goto(await authorizationUrl('x', 'locked'));
  expect(await heading()).toBe('The vault is locked');
  await service.admin('POST', '/api/vault/unlock');
  // Messages of the expected errors.
  expect(complaints.filter((text) => !/status of 4\d\d/.test(text))).toEqual([]);
});

test('a web client opens the consent in a popup, which redirects back to it', async () => {
  await makeAgent('of a page', true);
  await page.goto(redirectUri.replace('callback', 'client'));
  const opened = page.waitForEvent('popup');
  await page.evaluate(
    `window.onmessage = ({ data }) => { window.told = data }; open(${JSON.stringify(await authorizationUrl('a page', 'popup'))})`,
  );
  const popup = await opened;
  await popup.waitForLoadState();
  await signIn(popup);
  await popup.getByRole('button', { name: 'Deny' }).click();
  await popup.waitForURL(/error=access_denied/);
  await popup.evaluate("opener.postMessage('done', '*')");
  await expect.poll(() => page.evaluate('window.told')).toBe('done');
});

test('another site cannot frame the consent page', async () => {
  const url = await authorizationUrl('framed', 's');
  await page.goto(redirectUri.replace('callback', 'framing'));
  await page.evaluate(
    `new Promise((done) => { const frame = document.createElement('iframe'); frame.src = ${JSON.stringify(url)};
      frame.onload = frame.onerror = done; document.body.append(frame); })`,
  );
  // The browser shows an error in its place, on a page that nobody can look into.
  expect(
    await page
      .frames()
      .at(-1)
      ?.evaluate('document.body.textContent')
      .catch(() => ''),
  ).not.toContain('Sign in');
  expect(complaints.join('\n')).toMatch(/frame-ancestors|Refused to (frame|display)|Framing/i);
});
