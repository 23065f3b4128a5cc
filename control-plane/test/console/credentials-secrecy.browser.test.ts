import { randomToken } from '@svault/shared';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { encodeQR } from 'qr';
import type { Request } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { databaseBytes, databasePath } from '../support/database-files.ts';
import { useConsole } from '../support/console.ts';
import { storeOn } from '../support/pair-agents.ts';

const own = useConsole({ logLevel: 'trace' });

const { button, field } = own;

/** What the browser has of a site: storage, history and the document with what is typed into it. */
const KEPT_BY_BROWSER = `(async () => {
  const databases = await indexedDB.databases();
  const caches = await globalThis.caches?.keys() ?? [];
  return JSON.stringify([
    { ...localStorage }, { ...sessionStorage }, databases, caches, document.cookie, history.state, location.href, window.name,
    document.documentElement.outerHTML,
    [...document.querySelectorAll('input, textarea, select')].map(({ value }) => value),
    performance.getEntries().map(({ name }) => name),
  ]);
})()`;

/** The heap of the page's scripts: React's state and the query cache are in it. */
async function heap(): Promise<string> {
  const session = await own.context.newCDPSession(own.page);
  const chunks: string[] = [];
  session.on('HeapProfiler.addHeapSnapshotChunk', ({ chunk }) => chunks.push(chunk));
  await session.send('HeapProfiler.enable');
  await session.send('HeapProfiler.collectGarbage');
  await session.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
  await session.detach();
  return chunks.join('');
}

async function sentIn(request: Request): Promise<string> {
  const headers = JSON.stringify(await request.allHeaders().catch(() => request.headers()));
  return [request.url(), headers, request.postData() ?? ''].join('\n');
}

/** Where traces of secrets are, in everything but what went to the webhook. */
async function tracesIn(secrets: readonly string[]): Promise<string[]> {
  const { pair } = own.service;
  const { host } = new URL(pair.controlPlaneUrl());
  const toControlPlane = own.requested.filter((request) => new URL(request.url()).host === host);
  const places: Record<string, string | Buffer> = {
    'requests to the control plane': (await Promise.all(toControlPlane.map(sentIn))).join('\n'),
    'the browser': String(await own.page.evaluate(KEPT_BY_BROWSER)),
    'the heap': await heap(),
    'cookies and storage': JSON.stringify(await own.context.storageState({ indexedDB: true })),
    "the control plane's log": pair.logOf('control-plane'),
    "the control plane's database": databaseBytes(databasePath(pair)),
  };
  return Object.entries(places).flatMap(([place, content]) =>
    secrets.filter((secret) => tracesOf(secret, Buffer.from(content)).length > 0).map(() => place),
  );
}

async function openForm(kind: string, name: string): Promise<void> {
  await own.open('/add-credential');
  await own.page.getByRole('link', { name: kind }).click();
  await field('Name').fill(name);
}

const isStored = async (name: string): Promise<void> => {
  await own.page.waitForURL(own.address(`/credentials/${encodeURIComponent(name)}`));
  await own.page.getByText('1, stored').waitFor();
};

describe('a secret that is typed into the console', () => {
  test('is nowhere but at the webhook: no request to the control plane, log, database, storage, page or memory has it', async () => {
    const [client, access, refresh] = [randomToken(30), randomToken(30), randomToken(30)];
    const secrets = [client, access, refresh];
    await openForm('OAuth tokens', 'secret-oauth');
    await button('Google').click();
    await field('Client id').fill('client');
    await field('Client secret').fill(client);
    await field('Access token').fill(access);
    await field('Refresh token').fill(refresh);
    // It is looked for where it can be found.
    expect([...new Set(await tracesIn(secrets))]).toEqual(['the browser', 'the heap']);
    await button('Store').click();
    await isStored('secret-oauth');
    const stores = own.requested.filter((request) => request.url().endsWith('/v1/store'));
    const posts = stores.filter((request) => request.method() === 'POST');
    expect(posts.map((request) => request.url())).toEqual([`${own.service.pair.webhookUrl}/v1/store`]);
    expect(secrets.filter((secret) => posts[0]?.postData()?.includes(secret))).toEqual(secrets);
    expect(await tracesIn(secrets)).toEqual([]);
  });

  test('is nowhere after the form is left without a store, by a link, by Back or by another kind', async () => {
    const secret = randomToken(30);
    await openForm('API key or password', 'secret-left');
    await field('Secret').fill(secret);
    await own.screenLink('Agents').click();
    await expect.poll(() => own.heading()).toBe('Agents');
    expect(await tracesIn([secret])).toEqual([]);
    await own.page.goBack();
    await expect.poll(() => field('Secret').inputValue()).toBe('');
    await field('Secret').fill(secret);
    await own.page.goBack();
    await own.page.getByRole('link', { name: 'SSH key' }).waitFor();
    expect(await tracesIn([secret])).toEqual([]);
    await own.page.goForward();
    await expect.poll(() => field('Secret').inputValue()).toBe('');
    await field('Secret').fill(secret);
    await own.page.goto(own.address('/agents'));
    await own.page.goBack();
    await field('Name').waitFor();
    await expect.poll(() => field('Secret').inputValue()).toBe('');
    expect(await tracesIn([secret])).toEqual([]);
  });

  test('is in no message or request where the store fails, and is cleared by the next that succeeds', async () => {
    const secret = randomToken(30);
    await openForm('API key or password', 'secret-refused');
    await field('Secret').fill(secret);
    await own.page.route('**/v1/store', (route) => route.abort());
    await button('Store').click();
    await own.page.getByRole('alert').getByText('did not answer this browser').waitFor();
    const page = await own.page.evaluate('document.documentElement.outerHTML');
    expect(tracesOf(secret, Buffer.from(String(page)))).toEqual([]);
    await own.page.unroute('**/v1/store');
    await button('Store its secret').click();
    await isStored('secret-refused');
    expect(await tracesIn([secret])).toEqual([]);
    own.expectComplaints('ERR_FAILED');
  });

  test('from a QR picture is nowhere either', async () => {
    const seed = [...randomToken(60).toUpperCase()]
      .filter((each) => /[A-Z2-7]/.test(each))
      .join('')
      .slice(0, 32);
    const uri = `otpauth://totp/ACME:a?secret=${seed}`;
    await openForm('One-time codes', 'secret-totp');
    await field('Choose a picture').setInputFiles({
      name: 'code.gif',
      mimeType: 'image/gif',
      buffer: Buffer.from(encodeQR(uri, 'gif', { scale: 6 })),
    });
    await own.page.getByText('The QR code is read.').waitFor();
    await button('Store').click();
    await isStored('secret-totp');
    expect(await tracesIn([seed])).toEqual([]);
  });
});

