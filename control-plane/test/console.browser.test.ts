import { randomToken } from '@svault/shared';
import { usePage } from '@svault/test-kit/use-page';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { cookieBy } from './support/consent-page.ts';
import { atItsAddress } from './support/page.ts';
import { agentOn, storeOn } from './support/pair-agents.ts';
import { type PairedService, startPairedService } from './support/paired-service.ts';

/** A name that is markup, one from right to left, and one without an end. */
const HOSTILE = ['<b onload=alert(1)>"\'&amp;', 'سوكيل \u202Eevil', 'long'.repeat(25)] as const;

const own = usePage();
const { heading } = own;
let service: PairedService;
let requested: URL[];
/** `svault=…` of an admin of the account. */
let session: string;

beforeAll(async () => {
  const settings = await atItsAddress();
  const env = { ...settings, SV_WEBHOOK_SERVICE_URL: settings.SV_BASE_URL, SV_LIMIT_LINK_LOGIN: '1000' };
  service = await startPairedService({ env, bound: false });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  requested = [];
  const person = { email: `${randomToken(8)}@example.org`, role: 'admin' };
  const added = await service.admin('POST', '/api/members', { body: person });
  session = await cookieBy(service, added.json.link.url);
  own.page.on('request', (request) => requested.push(new URL(request.url())));
  await own.context.clock.setFixedTime(service.clock.now());
});
afterEach(() => {
  expect(own.complaints).toEqual([]);
  const hosts = new Set(requested.map(({ host }) => host));
  expect([...hosts]).toEqual([new URL(service.pair.controlPlaneUrl()).host]);
});

const address = (path: string): string => service.pair.controlPlaneUrl() + path;

/** Opens a screen as a signed-in admin. */
async function open(path: string): Promise<void> {
  const [name = '', value = ''] = session.split('=');
  await own.context.addCookies([{ name, value, url: address('/') }]);
  await own.page.goto(address(path));
}

const states = (): Promise<string[]> =>
  own.page
    .locator('[data-step]')
    .evaluateAll((steps) =>
      (steps as unknown as { dataset: Record<string, string> }[]).map(
        ({ dataset }) => `${dataset['step']} ${dataset['state']}`,
      ),
    );

const figure = (name: string): Promise<string | null> =>
  own.page.locator('dl > div').filter({ hasText: name }).locator('dd').first().textContent();

async function expectSound(name: string): Promise<void> {
  for (const width of [360, 1280]) await own.expectSoundAt([width], `console-${name}`);
  expect(await own.page.locator('header .product').textContent()).toBe(
    `svault ${new URL(own.page.url()).host}`,
  );
  expect(await own.page.locator('footer').textContent()).toContain(
    `svault control plane 0.1.0 at ${new URL(own.page.url()).host}`,
  );
}

describe('Home', () => {
  test('shows the set-up as five steps that tick themselves until an agent has fetched a credential, and then the numbers', async () => {
    await open('/');
    expect(await heading()).toBe('Home');
    await own.page.getByText('Bind the webhook').waitFor();
    expect(await states()).toEqual([
      'bind-webhook open',
      'store-credential open',
      'create-agent open',
      'grant-access open',
      'first-access open',
    ]);
    await own.page.getByText('Not bound').waitFor();
    await expectSound('first-run');

    await service.pair.bind();
    await storeOn(service.pair, 'github', { tokenType: 'PlainText', value: 'a secret of a test' });
    const agent = await agentOn(service.pair, 'github');
    await own.page.reload();
    await own.page.getByText('Let the agent fetch it').waitFor();
    expect(await states()).toEqual([
      'bind-webhook done',
      'store-credential done',
      'create-agent done',
      'grant-access done',
      'first-access open',
    ]);

    expect((await agent.fetch('github')).status).toBe(200);
    await agent.ask('npm');
    await own.page.reload();
    await own.page.getByText('Granted').waitFor();
    expect(await own.page.getByRole('heading', { name: 'Set up' }).count()).toBe(0);
    expect([await figure('Granted'), await figure('Denied'), await figure('Credentials')]).toEqual([
      '1',
      '1',
      '1',
    ]);
    await expectSound('home');
  });

  test('says that the vault is locked, and with which command it is unlocked', async () => {
    await service.admin('POST', '/api/vault/lock');
    await open('/');
    await own.page.getByRole('heading', { name: 'Needs attention' }).waitFor();
    expect(await figure('Vault')).toBe('Locked');
    expect(await own.page.getByText('svault vault unlock').count()).toBe(1);
    await expectSound('locked');
    await service.admin('POST', '/api/vault/unlock');
  });
});

