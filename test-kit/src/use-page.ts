import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { launchChromium } from './chromium.ts';

/** A desktop, a phone, and the narrowest that WCAG 2.2 asks for (1.4.10). */
const WIDTHS = [1280, 390, 320];
const HEIGHT = 800;
/** Of what the tests start; passkeys need a name. */
const OWN_HOSTS = ['127.0.0.1', 'localhost'];
/** More than the focusable elements of any page or dialog that a test goes through by Tab. */
const MAX_TABS = 10;

/** A page of a new browser context, for each test of a file. */
export interface PageInTest {
  readonly browser: Browser;
  readonly context: BrowserContext;
  readonly page: Page;
  /** Messages of the browser: blocked styles, redirects and frames, errors. */
  readonly complaints: string[];
  heading(): Promise<string | null>;
  /** Presses a key that loads a page. */
  press(key: string): Promise<void>;
  /** A tap by a finger at the middle of it, where it is in sight. */
  tap(wanted: Locator): Promise<void>;
  /** Presses Tab until this element has the focus. */
  tabTo(wanted: Locator): Promise<void>;
  /**
   * The page has this name and what all pages have, leads on, is accessible, and no wider than the window, by day and by
   * night. With SCREENSHOTS in the environment, a picture of each is put there.
   *
   * @param variant of the page, for the picture's name
   */
  expectGoodToLookAt(name: string, variant?: string): Promise<void>;
  /** The page is accessible and no wider than the window at each of these widths, by day and by night. */
  expectSoundAt(widths: readonly number[], name: string, variant?: string): Promise<void>;
}

/** Its members are there once `beforeEach` has run, `browser` once `beforeAll` has. @param args of the browser's command line */
export function usePage(...args: readonly string[]): PageInTest {
  const own = {} as { browser: Browser; context: BrowserContext; page: Page; complaints: string[] };
  beforeAll(async () => {
    own.browser = await launchChromium(args);
  });
  afterAll(() => own.browser?.close());
  beforeEach(async () => {
    own.context = await own.browser.newContext();
    own.page = await own.context.newPage();
    own.complaints = [];
    own.page.on('console', (message) => {
      if (message.type() === 'error' && !message.location().url.endsWith('/favicon.ico'))
        own.complaints.push(message.text());
    });
    own.page.on('pageerror', ({ message }) => own.complaints.push(message));
    own.page.on('request', (request) => {
      if (!OWN_HOSTS.includes(new URL(request.url()).hostname))
        own.complaints.push(`a request to ${request.url()}`);
    });
  });
  afterEach(() => own.context.close());
  const expectSoundAt: PageInTest['expectSoundAt'] = async (widths, name, variant) => {
    const { page } = own;
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const width of widths) {
        await page.setViewportSize({ width, height: HEIGHT });
        const { violations } = await axeFor(page, colorScheme).analyze();
        const found = violations.map(({ id, help, nodes }) => [id, help, nodes[0]?.html]);
        expect({ name, width, colorScheme, found }).toEqual({ name, width, colorScheme, found: [] });
        const wide = await page.evaluate('document.documentElement.scrollWidth');
        expect([name, width, Number(wide) <= width]).toEqual([name, width, true]);
        await keepPicture(page, [name, variant, colorScheme, width]);
      }
    }
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: WIDTHS[0] ?? 0, height: HEIGHT });
  };
  const expectGoodToLookAt = async (name: string, variant?: string): Promise<void> => {
    await expectWhatAllPagesHave(own.page, name);
    await expectSoundAt(WIDTHS, name, variant);
  };
  return Object.assign(own, {
    heading: () => own.page.locator('h1').textContent(),
    press: async (key: string) => {
      await Promise.all([own.page.waitForEvent('load'), own.page.keyboard.press(key)]);
    },
    tap: (wanted: Locator) => tap(own.page, wanted),
    tabTo: (wanted: Locator) => tabTo(own.page, wanted),
    expectGoodToLookAt,
    expectSoundAt,
  });
}

async function tap(page: Page, wanted: Locator): Promise<void> {
  const box = await wanted.boundingBox();
  if (box === null) throw new Error('what is to be tapped is not shown');
  // It stays until the page goes: its end would end the emulation before the touch has become a click.
  const cdp = await page.context().newCDPSession(page);
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await cdp.send('Emulation.setTouchEmulationEnabled', { enabled: true });
  await cdp.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] });
  await cdp.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
}

async function tabTo(page: Page, wanted: Locator): Promise<void> {
  // The focus guards of a dialog move the focus on a frame later. A press before that leaves the dialog.
  const focused = page.locator(':focus:not([data-base-ui-focus-guard])');
  const reached = focused.and(wanted);
  for (let presses = 0; presses < MAX_TABS && (await reached.count()) === 0; presses++) {
    await page.keyboard.press('Tab');
    await focused.waitFor({ state: 'attached' });
  }
  await expect.poll(() => reached.count()).toBe(1);
}

/** WCAG 2.2 AA in full: axe-core leaves its one rule of 2.2, for the size of targets, out unless its tag is named. */
const WCAG_2_2_AA = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** By night only the colours differ. */
const axeFor = (page: Page, colorScheme: 'light' | 'dark'): AxeBuilder => {
  const axe = new AxeBuilder({ page });
  return colorScheme === 'light'
    ? axe.withTags(WCAG_2_2_AA)
    : axe.withRules(['color-contrast', 'link-in-text-block']);
};

/** The same mark, name, instance and footer; and a way on: a form, or text about what is next. */
async function expectWhatAllPagesHave(page: Page, name: string): Promise<void> {
  expect(await page.locator('main').getAttribute('data-page')).toBe(name);
  const { host } = new URL(page.url());
  expect(await page.locator('header .mark').count()).toBe(1);
  expect(await page.locator('header .product').textContent()).toBe(`svault ${host}`);
  expect(await page.locator('footer').textContent()).toContain(`at ${host}`);
  const ways = page.locator('main > .next, main > form');
  expect([name, (await ways.count()) > 0]).toEqual([name, true]);
}

async function keepPicture(page: Page, parts: readonly (string | number | undefined)[]): Promise<void> {
  const folder = process.env['SCREENSHOTS'];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${parts.filter((part) => part !== undefined).join('-')}.png`);
  await page.screenshot({ path, fullPage: true });
}
