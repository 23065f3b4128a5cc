import { randomToken } from '@svault/shared';
import { type PageInTest, usePage } from '@svault/test-kit/use-page';
import type { PairOptions } from '@svault/test-kit/pair';
import type { Locator, Request } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { cookieBy } from './consent-page.ts';
import { atItsAddress } from './page.ts';
import { type PairedService, startPairedService } from './paired-service.ts';

/** Markup, one from right to left, and one without an end. */
export const HOSTILE_NAMES = ['<b onload=alert(1)>"\'&amp;', 'سوكيل \u202Eevil', 'long'.repeat(25)] as const;

/** The console in Chromium, on a real control plane with the reference webhook. */
export interface ConsoleInTest extends PageInTest {
  readonly service: PairedService;
  /** `name=value` of the session of a person of this test, who is an admin. */
  readonly session: string;
  /** What the browser has sent in this test, wherever to. */
  readonly requested: Request[];
  /** An address of the control plane. */
  address(path: string): string;
  /** A button, a link or a field by its whole label; not one of a window that is closing. */
  button(label: string | RegExp): Locator;
  link(label: string): Locator;
  field(label: string): Locator;
  /** In the menu of screens, which are also linked elsewhere. */
  screenLink(name: string): Locator;
  /** Opens a screen, signed in as the admin of this test unless another session is given. */
  open(path: string, session?: string): Promise<void>;
  /** Signs a new person in. @returns `name=value` of the session */
  sessionOf(role: 'admin' | 'member'): Promise<string>;
  /** The screen is accessible and no wider than the window at 360 and 1280 px, by day and by night, and in the frame of all. */
  expectSound(name: string): Promise<void>;
  /** Messages of the browser that a test expects; they are not complaints. */
  expectComplaints(...parts: string[]): void;
}

/**
 * A pair for the tests of a file, and a page for each of them. Each test fails on a message of the browser, such as a violation
 * of the content security policy or of Trusted Types, and on a request to anything but the control plane and the webhook.
 *
 * @param options.bound false: no webhook is bound yet
 */
export function useConsole(options: PairOptions = {}): ConsoleInTest {
  const own = usePage() as PageInTest & {
    service: PairedService;
    session: string;
    requested: Request[];
  };
  beforeAll(async () => {
    const settings = await atItsAddress();
    const env = { ...settings, SV_WEBHOOK_SERVICE_URL: settings.SV_BASE_URL, SV_LIMIT_LINK_LOGIN: '1000' };
    own.service = await startPairedService({ ...options, env: { ...env, ...options.env } });
  });
  afterAll(() => own.service?.stop());
  beforeEach(async () => {
    own.requested = [];
    own.session = await sessionOf('admin');
    own.page.on('request', (request) => own.requested.push(request));
    await own.context.clock.setFixedTime(own.service.clock.now());
  });
  afterEach(() => {
    expect(own.complaints).toEqual([]);
    const { pair } = own.service;
    const allowed = [pair.controlPlaneUrl(), pair.webhookUrl].map((url) => new URL(url).host);
    const hosts = new Set(own.requested.map((request) => new URL(request.url()).host));
    expect([...hosts].filter((host) => !allowed.includes(host))).toEqual([]);
  });

  const address = (path: string): string => own.service.pair.controlPlaneUrl() + path;
  const sessionOf = async (role: 'admin' | 'member'): Promise<string> => {
    const person = { email: `${randomToken(8).toLowerCase()}@example.org`, role };
    const added = await own.service.admin('POST', '/api/members', { body: person });
    return cookieBy(own.service, added.json.link.url);
  };
  const unlessClosing = (locator: Locator): Locator => locator.and(own.page.locator(':not([data-closed] *)'));
  return Object.assign(own, {
    address,
    sessionOf,
    button: (label: string | RegExp) =>
      unlessClosing(own.page.getByRole('button', { name: label, exact: true })),
    link: (label: string) => unlessClosing(own.page.getByRole('link', { name: label, exact: true })),
    field: (label: string) => unlessClosing(own.page.getByLabel(label, { exact: true })),
    screenLink: (name: string) =>
      own.page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name, exact: true }),
    open: async (path: string, session = own.session) => {
      const [name = '', value = ''] = session.split('=');
      await own.context.addCookies([{ name, value, url: address('/') }]);
      await own.page.goto(address(path));
    },
    expectSound: async (name: string) => {
      await own.page.locator('h1').waitFor();
      await own.expectSoundAt([1280, 360], `console-${name}`);
      await expect
        .poll(() => own.page.locator('header .product').textContent())
        .toBe(`svault ${new URL(own.page.url()).host}`);
      await expect
        .poll(() => own.page.locator('footer').textContent())
        .toContain(`at ${new URL(own.page.url()).host}`);
    },
    expectComplaints: (...parts: string[]) => {
      expect(own.complaints.filter((text) => !parts.some((part) => text.includes(part)))).toEqual([]);
      own.complaints.splice(0, own.complaints.length);
    },
  });
}
