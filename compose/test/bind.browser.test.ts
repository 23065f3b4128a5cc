import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from '@svault/test-kit/temp-dir';
import { usePage } from '@svault/test-kit/use-page';
import { WEBHOOK_PAGES, type WebhookPageName } from '@svault/test-kit/webhook-pages';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Pair, startPair } from '../src/pair.ts';

const own = usePage();
const { heading, expectGoodToLookAt } = own;
const dir = tempDir();
let pair: Pair;
let setupToken: string;

beforeAll(async () => {
  pair = await startPair({ dir: dir.path, env: { SV_LOG_LEVEL: 'warn' } });
  setupToken = readFileSync(join(dir.path, 'webhook-setup.token'), 'utf8').trim();
});
afterAll(async () => {
  await pair?.stop();
  dir.remove();
});

const ownerLink = async (): Promise<string> =>
  /https?:\S+/.exec(await pair.run('control-plane', 'owner-link'))![0];

async function unbind(): Promise<void> {
  if (await isBound()) await pair.admin.call('DELETE', '/api/webhook');
  await pair.run('webhook', 'unseal-bind');
}

async function openBindPage(): Promise<void> {
  await unbind();
  await own.page.goto(`${pair.webhookUrl}/bind`);
}

/** Presses Enter where the page puts the focus, or on the first button that Tab reaches. */
async function confirmByKeyboard(): Promise<void> {
  const first = own.page.locator('[autofocus]');
  // The browser puts it there with the next frame.
  if ((await first.count()) === 1) await first.and(own.page.locator(':focus')).waitFor();
  else await own.page.keyboard.press('Tab');
  await own.press('Enter');
}

async function enterToken(token = setupToken): Promise<void> {
  await own.page.locator('input:focus').waitFor();
  await own.page.keyboard.type(token);
  await confirmByKeyboard();
}

const fingerprint = (): Promise<string | null> => own.page.locator('.fingerprint').textContent();
const click = async (name: string): Promise<void> => {
  await Promise.all([
    own.page.waitForEvent('load'),
    own.page.getByRole('button', { name, exact: true }).click(),
  ]);
};
/** Where binding ends: the screen of the webhook, which answers. */
async function expectBoundInConsole(): Promise<void> {
  expect(own.page.url()).toBe(`${pair.controlPlaneUrl}/webhook`);
  await own.page.getByText('Answers').waitFor();
}
const isBound = async (): Promise<boolean> =>
  (await pair.admin.call<{ bound: boolean }>('GET', '/api/webhook')).bound;

/** How each page of the webhook is reached. A new page has no row yet, which does not compile. */
const PAGES: Readonly<Record<WebhookPageName, () => Promise<unknown>>> = {
  'set-up-token': openBindPage,
  connect: async () => {
    await openBindPage();
    await enterToken();
  },
  cancelled: async () => {
    await PAGES.connect();
    await click('Cancel');
  },
  connected: async () => {
    await own.page.goto(await ownerLink());
    await click('Sign in');
    await PAGES.connect();
    await click('Connect');
    await click('Bind webhook');
    await own.page.goto(`${pair.webhookUrl}/bind`);
  },
  refused: async () => {
    await openBindPage();
    while ((await heading()) === 'Bind this webhook') await enterToken('wrong');
  },
  'not-found': () => own.page.goto(`${pair.webhookUrl}/`),
};

describe('the pages of a webhook', () => {
  it.each(WEBHOOK_PAGES)('the page %s is accessible, leads on, and looks like all others', async (name) => {
    await PAGES[name]();
    await expectGoodToLookAt(name, 'webhook');
    expect(own.complaints.filter((text) => !/status of 4\d\d/.test(text))).toEqual([]);
  });

  it('say how long to wait after too many wrong set-up tokens', async () => {
    await PAGES.refused();
    await expect
      .poll(() => own.page.getByRole('alert').textContent())
      .toMatch(/Try again in \d+ seconds?\.$/);
  });

  it('cancel: the link that was offered binds nothing afterwards', async () => {
    await PAGES.connect();
    const offered = await own.page.locator('input[name=connect_token]').inputValue();
    await click('Cancel');
    const body = new URLSearchParams({ connect_token: offered });
    const answer = await fetch(`${pair.webhookUrl}/bind`, { method: 'POST', body, redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([403, null]);
    expect(await isBound()).toBe(false);
  });
});

describe('binding in a browser', () => {
  it('leads from the owner link to a bound webhook with the keyboard only', async () => {
    await own.page.goto(await ownerLink());
    await confirmByKeyboard();
    await own.page.getByRole('heading', { name: 'Home' }).waitFor();

    await openBindPage();
    await enterToken();
    expect(await heading()).toBe('Connect this webhook');
    const shownByWebhook = await fingerprint();

    await confirmByKeyboard();
    expect(own.page.url()).toBe(`${pair.controlPlaneUrl}/vault/webhook-bind`);
    expect(await fingerprint()).toBe(shownByWebhook);
    expect(await isBound()).toBe(false);

    await confirmByKeyboard();
    await expectBoundInConsole();
    const bound = await pair.admin.call<{ bound: boolean; url: string }>('GET', '/api/webhook');
    expect([bound.bound, bound.url]).toEqual([true, pair.webhookUrl]);
    expect(own.complaints).toEqual([]);
  });

  it('asks who is not signed in to sign in, and goes on from there', async () => {
    await unbind();
    await own.page.goto(/https?:\S+/.exec(await pair.run('webhook', 'bind-link'))![0]);
    expect(await heading()).toBe('Sign in');
    expect(own.page.url()).not.toContain('code=');
    const signIn = await own.context.newPage();
    await signIn.goto(await ownerLink());
    await Promise.all([signIn.waitForEvent('load'), signIn.getByRole('button').first().click()]);
    await own.page.reload();
    expect(await heading()).toBe('Bind this webhook?');
    await confirmByKeyboard();
    await expectBoundInConsole();
  });

  it('says that a wrong set-up token is wrong, and takes the right one after it', async () => {
    // Its count of wrong tokens starts anew.
    await pair.process('webhook').stop();
    await pair.restart('webhook');
    await openBindPage();
    await enterToken('not the set-up token of this webhook');
    await expect.poll(() => own.page.getByRole('alert').textContent()).toContain('not the set-up token');
    await enterToken();
    expect(await heading()).toBe('Connect this webhook');
  });

  it('shows nothing inside a frame of another page', async () => {
    for (const url of [`${pair.webhookUrl}/bind`, `${pair.controlPlaneUrl}/vault/webhook-bind`]) {
      await own.page.setContent(`<iframe src="${url}"></iframe>`);
      const frame = await own.page.locator('iframe').elementHandle();
      const content = await frame?.contentFrame();
      await content?.waitForLoadState().catch(() => undefined);
      expect(await content?.locator('main').count()).toBe(0);
    }
  });
});