describe('Agents', () => {
  test('lists agents whatever their names are, and leads to each by a permanent address', async () => {
    for (const name of HOSTILE) await service.admin('POST', '/api/agents', { body: { name } });
    await open('/');
    await own.page.getByRole('link', { name: 'Agents' }).first().click();
    await own.page.getByRole('link', { name: HOSTILE[0] }).waitFor();
    expect(await own.page.locator('b').count()).toBe(0);
    await expectSound('agents');
    await own.page.getByRole('link', { name: HOSTILE[0] }).click();
    await own.page.getByText('No grant yet').waitFor();
    expect(await heading()).toBe(HOSTILE[0]);
    await expectSound('agent');
    await own.page.reload();
    await own.page.getByText('No grant yet').waitFor();
    expect(await heading()).toBe(HOSTILE[0]);
  });

  test('keeps the filter and the page in the address, and the way back', async () => {
    for (let n = 0; n < 51; n++) {
      // Agents of one time have no order.
      service.clock.advance(1);
      await service.admin('POST', '/api/agents', { body: { name: `numbered ${n}` } });
    }
    const { json } = await service.admin('GET', '/api/agents?limit=100');
    const { id } = json.items.find(({ name }: { name: string }) => name === 'numbered 50');
    await service.admin('POST', `/api/agents/${id}/suspend`);

    await open('/agents');
    await own.page.getByRole('link', { name: 'Next page' }).click();
    await own.page.getByRole('link', { name: 'numbered 50' }).waitFor();
    const second = own.page.url();
    expect(new URL(second).searchParams.has('cursor')).toBe(true);
    await own.page.goBack();
    await own.page.getByRole('link', { name: 'numbered 0' }).waitFor();
    await own.page.goto(second);
    await own.page.getByRole('link', { name: 'First page' }).waitFor();

    await own.page.keyboard.press('/');
    expect(await own.page.locator(':focus').getAttribute('data-search')).toBe('');
    await own.page.getByLabel('Status').selectOption('suspended');
    await own.page.waitForURL(address('/agents?status=suspended'));
    await expect.poll(() => own.page.locator('main li').count()).toBe(1);
    expect(await own.page.locator('main li a').textContent()).toBe('numbered 50');
  });
});

describe('the shell', () => {
  test('lists its keys at ?, closes the list at Escape, and gives the focus back', async () => {
    await open('/agents');
    await own.page.getByRole('link', { name: 'Home' }).focus();
    await own.page.keyboard.press('?');
    await own.page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    await expectSound('keyboard');
    await own.page.keyboard.press('Escape');
    await own.page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await own.page.locator(':focus').textContent()).toBe('Home');
  });

  test('signs out; where the session has ended elsewhere, leads to the sign-in page and back to the same address', async () => {
    await open('/agents?status=active');
    await own.page.getByRole('link', { name: 'Home' }).waitFor();
    await own.context.clearCookies();
    await own.page.getByRole('link', { name: 'Home' }).click();
    await own.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(new URL(own.page.url()).searchParams.get('returnTo')).toBe('/');
    await open('/login?returnTo=%2Fagents%3Fstatus%3Dactive');
    expect(own.page.url()).toBe(address('/agents?status=active'));
    await own.page.getByRole('button', { name: 'Sign out' }).click();
    await own.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await own.page.goto(address('/agents'));
    expect(await heading()).toBe('Sign in');
    // The browser reports the answers that sent it to sign in, which are what this test is about.
    expect(own.complaints.filter((text) => !text.includes('status of 401'))).toEqual([]);
    own.complaints.splice(0, own.complaints.length);
  });
});