type Json = Readonly<Record<string, unknown>>;

describe('a compromised control plane that serves hostile answers', () => {
  const LONG = '<img src=x onerror=alert(1)>\u202E\u2067'.repeat(400).slice(0, 10_000);

  /** Changes the JSON of the control plane's answers, as its attacker would. */
  async function changing(path: string, change: (json: Json) => unknown): Promise<void> {
    await own.page.route(`**${path}`, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: change((await response.json()) as Json) });
    });
  }

  test('gets no secret by naming another webhook in the ticket', async () => {
    const secret = randomToken(30);
    await changing('/api/tokens', ({ store, ...json }) => ({
      ...json,
      store: { ...(store as Json), url: 'https://evil.example/v1/store' },
    }));
    await openForm('API key or password', 'redirected');
    await field('Secret').fill(secret);
    await button('Store').click();
    await own.page.getByRole('alert').getByText('names another webhook now: https://evil.example').waitFor();
    await expect.poll(() => field('Secret').inputValue()).toBe(secret);
    expect(own.requested.filter((request) => request.url().includes('evil.example'))).toEqual([]);
    await own.expectSound('credential-other-webhook');
  });

  test('is asked about where this browser sent secrets to another webhook before', async () => {
    await openForm('API key or password', 'moved-first');
    await field('Secret').fill('a value of a test');
    await button('Store').click();
    await isStored('moved-first');
    await own.page.evaluate(
      "for (const key of Object.keys(localStorage)) localStorage.setItem(key, 'https://former.example')",
    );
    await openForm('API key or password', 'moved');
    await own.page.getByText('went to https://former.example before').waitFor();
    await field('Secret').fill('a value of a test');
    await button('Store').click();
    await own.page.getByText('Nothing is sent to another webhook unless you say so.').waitFor();
    await own.expectSound('credential-webhook-moved');
    expect((await own.service.admin('GET', '/api/tokens/moved')).status).toBe(404);
    await own.page.getByRole('checkbox', { name: 'is my webhook now' }).check();
    await button('Store').click();
    await isStored('moved');
    await openForm('API key or password', 'moved-again');
    await own.page.getByText('Goes straight from this browser').waitFor();
    expect(await own.page.getByText('former.example').count()).toBe(0);
  });

  test('shows names, hosts and texts of 10,000 characters as text, and the screens hold', async () => {
    await storeOn(own.service.pair, 'hostile', { tokenType: 'PlainText', value: 'a value of a test' });
    const hostile = (token: Json): Json => ({
      ...token,
      displayName: LONG,
      description: LONG,
      notes: LONG,
      webhook: { ...(token['webhook'] as Json), allowedHosts: [LONG] },
    });
    const secret = randomToken(30);
    await changing('/api/tokens?*', (page) => ({ items: (page['items'] as Json[]).map(hostile) }));
    await changing('/api/tokens', (page) => ({ items: (page['items'] as Json[]).map(hostile) }));
    await changing('/api/tokens/hostile', hostile);
    await changing('/api/reach?*', () => ({
      items: [
        {
          caller: { type: 'agent', id: '../../evil', name: LONG, status: 'active', lastUsedAt: null },
          credential: {},
          grant: null,
          policies: [],
          channels: [{ channel: 'rest', denial: LONG }],
        },
      ],
    }));
    await own.open('/credentials');
    await own.link('hostile').waitFor();
    await own.expectSound('credentials-hostile');
    await own.link('hostile').click();
    await own.page.getByText('Who can reach it').waitFor();
    await own.expectSound('credential-hostile');
    expect(await own.page.locator('main img').count()).toBe(0);
    await own.open('/credentials/hostile/secret');
    await field('Secret').fill(secret);
    await field('Hosts').fill('');
    await field('Headers').fill('');
    await button('Replace').click();
    await own.page.waitForURL(own.address('/credentials/hostile'));
    await own.page.getByText('Who can reach it').waitFor();
    await own.page.unrouteAll();
    expect(await tracesIn([secret])).toEqual([]);
  });
});
