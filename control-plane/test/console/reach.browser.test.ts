import { describe, expect, onTestFinished, test } from 'vitest';
import { HOSTILE_NAMES, useConsole } from '../support/console.ts';
import { agentOn, grant, storeOn } from '../support/pair-agents.ts';
import { codeOf, proxyOn } from '../support/proxy-steps.ts';
import { uniqueName } from '../support/unique-name.ts';

const own = useConsole({ env: { SV_LIMIT_MANAGEMENT_WRITE: '10000' } });

const post = async (path: string, body: object) => {
  const answer = await own.service.admin('POST', path, { body });
  expect([path, answer.status, answer.json.code]).toEqual([path, expect.toBeOneOf([200, 201]), undefined]);
  return answer.json;
};
const store = (serviceName: string, more: object = {}) =>
  storeOn(own.service.pair, serviceName, { tokenType: 'PlainText', value: 'a secret of a test', ...more });

/** The name of the agent, and its id. */
async function namedAgent(name = uniqueName('agent')) {
  const { agent } = await post('/api/agents', { name });
  return agent as { id: string; name: string };
}
const grid = () => own.page.getByRole('grid', { name: 'Who can reach what' });
const dialog = () => own.page.getByRole('dialog');
const search = () => Object.fromEntries(new URL(own.page.url()).searchParams);
/** What the focus is on: its row and column, the names being 0. */
const focused = () => own.page.locator(':focus').getAttribute('data-at');

