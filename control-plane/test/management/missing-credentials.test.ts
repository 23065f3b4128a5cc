import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import type { Answer } from '../support/management-service.ts';
import { uniqueName } from '../support/unique-name.ts';

let service: LinkedService;
let agent: string;
beforeAll(async () => {
  service = await startLinkedService();
  await service.bind();
  for (const serviceName of ['github', 'gitlab', 'npm']) await token(serviceName);
});
afterAll(() => service.stop());
beforeEach(async () => {
  const { json } = await call('POST', '/api/agents', { name: `builder ${++agents}` });
  agent = `/api/agents/${json.agent.id}`;
});
let agents = 0;

const call = (method: string, path: string, body: object = {}): Promise<Answer> =>
  service.admin(method, path, method === 'GET' ? {} : { body });
const token = (serviceName: string) => call('POST', '/api/tokens', { serviceName, tokenType: 'PlainText' });
const grant = (serviceName: string, more: object = {}) =>
  call('POST', `${agent}/grants`, { serviceName, ...more });
const proxy = (serviceName: string, more: object = {}) =>
  call('POST', '/api/proxies', {
    name: uniqueName('p'),
    upstreamUrl: 'https://mcp.example.com/',
    serviceName,
    ...more,
  });

describe.each([
  ['grant', grant],
  ['proxy', proxy],
])('a %s for a name that no credential has', (_what, make) => {
  test('is refused, and says which names are like it and what to do next', async () => {
    const answer = await make('githb');
    expect([answer.status, answer.json.code]).toEqual([422, 'INVALID_ARGUMENT']);
    expect(answer.json).toMatchObject({
      error:
        'There is no credential `githb`. Did you mean `github`? Run `svault add githb` to store it, or give `--allow-missing` (in the API `allowMissing`) to name it before it is there.',
      issues: [{ path: 'serviceName', message: 'names no credential of this account' }],
    });
    expect((await make('postgres')).json.error).toMatch(/^There is no credential `postgres`\. Run /);
    expect((await make('githb', { allowMissing: false })).status).toBe(422);
    expect((await call('GET', `${agent}/grants`)).json.items).toEqual([]);
  });

  test('is made where the caller says so, and where there is such a credential', async () => {
    expect((await make('later', { allowMissing: true })).status).toBe(201);
    expect((await make('npm')).status).toBe(201);
  });
});

test('a grant made ahead of its credential is renewed, and ends when the credential is deleted', async () => {
  await grant('to-come', { allowMissing: true });
  const renewed = await call('POST', `${agent}/grants/to-come/renew`, { expiresInSeconds: 3_600 });
  expect(renewed.status).toBe(200);
  await token('to-come');
  await call('DELETE', '/api/tokens/to-come');
  expect((await call('GET', `${agent}/grants`)).json.items).toEqual([]);
  expect((await grant('to-come')).status).toBe(422);
});

test('a grant and the deletion of its credential at once leave no grant', async () => {
  for (let round = 0; round < 5; round++) {
    await token('raced');
    await Promise.all([grant('raced'), call('DELETE', '/api/tokens/raced')]);
    expect((await call('GET', `${agent}/grants`)).json.items).toEqual([]);
  }
});

test('a proxy whose credential is missing can be changed, but not to another missing one', async () => {
  const { json } = await proxy('to-come', { allowMissing: true });
  const change = async (body: object) => (await call('PATCH', `/api/proxies/${json.proxy.id}`, body)).status;
  expect(await change({ name: 'renamed' })).toBe(200);
  expect(await change({ serviceName: 'to-come' })).toBe(200);
  expect(await change({ serviceName: 'nowhere' })).toBe(422);
  expect(await change({ serviceName: 'nowhere', allowMissing: true })).toBe(200);
  expect(await change({ serviceName: 'npm' })).toBe(200);
});
