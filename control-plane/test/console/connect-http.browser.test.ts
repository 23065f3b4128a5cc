import type { IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { randomToken } from '@svault/shared';
import { verifySignature } from '@svault/test-kit/aws-verifier';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type PlainUpstream, startPlainUpstream } from '../proxy-clients/plain-upstream.ts';
import { useConsole } from '../support/console.ts';
import {
  AWS_KEYS,
  HTTP_PROXY,
  type HttpAnswer,
  awsAuthorization,
  basic,
  openAt,
  wholeOf,
} from '../support/http-proxy-steps.ts';
import { storeOn } from '../support/pair-agents.ts';
import { uniqueName } from '../support/unique-name.ts';

const own = useConsole();
const SECRET = `secret-of-the-api-${randomToken(16)}`;

interface Seen {
  readonly at: 'api' | 'storage';
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}
let seen: Seen[];
let api: PlainUpstream;
/** Another origin, to which the API redirects downloads. */
let storage: PlainUpstream;
const upstream = (at: Seen['at']) =>
  startPlainUpstream(async (req, res) => {
    const { method = '', url = '', headers } = req;
    seen.push({ at, method, url, headers, body: await buffer(req) });
    if (url.split('?')[0]?.endsWith('/download')) res.writeHead(302, { location: `${storage.origin}/file` });
    res.end(`from ${at}`);
  });
beforeAll(async () => {
  [api, storage] = await Promise.all([upstream('api'), upstream('storage')]);
});
afterAll(() => Promise.all([api?.close(), storage?.close()]));
beforeEach(() => {
  seen = [];
});

const { field } = own;
const press = (name: string) => own.button(name).click();
const text = (words: string) => own.page.getByText(words);
const snippet = (name: string) => own.page.getByRole('group', { name, exact: true });
const checkbox = (name: string) => own.page.getByRole('checkbox', { name });
const FOLLOW = 'Follow redirects to other origins';

async function store(sealed: object = {}): Promise<string> {
  const serviceName = uniqueName('s');
  const credential = { tokenType: 'PlainText', value: SECRET, delivery: 'proxy-only', ...sealed };
  await storeOn(own.service.pair, serviceName, { allowedHosts: [api.origin], ...credential });
  return serviceName;
}

const storeKeys = () => store({ tokenType: 'RawCredential', value: JSON.stringify(AWS_KEYS) });

async function makeProxy(body: object) {
  const settings = { kind: 'http', name: uniqueName('api'), upstreamUrl: `${api.origin}/v1`, ...body };
  const { status, json } = await own.service.admin('POST', '/api/proxies', { body: settings });
  expect([status, json.code]).toEqual([201, undefined]);
  return json as { proxy: { id: string; name: string }; key: string };
}

const proxyNow = async (id: string) => (await own.service.admin('GET', `/api/proxies/${id}`)).json;

/** The response that an agent gets. */
const asked = async (key: string, target: string, authorization = `Bearer ${key}`): Promise<HttpAnswer> =>
  wholeOf(
    await openAt(own.service.pair.controlPlaneUrl(), HTTP_PROXY + target, { headers: { authorization } }),
  );

/** Opens the form, and fills in the fields that each proxy of an HTTP API has. */
async function openForm(serviceName: string): Promise<string> {
  const name = uniqueName('api');
  await own.open('/connect/new');
  await field('Name').fill(name);
  await field('It stands for').selectOption('An HTTP API');
  await field('Base URL').fill(`${api.origin}/v1`);
  await field('Credential').fill(serviceName);
  return name;
}

/** The key that the screen shows once the proxy is created. */
async function createdKey(name: string): Promise<string> {
  await own.page.getByRole('heading', { name: `${name} is created` }).waitFor();
  return (await snippet('Its key').textContent()) ?? '';
}

const fact = (name: string) =>
  own.page.locator('dt', { hasText: new RegExp(`^${name}$`) }).locator('xpath=following-sibling::dd[1]');
const expectFact = (name: string, value: string) =>
  expect.poll(async () => [name, await fact(name).textContent()]).toEqual([name, value]);

