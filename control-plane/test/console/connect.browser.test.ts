import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { randomToken } from '@svault/shared';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { McpUpstream } from '../proxy-clients/gate.ts';
import { startUpstreamV2 } from '../proxy-clients/upstream-v2.ts';
import { HOSTILE_NAMES, useConsole } from '../support/console.ts';
import { storeOn } from '../support/pair-agents.ts';
import { uniqueName } from '../support/unique-name.ts';

const own = useConsole();
const SECRET = `secret-of-the-upstream-${randomToken(16)}`;
let upstream: McpUpstream;
beforeAll(async () => {
  upstream = await startUpstreamV2(SECRET);
});
afterAll(() => upstream?.close());

interface ServerEntry {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Names of the tools that an MCP client is given with the settings that the console shows. */
async function toolsBy({ url, headers }: ServerEntry): Promise<readonly string[]> {
  const client = new Client({ name: 'a client', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  await client.connect(transport);
  const { tools } = await client.listTools();
  await client.close();
  return tools.map(({ name }) => name);
}

const { field } = own;
const press = (name: string) => own.button(name).click();
const dialog = () => own.page.getByRole('alertdialog');
const store = (serviceName: string) =>
  storeOn(own.service.pair, serviceName, {
    ...{ tokenType: 'PlainText', value: SECRET, delivery: 'proxy-only' },
    ...{ allowedHosts: [upstream.origin], allowedHeaders: ['authorization'] },
  });
const byKey = (key: string): ServerEntry => ({
  url: own.address('/api/proxy/mcp'),
  headers: { Authorization: `Bearer ${key}` },
});
const makeProxy = async (body: object) => {
  const settings = { upstreamUrl: upstream.url, allowMissing: true, ...body };
  const { status, json } = await own.service.admin('POST', '/api/proxies', { body: settings });
  expect([status, json.code]).toEqual([201, undefined]);
  return json as { proxy: { id: string; name: string }; key: string };
};

describe('Connect', () => {
  test('says first how Claude Code is let in, with the command for this control plane, by browser or by key', async () => {
    await own.open('/');
    await own.screenLink('Connect').click();
    await own.page.getByRole('heading', { name: 'Let Claude Code in' }).waitFor();
    const command = `claude mcp add --scope user --transport http svault ${own.address('/api/agents/mcp')}`;
    await expect
      .poll(() =>
        own.page.getByRole('group', { name: 'Add the MCP server, in a terminal', exact: true }).textContent(),
      )
      .toBe(command);
    await own.page.getByText('No proxy yet.').waitFor();
    await own.expectSound('connect-empty');
    await own.page.getByRole('radio', { name: 'With the key of an agent' }).check({ force: true });
    await expect
      .poll(() =>
        own.page.getByRole('group', { name: 'Add the MCP server with the key, in a terminal' }).textContent(),
      )
      .toContain(`${command} --header "Authorization: Bearer $KEY"`);
    await own.page.getByRole('radio', { name: 'VS Code' }).check({ force: true });
    await own.page.getByRole('heading', { name: 'Let VS Code in' }).waitFor();
    await expect
      .poll(() => own.page.locator('main pre').first().textContent())
      .toContain(own.address('/api/agents/mcp'));
    await own.expectSound('connect-vs-code');
  });

  test('creates a proxy whose key an MCP client uses, reveals the key again, and revokes it, as a member', async () => {
    const [name, serviceName] = [uniqueName('proxy'), uniqueName('s')];
    await store(serviceName);
    await own.open('/connect', await own.sessionOf('member'));
    await own.link('New proxy').click();
    await field('Name').fill(name);
    await field('MCP server').fill(upstream.url);
    await field('Credential').fill(serviceName);
    await press('Create');
    await own.page.getByRole('heading', { name: `${name} is created` }).waitFor();
    const key = (await own.page.getByRole('group', { name: 'Its key' }).textContent()) ?? '';
    expect(key).toMatch(/^mcp_/);
    const command = await own.page
      .getByRole('group', { name: 'Add the MCP server, in a terminal', exact: true })
      .textContent();
    expect(command).toContain(`MCP_KEY=${key}\n`);
    expect(command).toContain(own.address('/api/proxy/mcp'));
    await own.expectSound('connect-created');
    expect(await toolsBy(byKey(key))).toContain('echo');

    await own.link('Open the proxy').click();
    await own.button('Reveal the key').waitFor();
    expect(await own.page.content()).not.toContain(key);
    await own.expectSound('connect-proxy');
    await press('Reveal the key');
    await own.page.getByRole('group', { name: 'The key' }).waitFor();
    await expect.poll(() => own.page.getByRole('group', { name: 'The key' }).textContent()).toBe(key);
    await press('Hide the key');
    await own.button('Reveal the key').waitFor();
    expect(await own.page.content()).not.toContain(key);

    await press('Revoke');
    await dialog().getByText('is denied with').waitFor();
    await own.expectSound('connect-revoke');
    await dialog().getByRole('button', { name: 'Revoke' }).click();
    await own.page.getByText('Revoked', { exact: true }).waitFor();
    await expect(toolsBy(byKey(key))).rejects.toThrow();
    await press('Delete');
    await dialog().getByRole('button', { name: 'Delete' }).click();
    await own.page.getByRole('heading', { name: 'Connect', exact: true }).waitFor();
    await own.page.getByText('The proxy is deleted.').waitFor();
    await expect.poll(() => own.link(name).count()).toBe(0);
  });

  test('says of a host that is not sealed that each call would fail, while the credential is chosen', async () => {
    const serviceName = uniqueName('s');
    await store(serviceName);
    await own.open('/connect/new');
    await field('MCP server').fill('https://other.example.com/mcp');
    await field('Credential').fill(serviceName);
    await own.page.getByText('--allow-host other.example.com').waitFor();
    await field('MCP server').fill(upstream.url);
    await own.page.getByText('Each call would fail').waitFor({ state: 'detached' });
  });

  test('gives each proxy an input of its own in VS Code, which asks for a key once for each of them', async () => {
    const inputs: string[] = [];
    for (const name of [uniqueName('proxy'), uniqueName('proxy'), 'прокси']) {
      const { proxy } = await makeProxy({ name, serviceName: 'x' });
      await own.open(`/connect/${proxy.id}`);
      await own.page.getByRole('radio', { name: 'VS Code' }).check({ force: true });
      const text = (await own.page.locator('main pre').first().textContent()) ?? '';
      const [id] = (JSON.parse(text) as { inputs: { id: string }[] }).inputs.map((input) => input.id);
      expect(text).toContain(`\${input:${id}}`);
      inputs.push(id ?? '');
    }
    expect(new Set(inputs).size).toBe(3);
    own.expectComplaints('status of 404');
  });

  test('says beside each field what is wrong with it, keeps what was typed, and creates nothing', async () => {
    const taken = (await makeProxy({ name: uniqueName('taken'), serviceName: 'x' })).proxy.name;
    const count = async () => (await own.service.admin('GET', '/api/proxies?limit=100')).json.items.length;
    const before = await count();
    await own.open('/connect/new');
    await press('Create');
    await expect.poll(() => own.page.locator(':focus').getAttribute('name')).toBe('name');
    await field('Name').fill(taken);
    await field('MCP server').fill('not an address');
    await field('Credential').fill('no such credential');
    await press('Create');
    await own.page.getByText('This is no web address').waitFor();
    await field('MCP server').fill('https://mcp.example.com/mcp?api_key=1');
    await press('Create');
    await own.page.getByText('must have no query member that is named like a secret').waitFor();
    await expect.poll(() => field('MCP server').inputValue()).toBe('https://mcp.example.com/mcp?api_key=1');
    await field('MCP server').fill('https://mcp.example.com/mcp');
    await field('Headers').fill('X-Api-Key ${TOKEN}');
    await press('Create');
    await own.page.getByText('Line 1 is not NAME: VALUE.').waitFor();
    await field('Headers').fill('X-Api-Key: a secret');
    await press('Create');
    await own.page.getByText('must contain ${TOKEN}').waitFor();
    await own.expectSound('connect-issues');
    await field('Headers').fill('X-Api-Key: ${TOKEN}');
    await field('Agent (optional)').fill('nobody');
    await press('Create');
    await own.page.getByText('No active or suspended agent has this name.').waitFor();
    await field('Agent (optional)').fill('');
    await press('Create');
    await own.page.getByText('names no credential of this account').waitFor();
    await own.page.getByRole('checkbox', { name: 'Allow a name' }).check();
    await press('Create');
    await own.page.getByText('Another active proxy has this name.').waitFor();
    await expect.poll(() => field('Name').inputValue()).toBe(taken);
    expect(await count()).toBe(before);
    own.expectComplaints('status of 409', 'status of 422');
  });

  test('edits a proxy, sends sessions of an agent, and warns where no call can succeed', async () => {
    const agent = uniqueName('agent');
    const { json } = await own.service.admin('POST', '/api/agents', { body: { name: agent } });
    const serviceName = uniqueName('s');
    await store(serviceName);
    const { proxy } = await makeProxy({ name: uniqueName('p'), serviceName: 'missing yet' });
    await own.open(`/connect/${proxy.id}`);
    await own.page.getByText('there is no credential of this name.').waitFor();
    await own.expectSound('connect-warning');
    await press('Edit');
    await field('Credential').fill(serviceName);
    await field('Headers').fill('X-Api-Key: ${TOKEN}');
    await field('Agent (optional)').fill(agent);
    await press('Save');
    await own.page.getByText('X-Api-Key is not among the allowed headers').waitFor();
    expect((await own.service.admin('GET', `/api/proxies/${proxy.id}`)).json).toMatchObject({
      ...{ serviceName, agentId: json.agent.id, headerTemplates: { 'X-Api-Key': '${TOKEN}' } },
    });
    await press('Edit');
    await field('MCP server').fill('https://elsewhere.example/mcp');
    await press('Save');
    await own.page.getByText('elsewhere.example is not among the allowed hosts').waitFor();

    await own.open('/connect/new');
    await field('Name').fill(uniqueName('session'));
    await field('MCP server').fill('https://mcp.example.com/mcp');
    await field('The server gets').selectOption('sv_session');
    await field('Agent').fill(agent);
    await press('Create');
    await own.page.getByRole('heading', { name: /is created/ }).waitFor();
    await own.link('Open the proxy').click();
    await own.link(agent).waitFor();
    own.expectComplaints('status of 404');
  });

  test('shows names that are markup or have no end as text, and makes words of them in commands', async () => {
    for (const name of HOSTILE_NAMES) await makeProxy({ name, serviceName: name });
    await own.open('/connect');
    await own.link(HOSTILE_NAMES[0]).waitFor();
    await own.expectSound('connect-hostile');
    await own.link(HOSTILE_NAMES[0]).click();
    await own.page.getByRole('heading', { name: HOSTILE_NAMES[0] }).waitFor();
    await expect
      .poll(() =>
        own.page.getByRole('group', { name: 'Add the MCP server, in a terminal', exact: true }).textContent(),
      )
      .toContain('--transport http b-onload-alert-1-amp http');
    expect(await own.page.locator('main b').count()).toBe(0);
    await own.expectSound('connect-hostile-proxy');
    await own.page.goto(own.address('/connect/prx_unknown'));
    await own.page.getByRole('heading', { name: 'There is no page here' }).waitFor();
    own.expectComplaints('status of 422', 'status of 404');
  });
});

describe('the import of mcpServers', () => {
  const importField = () => own.page.getByRole('textbox', { name: 'mcpServers JSON' });
  const read = async (settings: unknown) => {
    await importField().fill(typeof settings === 'string' ? settings : JSON.stringify(settings));
    await press('Read');
  };
  const entry = (more: object = {}) => ({
    ...{ type: 'http', url: upstream.url, headers: { Authorization: `Bearer ${SECRET}` } },
    ...more,
  });
  const settingsOf = async () => {
    const text = (await own.page.getByRole('group', { name: 'New settings' }).textContent()) ?? '';
    return { text, servers: JSON.parse(text).mcpServers as Record<string, ServerEntry> };
  };
  const names = async (path: string) =>
    ((await own.service.admin('GET', path)).json.items as { name?: string; serviceName?: string }[]).map(
      (item) => item.name ?? item.serviceName,
    );

  test.each(['admin', 'member'] as const)(
    'as %s: sends the secret to the webhook alone, and gives settings with which an MCP client calls the server',
    async (role) => {
      const name = uniqueName('imported');
      await own.open('/connect', await own.sessionOf(role));
      await own.link('Import mcpServers').click();
      await own.expectSound('connect-import');
      const local = { command: 'npx', args: ['server-everything'], env: { KEY: 'a key of a program' } };
      await read({ mcpServers: { [name]: entry(), local, plain: { url: 'https://mcp.example.com/' } } });
      await own.page.getByRole('heading', { name: 'Not imported' }).waitFor();
      await expect.poll(() => own.page.getByText('stdio').count()).toBe(1);
      expect(await own.page.content()).not.toContain(SECRET);
      await own.expectSound('connect-import-servers');
      const seen = upstream.seen.length;
      await press('Import');
      await own.page.getByRole('heading', { name: 'New settings' }).waitFor();
      await own.expectSound('connect-imported');
      const { text, servers } = await settingsOf();
      expect(Object.keys(servers)).toEqual([name]);
      expect(text).not.toContain(SECRET);
      expect(await toolsBy(servers[name]!)).toContain('echo');
      const called = upstream.seen.slice(seen);
      expect(called.length).toBeGreaterThan(0);
      for (const { headers } of called) expect(headers.authorization).toBe(`Bearer ${SECRET}`);

      const { json } = await own.service.admin('GET', `/api/tokens/${encodeURIComponent(name)}`);
      expect(json.webhook).toMatchObject({ delivery: 'proxy-only', allowedHosts: [upstream.origin] });
      for (const request of own.requested.filter((one) => one.url().startsWith(own.address('/'))))
        expect(`${request.url()} ${request.postData()}`).not.toContain(SECRET);
      const kept = await own.page.evaluate('JSON.stringify([localStorage, sessionStorage])');
      expect(`${await own.page.content()} ${String(kept)}`).not.toContain(SECRET);
    },
  );

  test('says beside the field what is wrong with damaged files and with names, and leaves nothing half stored', async () => {
    const held = uniqueName('held');
    await store(held);
    const [first, second, typed] = [uniqueName('first'), uniqueName('second'), uniqueName('typed')];
    const before = [await names('/api/proxies?limit=100'), await names('/api/tokens?limit=100')];
    await own.open('/connect/import');
    await read('{ "mcpServers": ');
    await own.page.getByText('This is no JSON').waitFor();
    await expect.poll(() => importField().inputValue()).toBe('{ "mcpServers": ');
    await own.expectSound('connect-import-damaged');
    await read({ hello: 'world' });
    await own.page.getByText('This has no mcpServers in it').waitFor();
    const reference = entry({ headers: { 'X-Api-Key': '${env:KEY}' } });
    await read({ mcpServers: { [first]: entry(), [second]: entry(), [typed]: reference } });

    const of = (server: string) => own.page.getByRole('group', { name: server });
    await of(second).getByLabel('Proxy').fill(first.toUpperCase());
    await press('Import');
    await of(second).getByText('Another server of this file has this name.').waitFor();
    await of(typed).getByText('This is needed.').waitFor();
    await of(second).getByLabel('Proxy').fill(second);
    await of(typed).getByRole('textbox', { name: 'Secret for X-Api-Key' }).fill(SECRET);
    await of(first).getByRole('textbox', { name: 'Credential' }).fill(held);
    await press('Import');
    await of(first).getByText('There is a credential of this name already.').waitFor();
    await own.expectSound('connect-import-issues');
    expect([await names('/api/proxies?limit=100'), await names('/api/tokens?limit=100')]).toEqual(before);

    await of(first).getByRole('textbox', { name: 'Credential' }).fill(first);
    await own.page.route(`${own.service.pair.webhookUrl}/**`, (route) => route.abort());
    await press('Import');
    await own.page.getByText('did not answer this browser').waitFor();
    expect([await names('/api/proxies?limit=100'), await names('/api/tokens?limit=100')]).toEqual(before);
    await own.page.unroute(`${own.service.pair.webhookUrl}/**`);
    await press('Import');
    await own.page.getByText('3 servers are imported.').waitFor();
    const { servers } = await settingsOf();
    expect(Object.keys(servers)).toEqual([first, second, typed]);
    own.expectComplaints('ERR_FAILED');
  });
});
