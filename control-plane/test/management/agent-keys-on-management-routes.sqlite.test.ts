import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Operation, operationsOf } from '../support/api-operations.ts';
import { type OauthFixture, connect, newAgent, startOauthFixture } from '../support/oauth-client.ts';
import { proxyOn } from '../support/proxy-steps.ts';

/*
 * Class "agent-facing keys that write rules": no key of an agent, a proxy or an MCP client opens a management route. Class
 * "path rules walked around": no other spelling of a path reaches one. Both read the routes from the OpenAPI document, so
 * that a new one is covered by itself.
 */

let world: OauthFixture;
let operations: readonly Operation[];
let keys: Readonly<Record<string, string>>;

beforeAll(async () => {
  world = await startOauthFixture();
  const { service } = world;
  const agent = await service.admin('POST', '/api/agents', { body: { name: 'agent' } });
  const proxy = await proxyOn(service);
  const { accessToken, refreshToken } = await connect(world, await newAgent(world));
  keys = { agent: agent.json.apiKey, proxy: proxy.key, session: accessToken, refresh: refreshToken };
  operations = (await operationsOf(service.anyone)).filter(({ isPublic }) => !isPublic);
});
afterAll(() => world.service.stop());

/** The path goes out as it is written: `fetch` would put it into its usual form. */
const statusOf = (method: string, path: string, headers: Readonly<Record<string, string>>): Promise<number> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(world.service.running.url);
    const type = { 'content-type': 'application/json', 'content-length': '0' };
    const sent = request(
      { hostname, port, method, path, headers: { ...type, ...headers }, agent: false },
      (res) => {
        res.resume();
        resolve(res.statusCode ?? 0);
      },
    );
    sent.on('error', reject).end();
  });

describe.each(['agent', 'proxy', 'session', 'refresh'])('the key of kind %s', (kind) => {
  it('a management route rejects the key in every header', async () => {
    const key = keys[kind] ?? '';
    expect(operations.length).toBeGreaterThan(60);
    const opened: unknown[] = [];
    for (const { method, path } of operations)
      for (const headers of [
        { authorization: `Bearer ${key}` },
        { authorization: `bearer ${key}`, 'x-agent-key': key, 'x-mcp-key': key },
        { 'x-agent-key': key },
        { 'x-mcp-key': key },
        { cookie: `svault=${key}; __Host-svault=${key}`, origin: 'http://127.0.0.1:8080' },
      ]) {
        const status = await statusOf(method, path, headers);
        if (status !== 401) opened.push([method, path, Object.keys(headers), status]);
      }
    expect(opened).toEqual([]);
  });
});

const SPELLINGS: Readonly<Record<string, (path: string) => string>> = {
  'in capitals': (path) => path.toUpperCase(),
  'with a slash behind it': (path) => `${path}/`,
  'with two slashes before it': (path) => `/${path}`,
  'with two slashes in it': (path) => path.replace('/api/', '/api//'),
  'with a dot segment': (path) => path.replace('/api/', '/api/./'),
  'with an encoded dot segment': (path) => path.replace('/api/', '/api/%2e/'),
  'by way of an open path': (path) => `/healthz/..${path}`,
  'by way of an open path, encoded': (path) => `/healthz/%2e%2e${path}`,
  'by way of a public route': (path) => `/api/openapi.json/..;${path}`,
  'with a path parameter': (path) => path.replace('/api/', '/api;x=y/'),
  'with an empty path parameter': (path) => `${path};`,
  'with a dot and a parameter': (path) => path.replace('/api/', '/api/;./'),
  'with backslashes': (path) => path.replaceAll('/', '\\').replace('\\', '/'),
  'with encoded slashes': (path) => `/${path.slice(1).replaceAll('/', '%2f')}`,
  'with an encoded NUL': (path) => `${path}%00`,
  'with an encoded question mark': (path) => `${path}%3f`,
  'as a whole address': (path) => `http://127.0.0.1:8080${path}`,
};

it.each(Object.keys(SPELLINGS))(
  'a management route written %s is none, or asks for a sign-in',
  async (how) => {
    const authorization = `Bearer ${keys['agent']}`;
    const reached: unknown[] = [];
    for (const { method, path } of operations) {
      const written = SPELLINGS[how]?.(path) ?? path;
      const status = await statusOf(method, written, { authorization });
      if (![400, 401, 404, 405].includes(status)) reached.push([method, written, status]);
    }
    expect(reached).toEqual([]);
  },
);

it.each(Object.keys(SPELLINGS))(
  'the proxy endpoint written %s calls no upstream without its key',
  async (how) => {
    const written = SPELLINGS[how]?.('/api/proxy/mcp') ?? '';
    for (const headers of [{}, { 'x-mcp-key': keys['agent'] ?? '' }])
      expect([400, 401, 403, 404]).toContain(await statusOf('POST', written, headers));
  },
);