/** Expects an error beside a field, also for assistive technology. */
async function expectBeside(label: string, words: string): Promise<void> {
  await expect
    .poll(async () => [label, await field(label).getAttribute('aria-invalid')])
    .toEqual([label, 'true']);
  await expect
    .poll(async () => {
      const ids = ((await field(label).getAttribute('aria-describedby')) ?? '').split(' ');
      return own.page.locator(`[id="${ids.at(-1)}"]`).textContent();
    })
    .toContain(words);
}

/** The members of the last proxy that the browser has created. */
function sentProxy(): Record<string, unknown> {
  const request = own.requested.findLast(
    (one) => one.method() === 'POST' && new URL(one.url()).pathname === '/api/proxies',
  );
  return (request?.postDataJSON() ?? {}) as Record<string, unknown>;
}

describe('a proxy of an HTTP API is created with the form, and an agent reaches the API through it:', () => {
  test('with a bearer token, by the keyboard alone', async () => {
    const serviceName = await store();
    const name = uniqueName('api');
    await own.open('/connect/new', await own.sessionOf('member'));
    await field('Name').focus();
    const { keyboard } = own.page;
    const focused = () => own.page.locator(':focus').getAttribute('name');
    for (const [control, typed] of [
      ['name', name],
      ['kind', 'An HTTP API'],
      ['upstreamUrl', `${api.origin}/v1/`],
      ['upstreamAuthType', ''],
      ['serviceName', serviceName],
      ['allowMissing', ''],
      ['agentId', ''],
      ['headerTemplates', ''],
      ['queryTemplates', ''],
      ['redirects', ''],
    ] as const) {
      await expect.poll(focused).toBe(control);
      await keyboard.type(typed);
      if (control !== 'redirects') await keyboard.press('Tab');
    }
    await own.expectSound('connect-http-form');
    await field('Base URL').press('Enter');
    const key = await createdKey(name);
    expect(key).toMatch(/^mcp_/);
    await expect.poll(() => snippet('Set this as its base URL').textContent()).toBe(own.address(HTTP_PROXY));
    await expect.poll(() => snippet('Set this as its key or token').textContent()).toBe(key);
    await own.expectSound('connect-http-created');

    expect(await asked(key, '/users?page=2')).toMatchObject({ status: 200, text: 'from api' });
    expect(seen).toMatchObject([{ url: '/v1/users?page=2', headers: { authorization: `Bearer ${SECRET}` } }]);
    for (const client of ['curl', 'git', 'Any program'])
      await own.page.getByRole('radio', { name: client }).check({ force: true });
    await expect
      .poll(() => snippet('Start one that knows no base URL in svault run').textContent())
      .toBe(`svault run --proxy '${name}' -- COMMAND`);
  });

  test.each([
    [
      'with the credential in a custom header',
      'X-Api-Key: ${TOKEN}\nX-Version: 2',
      { 'x-api-key': SECRET, 'x-version': '2' },
    ],
    [
      'with the credential as the password of HTTP Basic',
      'Authorization: Basic ${BASIC:x-access-token}',
      { authorization: basic('x-access-token', SECRET) },
    ],
  ])('%s', async (_how, templates, headers) => {
    const name = await openForm(await store());
    await field('Headers').fill(templates);
    await press('Create');
    const key = await createdKey(name);
    const { status } = await asked(key, '/a%20b', basic('git', key));
    expect(status).toBe(200);
    expect(seen).toMatchObject([{ url: '/v1/a%20b', headers }]);
    expect(JSON.stringify(seen[0]?.headers)).not.toContain(key);
  });

  test('with the credential in the query, which the form of the credential allows', async () => {
    const serviceName = uniqueName('maps');
    await own.open('/credentials');
    await own.link('Add credential').click();
    await own.page.getByRole('link', { name: 'API key or password' }).click();
    await field('Name').fill(serviceName);
    await field('Secret').fill(`${SECRET} &=`);
    await field('Hosts').fill(api.origin);
    await field('Query parameters').fill('api_key\nschlüssel');
    await press('Store');
    await expectBeside('Query parameters', 'schlüssel: ');
    await own.expectSound('credential-query-issue');
    await field('Query parameters').fill('api_key\nkey');
    await press('Store');
    await text('1, stored').waitFor();
    await expectFact('Query parameters', 'api_keykey');

    const name = await openForm(serviceName);
    await field('Headers').fill('');
    await field('Query parameters').fill('key=${TOKEN}\nformat=json');
    await press('Create');
    const key = await createdKey(name);
    expect((await asked(key, '/tiles?z=1')).status).toBe(200);
    const query = `z=1&key=${encodeURIComponent(`${SECRET} &=`)}&format=json`;
    expect(seen.map(({ url }) => url)).toEqual([`/v1/tiles?${query}`]);
    expect(seen[0]?.headers.authorization).toBeUndefined();

    await own.link('Open the proxy').click();
    await expectFact('HTTP API', `${api.origin}/v1`);
    await expectFact('Base URL for agents', own.address(HTTP_PROXY));
    await expectFact('Headers', 'None');
    await expectFact('Query parameters', 'key=${TOKEN}format=json');
    await own.expectSound('connect-http-proxy');
  });
});

