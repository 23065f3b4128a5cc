import type { RequestListener } from 'node:http';
import { gzipSync } from 'node:zlib';
import { type Egress, createEgress } from '@svault/shared/egress';
import { ManualClock } from '@svault/shared';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClientDocuments } from '../../src/authorization-server/client-metadata-documents.ts';
import { textOf } from '../support/browser.ts';
import { newProof } from '../support/cli-client.ts';
import { authorizationPath, cookieBy, formOf, postForm } from '../support/consent-page.ts';
import { type DocumentHost, sendDocument, startDocumentHost } from '../support/document-host.ts';
import {
  type Answer,
  type ManagementService,
  clientOf,
  startService,
} from '../support/management-service.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const REDIRECT = 'https://app.example/callback';

let host: DocumentHost;
let service: ManagementService;
let cookie: string;
let agentId: string;
let made = 0;

beforeAll(async () => {
  host = await startDocumentHost();
  // The host name only: other addresses of this computer stay denied.
  service = await startService({ SV_EGRESS_ALLOW: 'localhost', SV_LIMIT_OAUTH_AUTHORIZE: '100000' });
  cookie = await cookieBy(service, service.running.ownerLink ?? '');
  const { json } = await service.admin('POST', '/api/agents', { body: { name: 'a', mcpEnabled: true } });
  agentId = json.agent.id;
});
afterAll(async () => {
  await service?.stop();
  await host?.stop();
});

/** A new address with a valid document. */
function newClient(more: object = {}): {
  readonly id: string;
  readonly path: string;
  readonly document: object;
} {
  const path = `/clients/${++made}.json`;
  const id = host.origin + path;
  const document = { client_id: id, client_name: 'Inspector', redirect_uris: [REDIRECT], ...more };
  return { id, path, document };
}
/** A client whose document a handler serves. */
function clientAnswering(answer: (document: object) => RequestListener, more?: object) {
  const client = newClient(more);
  host.paths.set(client.path, answer(client.document));
  return client;
}
function describedClient(more?: object) {
  const client = newClient(more);
  host.paths.set(client.path, client.document);
  return client;
}
const fetches = (path: string): number => host.asked.filter((asked) => asked === path).length;

const open = (clientId: string, redirectUri = REDIRECT, as = cookie): Promise<Answer> =>
  clientOf(service.running.url, { cookie: as })(
    'GET',
    authorizationPath({
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      code_challenge: newProof().codeChallenge,
      code_challenge_method: 'S256',
    }),
  );
const allow = ({ text }: Answer): Promise<Answer> =>
  postForm(service.running.url, cookie, formOf(text, { agentId }));

function expectErrorPage(answer: Answer, words: string): void {
  expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
  expect(textOf(answer.text)).toContain('This program cannot be let in');
  expect(textOf(answer.text)).toContain(words);
}

describe('a client with a metadata document', () => {
  test('the consent page shows the host of the document as verified, and the client name as unverified', async () => {
    const { id, path } = describedClient();
    const page = await open(id);
    expect(page.status).toBe(200);
    const text = textOf(page.text);
    for (const words of ['Inspector', 'unverified name', `localhost:${host.port}`, 'app.example'])
      expect(text).toContain(words);
    const answer = await allow(page);
    const location = new URL(answer.headers.get('location') ?? '');
    expect([location.origin, location.searchParams.has('code')]).toEqual(['https://app.example', true]);
    // The form used the document cached by the page.
    expect(fetches(path)).toBe(1);
    const [row] = await service.place.state.rows('SELECT client_id, client_name FROM oauth_codes');
    expect(row).toEqual({ client_id: id, client_name: 'Inspector' });
    expect(await service.place.state.value('SELECT count(*) FROM oauth_clients')).toBe(0);
  });

  test('a loopback redirect URI matches with any port, and no other redirect URI matches', async () => {
    const { id } = describedClient({
      redirect_uris: [REDIRECT, 'http://127.0.0.1/cb', 'javascript:alert(1)'],
    });
    expect((await open(id, 'http://127.0.0.1:50000/cb')).status).toBe(200);
    for (const uri of [
      'https://evil.example/callback',
      `${REDIRECT}/`,
      'javascript:alert(1)',
      'http://localhost/cb',
    ])
      expectErrorPage(await open(id, uri), 'redirect_uri');
  });

  test('a client without a name has its host as name, and a name loses its control characters', async () => {
    const unnamed = describedClient({ client_name: undefined });
    expect((await open(unnamed.id)).text).toContain(
      `<strong class="name"><bdi>localhost:${host.port}</bdi></strong>`,
    );
    const turned = describedClient({ client_name: 'a\u202Eb\nc' });
    expect((await open(turned.id)).text).toContain('a b c');
  });

  test('no document is fetched before a user is signed in', async () => {
    const { id, path } = describedClient();
    expect((await open(id, REDIRECT, '')).headers.get('location')).toMatch(/^\/login\?returnTo=/);
    expect(fetches(path)).toBe(0);
  });

  test('the document is fetched without a cookie, a referrer or anything else of the user', async () => {
    let headers: object = {};
    const { id } = clientAnswering((document) => (req, res) => {
      headers = req.headers;
      sendDocument(res, document);
    });
    expect((await open(id)).status).toBe(200);
    expect(Object.keys(headers).sort()).toEqual(['accept', 'accept-encoding', 'connection', 'host']);
  });
});