describe('Reach', () => {
  test('says what an agent can reach and who can reach a credential, and both agree with real requests', async () => {
    const [open, ended] = [uniqueName('open'), uniqueName('ended')];
    await store(open, { allowedHosts: ['mcp.example.com'] });
    await store(ended);
    const { pair } = own.service;
    const agent = await agentOn(pair, open);
    const { json } = await own.service.admin('GET', `/api/agents/${agent.id}`);
    const other = await agentOn(pair);
    await grant(pair, agent.id, { serviceName: ended, expiresInSeconds: 3_600 });
    own.service.clock.advance(3_600_000);
    const proxy = { name: uniqueName('p'), upstreamUrl: 'https://mcp.example.com/mcp', serviceName: open };
    await post('/api/proxies', { ...proxy, agentId: agent.id });

    await own.context.clock.setFixedTime(own.service.clock.now());
    await own.open('/reach');
    await own.page.getByLabel('What can this agent reach?').fill(json.name);
    await own.page.keyboard.press('Enter');
    await own.page.getByRole('heading', { name: `What ${json.name} can reach` }).waitFor();
    expect(search()).toEqual({ agent: agent.id });
    const lines = own.page.getByRole('list', { name: 'pairs' }).getByRole('listitem');
    await expect.poll(() => lines.count()).toBe(3);
    const states = await lines.allTextContents();
    expect(states.find((text) => text.startsWith(ended))).toContain('Denied now');
    expect(states.filter((text) => text.startsWith(open)).map((text) => text.includes('Allowed'))).toEqual([
      true,
      true,
    ]);
    await own.expectSound('reach-agent');
    expect((await agent.fetch(open)).status).toBe(200);

    await own.page.getByRole('link', { name: ended }).click();
    await dialog().getByText('GRANT_EXPIRED').first().waitFor();
    await own.expectSound('reach-cell-denied');
    expect((await agent.ask(ended)).json.code).toBe('GRANT_EXPIRED');
    await dialog().getByRole('button', { name: 'Close' }).click();

    await own.page.getByLabel('Who can reach this credential?').fill(open);
    await own.page.keyboard.press('Enter');
    await own.page.getByRole('heading', { name: `Who can reach ${open}` }).waitFor();
    await expect
      .poll(() => lines.allTextContents())
      .toEqual([expect.stringContaining(json.name), expect.stringContaining(`${proxy.name} proxy`)]);
    expect((await other.ask(open)).json.code).toBe('NO_GRANT');
    await own.page.getByLabel('What can this agent reach?').fill('nobody of this name');
    await own.page.keyboard.press('Enter');
    await own.page.getByText('No agent or active proxy has this name.').waitFor();
    await own.expectSound('reach-credential');
  });

  test('opens a cell by keyboard: its grant, policies, sealed rules, denials of each channel and last use; its address stays', async () => {
    const serviceName = uniqueName('cell');
    const sealed = { allowedHosts: ['api.example.com'], allowedHeaders: ['authorization'] };
    await store(serviceName, sealed);
    const agent = await agentOn(own.service.pair, serviceName);
    const { id } = await post('/api/policies', {
      name: 'few uses',
      rules: [{ type: 'max_usage', limit: 1 }],
    });
    await post(`/api/policies/${id}/attachments`, { targetType: 'token', targetId: serviceName });
    expect((await agent.fetch(serviceName)).status).toBe(200);

    await own.open('/reach');
    await grid().getByRole('gridcell').first().waitFor();
    await own.page.getByRole('link', { name: 'Everything' }).waitFor({ state: 'detached' });
    await own.page.getByLabel('Who can reach this credential?').focus();
    // The button beside it, and then the one cell that is in the order of Tab.
    await own.page.keyboard.press('Tab');
    await own.page.keyboard.press('Tab');
    expect(await focused()).toBe('1 1');
    await own.page.keyboard.press('Control+End');
    await own.page.keyboard.press('ArrowUp');
    await own.page.keyboard.press('ArrowLeft');
    await own.page.keyboard.press('Home');
    const title = `[title*="→ ${serviceName}: Policies decide"]`;
    const cell = grid().locator(title);
    const [row = 0, column = 0] = ((await cell.getAttribute('data-at')) ?? '').split(' ').map(Number);
    await own.page.keyboard.press('Control+Home');
    for (let n = 1; n < row; n++) await own.page.keyboard.press('ArrowDown');
    for (let n = 1; n < column; n++) await own.page.keyboard.press('ArrowRight');
    expect(await focused()).toBe(`${row} ${column}`);
    await own.page.keyboard.press('Enter');

    await dialog().getByText('1 of 1 used').waitFor();
    expect(search()).toEqual({ cell: `${agent.id}.${serviceName}` });
    for (const part of [
      'RESTDenied now by few uses: 1 of 1 used. Simulate',
      'MCP toolsDenied now with MCP_DISABLED. MCP is off for this agent. Turn it on',
      'GrantUntil revoked',
      'few uses of the credential: Number of uses',
      'Allowed hostsapi.example.com',
      'Allowed headersauthorization',
      'MCP clientsNone act as it',
      'Last usejust now, allowed',
    ])
      await expect.poll(() => dialog().textContent()).toContain(part);
    const hrefs = await dialog()
      .getByRole('link')
      .evaluateAll((links) => links.map((link) => (link as unknown as { pathname: string }).pathname));
    expect(hrefs).toEqual([
      '/policies/simulate',
      `/agents/${agent.id}`,
      `/policies/${id}`,
      `/agents/${agent.id}`,
      expect.stringMatching(/^\/activity\/\d+$/),
      `/agents/${agent.id}`,
      `/credentials/${encodeURIComponent(serviceName)}`,
    ]);
    await own.expectSound('reach-cell');
    await own.page.reload();
    await dialog().getByRole('link', { name: 'few uses' }).waitFor();
    await own.page.keyboard.press('Escape');
    await dialog().waitFor({ state: 'detached' });
    expect(search()).toEqual({});
    await own.expectSound('reach-matrix');
  });

  test('a cell without a grant says with what each channel denies, and a request is denied with that', async () => {
    const serviceName = uniqueName('none');
    await store(serviceName);
    const agent = await agentOn(own.service.pair);
    const denied = async () => {
      await own.open(`/reach?cell=${agent.id}.${serviceName}`);
      await dialog().getByRole('list', { name: 'Channels' }).waitFor();
      return dialog().getByRole('list', { name: 'Channels' }).locator('code:first-of-type').allTextContents();
    };
    expect((await denied())[0]).toBe('NO_GRANT');
    expect((await agent.ask(serviceName)).json.code).toBe('NO_GRANT');
    await own.service.admin('POST', '/api/vault/lock');
    onTestFinished(async () => void (await own.service.admin('POST', '/api/vault/unlock')));
    expect((await denied())[0]).toBe('VAULT_LOCKED');
    expect((await agent.ask(serviceName)).json.code).toBe('VAULT_LOCKED');
    await own.service.admin('POST', '/api/vault/unlock');
    await own.service.admin('POST', `/api/agents/${agent.id}/suspend`);
    expect(await denied()).toEqual(['AGENT_INACTIVE']);
    await dialog().getByText('The agent is suspended. Resume it').waitFor();
    expect((await agent.ask(serviceName)).json.code).toBe('AGENT_INACTIVE');
  });

  test('a proxy to a host that is not sealed is denied, with where to add the host, as its calls are', async () => {
    const serviceName = uniqueName('sealed');
    await store(serviceName, { allowedHosts: ['api.example.com'] });
    const { pair, admin } = own.service;
    const owner = { running: { url: pair.controlPlaneUrl() }, admin };
    const proxy = await proxyOn(owner, { serviceName, upstreamUrl: 'https://other.example.com/mcp' });
    await own.open(`/reach?proxy=${proxy.id}&cell=${proxy.id}.${serviceName}`);
    await dialog().getByText('DESTINATION_NOT_ALLOWED').waitFor();
    await dialog().getByText('--allow-host other.example.com').waitFor();
    await own.expectSound('reach-cell-destination');
    expect(codeOf(await proxy.send('tools/list'))).toEqual([502, 'DESTINATION_NOT_ALLOWED']);
    await dialog().getByRole('button', { name: 'Close' }).click();
    await own.page.getByRole('list', { name: 'pairs' }).getByText('Denied now').waitFor();
  });

  test('shows names that are markup or have no end as text, to a member as to an admin', async () => {
    const serviceName = `<img src=x onerror=alert(1)> ${uniqueName('s')}`;
    await store(serviceName);
    for (const name of HOSTILE_NAMES) {
      const { id } = await namedAgent(name);
      await grant(own.service.pair, id, { serviceName });
    }
    await own.open('/reach', await own.sessionOf('member'));
    await grid().getByRole('link', { name: HOSTILE_NAMES[0] }).click();
    await own.page.getByRole('heading', { name: `What ${HOSTILE_NAMES[0]} can reach` }).waitFor();
    await own.page.getByRole('link', { name: serviceName }).waitFor();
    await own.expectSound('reach-hostile');
    await own.page.getByRole('link', { name: 'Everything' }).click();
    await grid().waitFor();
    expect(await own.page.locator('main b, main img').count()).toBe(0);
    await own.expectSound('reach-hostile-matrix');
  });

  test('at 200 by 500, scrolls and moves by keys to the last cell with few cells in the document and few of them loaded', async () => {
    const names = Array.from({ length: 500 }, (_, n) => `zz-${String(n).padStart(3, '0')}`);
    const folders: string[] = [];
    for (let n = 0; n < names.length; n += 25) {
      await Promise.all(
        names
          .slice(n, n + 25)
          .map((serviceName) => post('/api/tokens', { serviceName, tokenType: 'PlainText' })),
      );
      const some = { name: uniqueName('f'), serviceNames: names.slice(n, n + 25) };
      folders.push((await post('/api/folders', some)).id);
    }
    let last = '';
    for (let n = 0; n < 200; n++) {
      // Agents of one time have no order.
      own.service.clock.advance(1);
      const { id } = await namedAgent(`many ${n}`);
      const granted = n === 199 ? folders : [folders[n % folders.length]];
      for (const folderId of granted) await post(`/api/agents/${id}/grants`, { folderId });
      last = id;
    }
    await own.open('/reach');
    await grid().getByRole('gridcell').first().waitFor();
    const asked = () => own.requested.filter((request) => request.url().includes('/api/reach/matrix')).length;
    expect(asked()).toBeLessThanOrEqual(4);
    await own.page.getByLabel('Who can reach this credential?').focus();
    await own.page.keyboard.press('Tab');
    await own.page.keyboard.press('Tab');
    // Each leads to the end of what is loaded, and that loads more.
    const isAtLast = async (): Promise<boolean> => {
      await own.page.keyboard.press('Control+End');
      const title = await own.page.locator(':focus').getAttribute('title');
      const rows = Number(await grid().getAttribute('aria-rowcount'));
      return title?.includes('→ zz-499') === true && rows > 200;
    };
    await expect.poll(isAtLast).toBe(true);
    expect(Number(await grid().getAttribute('aria-colcount'))).toBeGreaterThan(500);
    expect(await grid().getByRole('gridcell').count()).toBeLessThan(1_500);
    expect(asked()).toBeLessThan(40);
    const ofLast = grid().getByRole('row').filter({ hasText: 'many 199' }).locator('[title*="→ zz-499"]');
    await expect.poll(() => ofLast.getAttribute('aria-label')).toBe('Allowed');
    await own.expectSound('reach-200x500');
    expect(
      (await own.service.admin('GET', `/api/reach?agentId=${last}&serviceName=zz-499`)).json.items,
    ).toHaveLength(1);
  });
});