describe('a proxy of an HTTP API', () => {
  test('is edited: redirects are followed without the credential from then on, and each member can be removed', async () => {
    const { proxy, key } = await makeProxy({
      serviceName: await store({ allowedQuery: ['key'] }),
      queryTemplates: { key: '${TOKEN}' },
    });
    expect((await asked(key, '/download')).status).toBe(502);
    await own.open(`/connect/${proxy.id}`);
    await expectFact('Redirects to other origins', 'Denied');
    await press('Edit');
    await expect.poll(() => field('Query parameters').inputValue()).toBe('key=${TOKEN}');
    expect(await field('It stands for').count()).toBe(0);
    await checkbox(FOLLOW).check();
    await field('Query parameters').fill('');
    await field('Headers').fill('Authorization: Bearer ${TOKEN}');
    await own.expectSound('connect-http-edit');
    await press('Save');
    await expectFact('Redirects to other origins', 'Followed without the credential');
    await expectFact('Query parameters', 'None');
    seen = [];
    expect(await asked(key, '/download')).toMatchObject({ status: 200, text: 'from storage' });
    expect(seen.map(({ at, url }) => [at, url])).toEqual([
      ['api', '/v1/download'],
      ['storage', '/file'],
    ]);
    expect(seen[0]?.headers.authorization).toBe(`Bearer ${SECRET}`);
    expect(JSON.stringify(seen[1]?.headers)).not.toContain(SECRET);

    await press('Edit');
    await expect.poll(() => checkbox(FOLLOW).isChecked()).toBe(true);
    await checkbox(FOLLOW).uncheck();
    await field('Base URL').fill(api.origin);
    await press('Save');
    await expectFact('Redirects to other origins', 'Denied');
    const now = await proxyNow(proxy.id);
    expect(now).toMatchObject({ kind: 'http', upstreamUrl: api.origin });
    expect([now.queryTemplates, now.redirects]).toEqual([undefined, undefined]);
  });

  test('has only the fields of its kind, and sends no other', async () => {
    const serviceName = await store();
    const agent = uniqueName('agent');
    await own.service.admin('POST', '/api/agents', { body: { name: agent } });
    const name = await openForm(serviceName);
    await field('Query parameters').fill('key=${TOKEN}');
    await checkbox(FOLLOW).check();
    await field('The API gets').selectOption('aws_sigv4');
    await field('AWS region').fill('eu-central-1');
    await field('It stands for').selectOption('An MCP server');
    for (const label of ['Base URL', 'AWS region', 'AWS service', 'Query parameters'])
      await field(label).waitFor({ state: 'detached' });
    await checkbox(FOLLOW).waitFor({ state: 'detached' });
    await field('The server gets').selectOption('sv_session');
    await field('Credential').waitFor({ state: 'detached' });
    // A choice for one kind does not carry over to the other.
    await field('It stands for').selectOption('An HTTP API');
    await expect.poll(() => field('The API gets').inputValue()).toBe('Token');
    await field('Credential').waitFor();
    await field('AWS region').waitFor({ state: 'detached' });
    await field('It stands for').selectOption('An MCP server');
    await expect.poll(() => field('The server gets').inputValue()).toBe('Token');
    await field('Credential').fill(serviceName);
    await press('Create');
    await createdKey(name);
    expect(sentProxy()).toEqual({
      ...{ name, kind: 'mcp', upstreamUrl: `${api.origin}/v1`, upstreamAuthType: 'Token', serviceName },
      headerTemplates: { Authorization: 'Bearer ${TOKEN}' },
    });
    await snippet('Add the MCP server, in a terminal').waitFor();
  });

  test('shows the problem beside each field, keeps the typed text, and creates nothing', async () => {
    const count = async () => (await own.service.admin('GET', '/api/proxies?limit=100')).json.items.length;
    const before = await count();
    await openForm(await store());
    const typed = async (label: string, value: string, says: string): Promise<void> => {
      await field(label).fill(value);
      await press('Create');
      await expectBeside(label, says);
      await expect.poll(() => field(label).inputValue()).toBe(value);
    };
    await typed('Base URL', 'api.example.com', 'This is no web address');
    await typed('Base URL', `${api.origin}/v1?page=1`, 'must have no query');
    await field('Base URL').fill(`${api.origin}/v1`);
    await typed('Query parameters', 'key', 'Line 1 is not NAME=VALUE.');
    await typed('Query parameters', 'a=1\nkey=${TOKEN}\na=2', 'Line 3 names a again.');
    await typed('Query parameters', 'schlüssel=${TOKEN}', 'schlüssel not 1 to 128 of A-Z a-z 0-9');
    await typed('Query parameters', 'key=ü', 'key not printable ASCII');
    await typed('Query parameters', `key=${'x'.repeat(513)}`, '512');
    await typed('Query parameters', 'a=1\nb=2\nc=3\nd=4\ne=5\nf=6', '1 to 5 templates');
    await own.expectSound('connect-http-issues');
    await field('Query parameters').fill('');
    await typed('Headers', 'X-A: 1\nx-a: 2', 'Line 2 names x-a again.');
    await typed('Headers', 'Host: api.example.com', 'Host a template may not set this header');
    await typed('Headers', `X-A: ${'x'.repeat(4_097)}`, '4096');
    await typed('Headers', 'Authorization: a text', 'must contain ${TOKEN}');
    await field('Headers').fill('');

    await field('The API gets').selectOption('aws_sigv4');
    await press('Create');
    await expectBeside('AWS region', 'This is needed: the host does not tell it.');
    await expectBeside('AWS service', 'This is needed: the host does not tell it.');
    await own.expectSound('connect-aws-issues');
    await field('AWS service').fill('s3');
    await typed('AWS region', 'Frankfurt', 'not 1 to 64 of a-z 0-9 -');
    await field('AWS region').fill('');
    await field('AWS region').pressSequentially('x'.repeat(66));
    await expect.poll(() => field('AWS region').inputValue()).toBe('x'.repeat(64));
    await typed('Headers', 'X-Api-Key: ${TOKEN}', 'has a marker, but the credential only signs here');
    expect(await count()).toBe(before);
    own.expectComplaints('status of 422');
  });
});