describe('an invalid document', () => {
  const raw =
    (body: string | Buffer, headers: Readonly<Record<string, string>> = {}, status = 200): RequestListener =>
    (_req, res) =>
      void res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
  const json = (document: object): string => JSON.stringify(document);

  test.each<[string, (document: object) => RequestListener, string]>([
    [
      'leads elsewhere (302)',
      () => raw('', { location: '/elsewhere.json' }, 302),
      'redirects are not followed',
    ],
    ['leads elsewhere (308)', (d) => raw(json(d), { location: '/elsewhere.json' }, 308), 'redirects'],
    ['is there in part', (d) => raw(json(d), {}, 206), 'no document'],
    ['is HTML', (d) => raw(json(d), { 'content-type': 'text/html' }), 'no JSON document'],
    ['is empty', () => raw(''), 'no JSON document'],
    ['is a list', (d) => raw(`[${json(d)}]`), 'no JSON document'],
    ['is compressed', (d) => raw(gzipSync(json(d)), { 'content-encoding': 'gzip' }), 'no JSON document'],
    ['has a member twice', (d) => raw(json(d).replace('{', '{"client_id":"x",')), 'no JSON document'],
    ['is a byte too long', (d) => raw(json(d).padEnd(64 * 1024 + 1)), 'could not be fetched'],
    ['breaks off', () => (_req, res) => void res.write('{"', () => res.destroy()), 'could not be fetched'],
  ])('a document that %s is rejected', async (_what, answer, words) => {
    const { id } = clientAnswering(answer);
    expectErrorPage(await open(id), words);
    expect(fetches('/elsewhere.json')).toBe(0);
  });

  test('a document of the maximum size is accepted', async () => {
    const { id } = clientAnswering((document) => raw(json(document).padEnd(64 * 1024)));
    expect((await open(id)).status).toBe(200);
  });

  test.each([
    ['another id', { client_id: 'https://localhost/other.json' }, 'another program'],
    ['no id', { client_id: undefined }, 'another program'],
    ['a secret', { client_secret: 'x' }, 'secret'],
    ['when a secret ends', { client_secret_expires_at: 0 }, 'secret'],
    ['a secret to sign in with', { token_endpoint_auth_method: 'client_secret_basic' }, 'secret'],
    ['bad ones alone', { redirect_uris: ['http://app.example/', 'data:x'] }, 'names no redirect URI'],
    ['another flow', { grant_types: ['client_credentials'] }, 'names no redirect URI or flow'],
    ['a name that is none', { client_name: {} }, 'names no redirect URI'],
  ])('a document with %s is rejected', async (_what, more, words) => {
    const { id } = describedClient(more);
    expectErrorPage(await open(id), words);
  });

  test('a document with another spelling of its address is rejected', async () => {
    const { path, document } = newClient();
    for (const id of [`${host.origin}${path}?x`, `https://localhost.:${host.port}${path}`]) {
      host.paths.set(`${path}?x`, document);
      expect((await open(id)).status).toBe(400);
    }
  });

  test('an address that egress denies gets no connection', async () => {
    const { path } = describedClient();
    const before = host.connections();
    for (const name of ['127.0.0.1', '[::1]', '169.254.169.254', '10.0.0.1', '[::ffff:7f00:1]'])
      expectErrorPage(await open(`https://${name}:${host.port}${path}`), 'could not be fetched');
    // A URL parser changes these, so they are no client ids.
    for (const name of ['2130706433', '127.1', '0x7f000001', 'user@localhost'])
      expectErrorPage(await open(`https://${name}:${host.port}${path}`), 'does not know it');
    expect(host.connections()).toBe(before);
  });

  test('a document that takes longer than 5 seconds is unreachable', async () => {
    const egress = createEgress({ allow: ['localhost'] });
    const told: number[] = [];
    // The same call with a shorter timeout.
    const hasty: Pick<Egress, 'request'> = {
      request: (call) => (told.push(call.timeoutMs), egress.request({ ...call, timeoutMs: 100 })),
    };
    const documents = createClientDocuments({ egress: hasty, clock: new ManualClock() });
    const silent = clientAnswering(() => () => undefined);
    const slow = clientAnswering(() => (_req, res) => void res.writeHead(200).write('{"'));
    for (const { id } of [silent, slow]) expect(await documents.get(id)).toBe('unreachable');
    expect(told).toEqual([5_000, 5_000]);
    await egress.close();
  });
});

