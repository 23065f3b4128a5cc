import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { launchChromium } from '@svault/test-kit/chromium';
import { tempDir } from '@svault/test-kit/temp-dir';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Pair, startPair } from '../src/pair.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser?.close());

const dir = tempDir();
let pair: Pair;
let setupToken: string;
let context: BrowserContext;
let page: Page;
/** What the browser complained about: blocked styles, failed loads, errors. */
let complaints: string[];

beforeAll(async () => {
  pair = await startPair({ dir: dir.path, env: { SV_LOG_LEVEL: 'warn' } });
  setupToken = readFileSync(join(dir.path, 'webhook-setup.token'), 'utf8').trim();
});
afterAll(async () => {
  await pair?.stop();
  dir.remove();
});

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

const ownerLink = async (): Promise<string> =>
  /https?:\S+/.exec(await pair.run('control-plane', 'owner-link'))![0];

async function unbind(): Promise<void> {
  await pair.admin.call('DELETE', '/api/webhook');
  await pair.run('webhook', 'unseal-bind');
}

/** Presses Enter where the page has put the focus, or on the first button that Tab reaches. */
async function confirmByKeyboard(): Promise<void> {
  if ((await page.locator('button:focus, input:focus').count()) === 0) await page.keyboard.press('Tab');
  await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
}

const heading = (): Promise<string | null> => page.locator('h1').textContent();
const fingerprint = (): Promise<string | null> => page.locator('.fingerprint').textContent();

async function expectAccessible(): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map(({ id, help }) => `${id}: ${help}`)).toEqual([]);
}

describe('binding in a browser', () => {
  it('leads from the owner link to a bound webhook with the keyboard only', async () => {
    await unbind();
    await page.goto(await ownerLink());
    await expectAccessible();
    await confirmByKeyboard();
    expect(await heading()).toBe('You are signed in');

    await page.goto(`${pair.webhookUrl}/bind`);
    await expectAccessible();
    await page.keyboard.type(setupToken);
    await confirmByKeyboard();
    expect(await heading()).toBe('Connect this webhook');
    await expectAccessible();
    const shownByWebhook = await fingerprint();

    await confirmByKeyboard();
    expect(page.url()).toBe(`${pair.controlPlaneUrl}/vault/webhook-bind`);
    expect(await fingerprint()).toBe(shownByWebhook);
    await expectAccessible();
    expect((await pair.admin.call<{ bound: boolean }>('GET', '/api/webhook')).bound).toBe(false);

    await confirmByKeyboard();
    expect(await heading()).toBe('A webhook is bound');
    const bound = await pair.admin.call<{ bound: boolean; url: string }>('GET', '/api/webhook');
    expect([bound.bound, bound.url]).toEqual([true, pair.webhookUrl]);
    expect(complaints).toEqual([]);
  });

  it('asks who is not signed in to sign in, and goes on from there', async () => {
    await unbind();
    await page.goto(/https?:\S+/.exec(await pair.run('webhook', 'bind-link'))![0]);
    expect(await heading()).toBe('Sign in');
    expect(page.url()).not.toContain('code=');
    const signIn = await context.newPage();
    await signIn.goto(await ownerLink());
    await Promise.all([signIn.waitForEvent('load'), signIn.getByRole('button').click()]);
    await page.reload();
    expect(await heading()).toBe('Bind this webhook?');
    await confirmByKeyboard();
    expect(await heading()).toBe('A webhook is bound');
  });

  it('says that a wrong set-up token is wrong, and that a bound webhook is bound', async () => {
    await unbind();
    await page.goto(`${pair.webhookUrl}/bind`);
    await page.keyboard.type('not the set-up token of this webhook');
    await confirmByKeyboard();
    expect(await page.getByRole('alert').textContent()).toContain('not the set-up token');
    await page.keyboard.type(setupToken);
    await confirmByKeyboard();
    expect(await heading()).toBe('Connect this webhook');
  });

  it('shows nothing inside a frame of another page', async () => {
    for (const url of [`${pair.webhookUrl}/bind`, `${pair.controlPlaneUrl}/vault/webhook-bind`]) {
      await page.setContent(`<iframe src="${url}"></iframe>`);
      const frame = await page.locator('iframe').elementHandle();
      const content = await frame?.contentFrame();
      await content?.waitForLoadState().catch(() => undefined);
      expect(await content?.locator('main').count()).toBe(0);
    }
  });
});