describe('a proxy that signs for AWS', () => {
  const verified = () => seen.map((request) => verifySignature(request, AWS_KEYS.SecretAccessKey));

  test('is created with the form, signs what an AWS client sends, and is edited', async () => {
    const name = await openForm(await storeKeys());
    await field('Base URL').fill('https://dynamodb.eu-west-3.amazonaws.com');
    await field('The API gets').selectOption('aws_sigv4');
    await text('Optional: the host tells eu-west-3.').waitFor();
    await text('Optional: the host tells dynamodb.').waitFor();
    await field('Base URL').fill(api.origin);
    await text('Such as eu-central-1. Optional where the host tells it.').waitFor();
    await field('AWS region').fill('eu-central-1');
    await field('AWS service').fill('s3');
    await press('Create');
    const key = await createdKey(name);
    await expect
      .poll(() => snippet('Name the base URL in each command').textContent())
      .toBe(`aws --endpoint-url ${own.address(HTTP_PROXY)} s3 COMMAND`);
    expect((await asked(key, '/bucket/a%20key?list-type=2', awsAuthorization(key))).status).toBe(200);
    const { AccessKeyId: accessKeyId } = AWS_KEYS;
    expect(verified()).toMatchObject([{ holds: true, accessKeyId, region: 'eu-central-1', service: 's3' }]);
    expect(JSON.stringify(seen[0]?.headers)).not.toContain(key);

    await own.link('Open the proxy').click();
    await expectFact('Signed for AWS', 'Service s3 in eu-central-1');
    await own.expectSound('connect-aws-proxy');
    await press('Edit');
    await field('AWS region').fill('us-west-2');
    await press('Save');
    await expectFact('Signed for AWS', 'Service s3 in us-west-2');
    seen = [];
    expect((await asked(key, '/bucket', awsAuthorization(key))).status).toBe(200);
    expect(verified()).toMatchObject([{ holds: true, region: 'us-west-2' }]);
  });

  test('says that the credential has to allow the header of the signature', async () => {
    const serviceName = await store({
      ...{ tokenType: 'RawCredential', value: JSON.stringify(AWS_KEYS), allowedHeaders: ['x-api-key'] },
    });
    const { proxy } = await makeProxy({
      ...{ serviceName, upstreamAuthType: 'aws_sigv4', region: 'eu-central-1', service: 's3' },
    });
    await own.open(`/connect/${proxy.id}`);
    await text(`svault set '${serviceName}' --allow-header authorization`).waitFor();
    await own.open(`/reach?cell=${proxy.id}.${encodeURIComponent(serviceName)}`);
    await own.page.getByRole('dialog').getByText('--allow-header authorization').waitFor();
  });
});

