import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toBase64url, utf8 } from '@svault/shared';
import { usePage } from '@svault/test-kit/use-page';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { PAGE_NAMES, type PageName } from '../src/api/pages/page-names.ts';
import { beginLogin, newProof } from './support/cli-client.ts';
import { authorizationPath, cookieBy, registerClient } from './support/consent-page.ts';
import { type TestProvider, settingsFor, startProvider } from './support/identity-provider.ts';
import { type LinkedService, startLinkedService } from './support/linked-service.ts';
import { type ManagementService, makePlace, serveOn, startService } from './support/management-service.ts';
import { addMember } from './support/members.ts';
import { atItsAddress } from './support/page.ts';

const PASSWORD = 'a long enough password';
const REDIRECT = 'https://app.example/callback';
const BIND = '/vault/webhook-bind';
/** A name that is markup, one from right to left, and one without an end. */
const HOSTILE = ['<b onload=alert(1)>"\'&amp;', 'سوكيل \u202Eevil', 'long'.repeat(25)] as const;

const own = usePage();
const { heading, expectGoodToLookAt } = own;
let service: LinkedService;
let provider: TestProvider;
let atProvider: ManagementService;
let unbuilt: ManagementService;
/** `svault=…` of the owner's session. */
let owner: string;

beforeAll(async () => {
  const limits = {
    SV_LIMIT_LINK_LOGIN: '1000',
    SV_LIMIT_PASSWORD_LOGIN: '3',
    SV_LIMIT_OAUTH_AUTHORIZE: '1000',
    SV_LIMIT_OAUTH_REGISTER: '1000',
  };
  service = await startLinkedService({ ...(await atItsAddress()), ...limits });
  owner = await cookieBy(service, service.running.ownerLink ?? '');
  const settings = await atItsAddress();
  provider = await startProvider({ serviceUrl: settings.SV_BASE_URL });
  atProvider = await startService({ ...settings, ...settingsFor(provider) });
  unbuilt = await serveOn(await makePlace(await atItsAddress()), undefined, { consoleFolder: 'not-built' });
});
afterAll(async () => {
  await service?.stop();
  await atProvider?.stop();
  await unbuilt?.stop();
  await provider?.stop();
});
afterEach(async () => {
  const { json } = await service.admin('GET', '/api/agents');
  for (const { id } of json.items) await service.admin('DELETE', `/api/agents/${id}`);
  await service.admin('POST', '/api/vault/unlock');
  await service.admin('DELETE', '/api/webhook');
});

const open = async (path: string, at: Pick<ManagementService, 'running'> = service): Promise<unknown> =>
  own.page.goto(at.running.url + path);
const signIn = async (cookie = owner): Promise<void> => {
  const [name = '', value = ''] = cookie.split('=');
  await own.context.addCookies([{ name, value, url: service.running.url }]);
};
const openAs = async (path: string, cookie = owner): Promise<void> => {
  await signIn(cookie);
  await open(path);
};
const click = (name: string): Promise<unknown> =>
  Promise.all([own.page.waitForEvent('load'), own.page.getByRole('button', { name, exact: true }).click()]);

const newLink = async (): Promise<string> => {
  const { id } = await addMember(service, 'member');
  return (await service.admin('POST', `/api/members/${id}/link`)).json.url;
};
/** The session of a member who has just signed in by a link. */
const newMember = async (): Promise<string> => cookieBy(service, await newLink());

const bindPath = (): string => {
  const { code, webhookUrl, hmacHash } = service.webhook.offer();
  return `${BIND}?code=${code}&webhook_url=${toBase64url(utf8(webhookUrl))}&hmac_hash=${hmacHash}`;
};

const consentPath = async (clientName = 'Claude Code', state?: string): Promise<string> =>
  authorizationPath({
    response_type: 'code',
    client_id: await registerClient(service, [REDIRECT], clientName),
    redirect_uri: REDIRECT,
    code_challenge: newProof().codeChallenge,
    code_challenge_method: 'S256',
    state,
  });

async function makeAgent(name: string, services: readonly string[], mcpEnabled = true): Promise<string> {
  const body = { name, mcpEnabled, description: `What ${name} is for` };
  const { agent } = (await service.admin('POST', '/api/agents', { body })).json;
  for (const serviceName of services)
    await service.admin('POST', `/api/agents/${agent.id}/grants`, {
      body: { serviceName, allowMissing: true },
    });
  return agent.id;
}

