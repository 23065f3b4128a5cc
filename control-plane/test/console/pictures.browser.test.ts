import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fillAccount } from '@svault/compose/demo-account';
import { type DemoOutside, startOutside } from '@svault/compose/demo-outside';
import { freePort } from '@svault/compose/free-port';
import { usePage } from '@svault/test-kit/use-page';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cookieBy } from '../support/consent-page.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';

/** Where `npm start` has the console: a picture shows no address of the machine that made it. */
const SHOWN = 'http://127.0.0.1:8080';
const SIZE = { width: 1280, height: 1120 };
const AN_HOUR_MS = 60 * 60_000;

const port = await freePort();
const own = usePage(`--host-resolver-rules=MAP ${new URL(SHOWN).host} 127.0.0.1:${port}`);
let outside: DemoOutside & { stop(): Promise<void> };
let service: PairedService;

beforeAll(async () => {
  outside = await startOutside();
  const env = { SV_BASE_URL: SHOWN, SV_WEBHOOK_SERVICE_URL: SHOWN, SV_LISTEN: `127.0.0.1:${port}` };
  service = await startPairedService({ env });
});
afterAll(async () => {
  await service?.stop();
  await outside?.stop();
});

/** `npm run docs:pictures` keeps them for the README: PICTURES is the folder, from the root. */
test('Home of an account that was used for a day is sound, and is the picture of the README', async () => {
  const { pair, clock, admin } = service;
  const controlPlaneUrl = pair.controlPlaneUrl();
  const body = { email: 'owner@example.com', role: 'admin' };
  const { link } = (await admin('POST', '/api/members', { body })).json;
  await fillAccount({ admin: pair.admin, controlPlaneUrl }, outside, () => clock.advance(AN_HOUR_MS));
  const [name = '', value = ''] = (await cookieBy(service, link.url)).split('=');
  await own.context.addCookies([{ name, value, url: SHOWN }]);
  await own.context.clock.setFixedTime(clock.now());
  await own.page.setViewportSize(SIZE);
  await own.page.goto(SHOWN);
  await own.page.getByText('Granted').first().waitFor();
  const text = (await own.page.textContent('body')) ?? '';
  expect(new Set(text.match(/127\.0\.0\.1:\d+/g))).toEqual(new Set([new URL(SHOWN).host]));
  expect(text).not.toContain(pair.dir);
  await own.expectSoundAt([SIZE.width, 360], 'console-picture');
  expect(own.complaints).toEqual([]);

  const folder = process.env['PICTURES'];
  if (folder === undefined) return;
  const kept = resolve(import.meta.dirname, '../../..', folder);
  mkdirSync(kept, { recursive: true });
  await own.page.setViewportSize(SIZE);
  for (const colorScheme of ['light', 'dark'] as const) {
    await own.page.emulateMedia({ colorScheme });
    await own.page.screenshot({ path: join(kept, `console-${colorScheme}.png`) });
  }
});