describe('the screens that name proxies', () => {
  test('the list and Reach distinguish HTTP APIs from MCP servers, and explain why a query parameter is denied', async () => {
    const serviceName = await store({ allowedQuery: ['api_key'] });
    const [http, mcp] = [
      await makeProxy({ serviceName, queryTemplates: { key: '${TOKEN}' } }),
      await makeProxy({ serviceName, kind: 'mcp', upstreamUrl: api.url }),
    ];
    await own.open('/connect');
    const line = ({ proxy }: typeof http) =>
      own.page.getByRole('listitem').filter({ has: own.link(proxy.name) });
    await line(http).getByText(`HTTP API ${api.origin}/v1`).waitFor();
    await line(mcp).getByText(`MCP server ${api.url}`).waitFor();
    await own.expectSound('connect-kinds');

    await own.open(`/reach?proxy=${http.proxy.id}&cell=${http.proxy.id}.${encodeURIComponent(serviceName)}`);
    const window = own.page.getByRole('dialog');
    await window.getByText(`svault set '${serviceName}' --allow-query key`).waitFor();
    await expectFact('HTTP API', `${api.origin}/v1`);
    await expectFact('Allowed in the query', 'api_key');
    await own.expectSound('reach-http');
    await own.open(`/reach?cell=${mcp.proxy.id}.${encodeURIComponent(serviceName)}`);
    await window.getByText('Allowed now; no policy limits it').waitFor();
    await expectFact('MCP server', api.url);
  });

  test('the simulator decides on a method and a path of an HTTP API as a call is decided', async () => {
    const serviceName = await store();
    const { proxy, key } = await makeProxy({ serviceName });
    const post = async (path: string, body: object) => {
      const { status, json } = await own.service.admin('POST', path, { body });
      expect(status).toBe(201);
      return json as { id: string };
    };
    const rules = [{ type: 'request_filter', requests: [{ paths: ['/v1/users/**'], methods: ['GET'] }] }];
    const { id } = await post('/api/policies', { name: uniqueName('reads'), rules });
    await post(`/api/policies/${id}/attachments`, { targetType: 'proxy', targetId: proxy.id });
    await own.open(`/policies/simulate?proxy=${proxy.id}&service=${encodeURIComponent(serviceName)}`);
    for (const [method, path, says] of [
      ['GET', '/v1/users/1', 'Allowed by the policies'],
      ['PATCH', '/v1/users/1', 'Denied'],
    ] as const) {
      await field('Method').fill(method);
      await field('Path').fill(path);
      await press('Simulate');
      await own.page.getByLabel('Decision').getByText(says, { exact: true }).waitFor();
    }
    await own.expectSound('simulate-http');
    expect([(await asked(key, '/users/1')).status, (await asked(key, '/teams')).status]).toEqual([200, 403]);
    expect(seen.map(({ url }) => url)).toEqual(['/v1/users/1']);
  });
});
