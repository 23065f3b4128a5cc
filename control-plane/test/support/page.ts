import { mkdirSync } from 'node:fs';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { freePort } from '@svault/compose/free-port';
import { launchChromium } from '@svault/test-kit/chromium';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';

/** A desktop, and the narrowest that WCAG 2.2 asks for (1.4.10). */
const WIDTHS = [1280, 320];

/** A page of a new browser context, for each test of a file. */
export interface PageInTest {
  readonly browser: Browser;
  readonly context: BrowserContext;
  readonly page: Page;
  /** Messages of the browser: blocked styles, redirects and frames, errors. */
  readonly complaints: readonly string[];
  heading(): Promise<string | null>;
  /** Presses a key that loads a page. */
  press(key: string): Promise<void>;
  /** Accessible, and no wider than the window, by day and by night. With SCREENSHOTS in the environment, a picture of each is put there. */
  expectGoodToLookAt(name: string): Promise<void>;
}

/** Its members are there once `beforeEach` has run, `browser` once `beforeAll` has. */
export function usePage(): PageInTest {
  const own = {} as { browser: Browser; context: BrowserContext; page: Page; complaints: string[] };
  beforeAll(async () => {
    own.browser = await launchChromium();
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
  });
  afterEach(() => own.context.close());
  const expectGoodToLookAt = async (name: string): Promise<void> => {
    const { page } = own;
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
  };
  return Object.assign(own, {
    heading: () => own.page.locator('h1').textContent(),
    press: async (key: string) => {
      await Promise.all([own.page.waitForEvent('load'), own.page.keyboard.press(key)]);
    },
    expectGoodToLookAt,
  });
}

/** Settings of a service whose public address is where it listens. */
export async function atItsAddress() {
  const port = await freePort();
  return { SV_BASE_URL: `http://127.0.0.1:${port}`, SV_LISTEN: `127.0.0.1:${port}` };
}

/** A client that listens on this computer. */
export interface RedirectTarget {
  readonly server: Server;
  readonly redirectUri: string;
  /** Requests of `/callback`. */
  readonly arrivals: URL[];
}

/** @param title what its page says */
export async function startRedirectTarget(title: string): Promise<RedirectTarget> {
  const arrivals: URL[] = [];
  const server = createServer(({ url }, res) => {
    const address = new URL(url ?? '', 'http://127.0.0.1');
    if (address.pathname === '/callback') arrivals.push(address);
    res.setHeader('content-type', 'text/html').end(`<title>done</title><h1>${title}</h1>`);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    server,
    redirectUri: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`,
    arrivals,
  };
}