/** How each page is reached. A new page has no row yet, which does not compile. */
const PAGES: Readonly<Record<PageName, () => Promise<unknown>>> = {
  'sign-in': () => open('/login?returnTo=%2Flogin%2Fpassword'),
  'sign-in-at-provider': () => open('/login', atProvider),
  'sign-in-failed': async () => {
    provider.signsIn = undefined;
    await open('/login', atProvider);
    const link = own.page.getByRole('link', { name: 'Sign in at' });
    await Promise.all([own.page.waitForEvent('load'), link.click()]);
  },
  'signed-in': () => openAs('/login'),
  link: async () => own.page.goto(await newLink()),
  'link-used': async () => {
    const { json } = await unbuilt.admin('POST', '/api/members', {
      body: { email: 'invited@example.org', role: 'member' },
    });
    await own.page.goto(json.link.url);
    await click('Sign in');
  },
  'link-gone': () => open('/login/link?token=x'),
  password: async () => openAs('/login/password', await newMember()),
  'password-needs-link': async () => {
    const member = await newMember();
    service.clock.advance(601_000);
    await openAs('/login/password', member);
  },
  'password-set': async () => {
    await openAs('/login/password', await newMember());
    await own.page.locator('#new').fill(PASSWORD);
    await own.page.locator('#repeated').fill(PASSWORD);
    await click('Set password');
  },
  cli: async () => openAs(await cliPath()),
  'cli-code': async () => {
    await openAs(await cliPath());
    await click('Allow');
  },
  'cli-done': () => open('/login/cli?outcome=allowed'),
  'cli-denied': async () => {
    await openAs(await cliPath());
    await click('Deny');
  },
  'cli-gone': () => openAs('/login/cli?request=clr_gone'),
  bind: () => openAs(bindPath()),
  'bind-not-admin': async () => openAs(bindPath(), await newMember()),
  'bind-no-link': () => openAs(BIND),
  'bind-failed': async () => {
    await openAs(bindPath());
    service.webhook.offer();
    await click('Bind webhook');
  },
  'bind-cancelled': async () => {
    await openAs(bindPath());
    await click('Cancel');
  },
  bound: async () => {
    await service.bind();
    await openAs(BIND);
  },
  'bound-to-another': async () => {
    await service.bind();
    await openAs(
      bindPath().replace(/webhook_url=[^&]*/, `webhook_url=${toBase64url(utf8('https://o.example'))}`),
    );
  },
  consent: async () => {
    await makeAgent('deploy-bot', ['github', 'npm', 'cloudflare-production'], false);
    await makeAgent('research', ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']);
    await makeAgent('new', []);
    await openAs(await consentPath());
  },
  'consent-no-agent': async () => openAs(await consentPath()),
  'consent-vault-locked': async () => {
    await service.admin('POST', '/api/vault/lock');
    await openAs(await consentPath());
  },
  'consent-unanswerable': () => openAs('/api/mcp-oauth/authorize?client_id=nobody&redirect_uri=x'),
  'consent-sign-in-first': async () => open(await consentPath('x', 'x'.repeat(3_000))),
  'console-not-built': async () => {
    await own.page.goto(unbuilt.running.ownerLink ?? '');
    await click('Sign in');
    await open('/', unbuilt);
  },
  'not-found': () => open('/no/such/page'),
  error: () => open('/login/out'),
};

const cliPath = async (): Promise<string> => {
  const { authorizeUrl } = await beginLogin(service, { client: 'svault on build-7' });
  return authorizeUrl.slice(service.running.url.length);
};

describe('every page', () => {
  test.each(PAGE_NAMES)('the page %s is accessible, leads on, and looks like all others', async (name) => {
    await PAGES[name]();
    await expectGoodToLookAt(name);
    // What a page that is an error was answered with.
    expect(own.complaints.filter((text) => !/status of [45]\d\d/.test(text))).toEqual([]);
  });
});

test('a browser that goes to an unknown or a closed address of the API gets a page, too', async () => {
  await open('/api/no/such/route');
  expect(await heading()).toBe('There is no page here');
  await open('/api/agents');
  expect(await heading()).toBe('You are not signed in');
});

describe('a form that was rejected', () => {
  test('says on the page what was wrong, and after too many tries how long to wait', async () => {
    const attempt = async (): Promise<void> => {
      await open('/login');
      await own.page.getByLabel('E-mail').fill('owner@example.org');
      await own.page.locator('#password').fill('not the password');
      await click('Sign in');
    };
    await attempt();
    await expect.poll(() => own.page.getByRole('alert').textContent()).toBe('E-mail or password is wrong.');
    await expectGoodToLookAt('sign-in', 'wrong');
    while ((await heading()) === 'Sign in') await attempt();
    expect(await heading()).toBe('Too many requests');
    await expect
      .poll(() => own.page.locator('main p').first().textContent())
      .toMatch(/^Too many requests\. Try again in \d+ minutes\.$/);
    await expectGoodToLookAt('error', 'too-many');
  });
});

describe('what a script adds', () => {
  test('shows passwords at a click, and sends them as passwords', async () => {
    await openAs('/login/password', await newMember());
    const types = (): Promise<(string | null)[]> =>
      Promise.all(['#new', '#repeated'].map((id) => own.page.locator(id).getAttribute('type')));
    await own.page.getByRole('button', { name: 'Show passwords' }).click();
    expect(await types()).toEqual(['text', 'text']);
    await expectGoodToLookAt('password', 'shown');
    await own.page.getByRole('button', { name: 'Hide passwords' }).click();
    expect(await types()).toEqual(['password', 'password']);
    expect(own.complaints).toEqual([]);
  });

  test('copies the code of a CLI sign-in', async () => {
    await own.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await PAGES['cli-code']();
    await own.page.getByRole('button', { name: 'Copy' }).click();
    await own.page.getByText('Copied').waitFor();
    const code = await own.page.locator('.value').textContent();
    expect(code).toMatch(/^[\w-]{43}$/);
    expect(await own.page.evaluate('navigator.clipboard.readText()')).toBe(code);
    await expectGoodToLookAt('cli-code', 'copied');
    expect(own.complaints).toEqual([]);
  });

  test('is nothing that a page needs: without one the code is selected by a click, and no dead button is there', async () => {
    const context = await own.browser.newContext({ javaScriptEnabled: false });
    const [name = '', value = ''] = owner.split('=');
    await context.addCookies([{ name, value, url: service.running.url }]);
    const page = await context.newPage();
    await page.goto(service.running.url + (await cliPath()));
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByRole('heading', { name: 'Paste this code' }).waitFor();
    expect(await page.getByRole('button').filter({ visible: true }).count()).toBe(0);
    expect(await page.evaluate("getComputedStyle(document.querySelector('.value')).userSelect")).toBe('all');
    await context.clearCookies();
    await page.goto(`${service.running.url}/login`);
    await expect
      .poll(() => page.getByRole('button').filter({ visible: true }).allTextContents())
      .toEqual(['Sign in']);
    await context.close();
  });
});

describe('the decision about a command-line client', () => {
  // The client's listener sends the browser back; `form-action` applies to the whole chain.
  test.each([
    ['Allow', 'code', 'Signed in on the command line'],
    ['Deny', 'error', 'Denied'],
  ])('%s leads over the listener of the client to a page of this service', async (button, member, title) => {
    const asked: URL[] = [];
    const listener = createServer((req, res) => {
      const url = new URL(req.url ?? '', 'http://127.0.0.1');
      asked.push(url);
      const outcome = url.searchParams.has('code') ? 'allowed' : 'denied';
      res.writeHead(303, { location: `${service.running.url}/login/cli?outcome=${outcome}` }).end();
    }).listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const redirectUri = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/callback`;
    const { authorizeUrl } = await beginLogin(service, { redirectUri });
    await openAs(authorizeUrl.slice(service.running.url.length));
    await click(button);
    expect(await heading()).toBe(title);
    expect(asked.map(({ searchParams }) => searchParams.has(member))).toEqual([true]);
    listener.close();
  });
});

describe('the consent page', () => {
  test('fits a window of 800 pixels with three agents, and keeps its buttons in sight on a phone', async () => {
    await PAGES.consent();
    await own.page.setViewportSize({ width: 1280, height: 800 });
    expect(await own.page.evaluate('document.documentElement.scrollHeight')).toBeLessThanOrEqual(800);
    await own.page.setViewportSize({ width: 390, height: 800 });
    const box = await own.page.getByRole('button', { name: 'Allow' }).boundingBox();
    expect((box?.y ?? Infinity) + (box?.height ?? 0)).toBeLessThanOrEqual(800);
  });

  test('is legible and safe with names that are markup, from right to left or without an end', async () => {
    for (const name of HOSTILE) await makeAgent(name, []);
    await openAs(await consentPath(HOSTILE[0]));
    const labels = await own.page.locator('.option label > bdi').allTextContents();
    expect(labels.toSorted()).toEqual([...HOSTILE].toSorted());
    expect(await own.page.locator('b').count()).toBe(0);
    await expectGoodToLookAt('consent', 'hostile');
    await openAs(await consentPath(HOSTILE[2]));
    await expectGoodToLookAt('consent', 'long');
  });

  test('offers many agents in a menu, with the credentials of each below', async () => {
    for (let n = 0; n < 7; n++) await makeAgent(`agent ${n}`, ['github', `service-${n}`], n > 0);
    await openAs(await consentPath());
    await expectGoodToLookAt('consent', 'menu');
    await own.page.getByText('What each agent can read').click();
    await expect
      .poll(() => own.page.locator('details dd').allTextContents())
      .toEqual(Array.from({ length: 7 }, (_, n) => `Reads github,\nservice-${n}`));
    await expectGoodToLookAt('consent', 'menu-open');
  });

  test('says again that MCP is off where it was switched off in between', async () => {
    const id = await makeAgent('deploy-bot', []);
    await openAs(await consentPath());
    await service.admin('PATCH', `/api/agents/${id}`, { body: { mcpEnabled: false } });
    await own.page.getByLabel('deploy-bot').check();
    await click('Allow');
    await expect.poll(() => own.page.getByRole('alert').textContent()).toContain('MCP was switched off');
    expect(await heading()).toBe('Let this program act as your agent?');
    await expectGoodToLookAt('consent', 'refused');
  });
});