describe('the cache of documents', () => {
  /** A document with caching headers. */
  const keptFor = (cacheControl: string) => {
    const client = newClient();
    const headers = { 'cache-control': cacheControl };
    const publish = (redirectUris: readonly string[]): void =>
      void host.paths.set(client.path, (_req, res) =>
        sendDocument(res, { ...client.document, redirect_uris: redirectUris }, headers),
      );
    publish([REDIRECT]);
    return { ...client, publish };
  };
  const MOVED = 'https://moved.example/callback';

  test('a document is cached as it says, and its new redirect URIs replace the previous ones afterwards', async () => {
    const { id, path, publish } = keptFor('max-age=60');
    expect((await open(id)).status).toBe(200);
    publish([MOVED]);
    service.clock.advance(MINUTE_MS - 1);
    expect((await open(id)).status).toBe(200);
    expectErrorPage(await open(id, MOVED), 'redirect_uri');
    expect(fetches(path)).toBe(1);
    service.clock.advance(1);
    expectErrorPage(await open(id), 'redirect_uri');
    expect((await open(id, MOVED)).status).toBe(200);
    expect(fetches(path)).toBe(2);
  });

  test('a redirect URI that is removed while the user reads is rejected, where the document is not cached', async () => {
    const { id, publish } = keptFor('no-store');
    const page = await open(id);
    publish([MOVED]);
    expectErrorPage(await allow(page), 'redirect_uri');
  });

  test('an invalid document is cached for 30 seconds, so that a corrected one is seen', async () => {
    const { id, path, document } = newClient();
    for (let n = 0; n < 3; n++) expectErrorPage(await open(id), 'no document');
    expect(fetches(path)).toBe(1);
    host.paths.set(path, document);
    service.clock.advance(30 * SECOND_MS - 1);
    expectErrorPage(await open(id), 'no document');
    service.clock.advance(1);
    expect((await open(id)).status).toBe(200);
  });

  test('concurrent requests share one fetch', async () => {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const { id, path } = clientAnswering((document) => (_req, res) => {
      void released.then(() => sendDocument(res, document, { 'cache-control': 'no-store' }));
    });
    const egress = createEgress({ allow: ['localhost'] });
    const documents = createClientDocuments({ egress, clock: new ManualClock() });
    const asking = Array.from({ length: 20 }, () => documents.get(id));
    release();
    for (const found of await Promise.all(asking)) expect(found).toMatchObject({ id });
    expect(fetches(path)).toBe(1);
    await documents.get(id);
    expect(fetches(path)).toBe(2);
    await egress.close();
  });

  test('the cache is bounded and evicts the least recently used document', async () => {
    const calls: string[] = [];
    const clock = new ManualClock();
    const egress: Pick<Egress, 'request'> = {
      request: async ({ url }) => {
        calls.push(url);
        const document = { client_id: url, redirect_uris: [REDIRECT] };
        const headers = { 'content-type': 'application/json' };
        return { status: 200, headers, body: Buffer.from(JSON.stringify(document)) };
      },
    };
    const documents = createClientDocuments({ egress, clock });
    const [first, second] = ['https://app.example/first', 'https://app.example/second'];
    await documents.get(first);
    await documents.get(second);
    for (let n = 0; n < 198; n++) await documents.get(`https://app.example/${n}`);
    await documents.get(first);
    await documents.get('https://app.example/one-more');
    calls.length = 0;
    await documents.get(first);
    expect(calls).toEqual([]);
    await documents.get(second);
    expect(calls).toEqual([second]);
  });

  test('the number of concurrent fetches is bounded', async () => {
    const answers: (() => void)[] = [];
    const egress: Pick<Egress, 'request'> = {
      request: () =>
        new Promise((resolve) =>
          answers.push(() => resolve({ status: 404, headers: {}, body: Buffer.alloc(0) })),
        ),
    };
    const documents = createClientDocuments({ egress, clock: new ManualClock() });
    const asking = Array.from({ length: 51 }, (_, n) => documents.get(`https://app.example/${n}`));
    expect(answers).toHaveLength(50);
    expect(await asking[50]).toBe('unreachable');
    for (const answer of answers) answer();
    expect(await asking[0]).toBe('no_document');
    // An address that was not fetched is not cached as unreachable.
    void documents.get('https://app.example/50');
    expect(answers).toHaveLength(51);
  });
});
