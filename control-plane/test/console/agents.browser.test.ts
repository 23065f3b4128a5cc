import { createPublicKey } from 'node:crypto';
import { createSealingKey } from '@svault/shared/sealed';
import { describe, expect, test } from 'vitest';
import { agentOn, storeOn } from '../support/pair-agents.ts';
import { HOSTILE_NAMES, useConsole } from '../support/console.ts';

const own = useConsole();

const { button, field, link } = own;
/** The text of what is said of a field. */
const saidOf = async (label: string): Promise<string> => {
  const ids = await own.page.getByLabel(label, { exact: true }).getAttribute('aria-describedby');
  const texts = (ids ?? '').split(' ').map((id) => own.page.locator(`[id="${id}"]`).textContent());
  return (await Promise.all(texts)).join(' ');
};
const agentNamed = async (name: string) =>
  (await own.service.admin('GET', `/api/agents?name=${encodeURIComponent(name)}`)).json.items[0];
const makeAgent = async (body: object): Promise<{ id: string; apiKey: string }> => {
  const { json } = await own.service.admin('POST', '/api/agents', { body });
  return { id: json.agent.id, apiKey: json.apiKey };
};
const listAs = (apiKey: string) =>
  own.service.anyone('GET', '/api/agents/credentials', { headers: { authorization: `Bearer ${apiKey}` } });

describe('the list of agents', () => {
  test('has agents whatever their names are, and leads to each by a permanent address', async () => {
    const description = `${'without end'.repeat(80)}\n<script>alert(1)</script> \u202Eevil`;
    for (const name of HOSTILE_NAMES)
      await own.service.admin('POST', '/api/agents', { body: { name, description } });
    await own.open('/');
    await own.screenLink('Agents').click();
    await link(HOSTILE_NAMES[0]).waitFor();
    expect(await own.page.locator('main b, main script').count()).toBe(0);
    await own.expectSound('agents');
    await link(HOSTILE_NAMES[1]).click();
    await own.page.getByText('No grant yet').waitFor();
    await expect.poll(() => own.heading()).toBe(HOSTILE_NAMES[1]);
    await own.expectSound('agent');
    await own.page.reload();
    await own.page.getByText('No grant yet').waitFor();
    await expect.poll(() => own.heading()).toBe(HOSTILE_NAMES[1]);
  });

  test('keeps search, filter and page in the address, and the way back', async () => {
    for (let n = 0; n < 51; n++) {
      // Agents of one time have no order.
      own.service.clock.advance(1);
      await makeAgent({ name: `numbered ${n}` });
    }
    const { id } = await agentNamed('numbered 50');
    for (const serviceName of ['one', 'other'])
      await own.service.admin('POST', `/api/agents/${id}/grants`, {
        body: { serviceName, allowMissing: true },
      });
    await own.service.admin('POST', `/api/agents/${id}/suspend`);

    await own.open('/agents');
    await link('Next page').click();
    await link('numbered 50').waitFor();
    const second = own.page.url();
    expect(new URL(second).searchParams.has('cursor')).toBe(true);
    await own.page.goBack();
    await link('numbered 0').waitFor();
    await own.page.goto(second);
    await link('First page').waitFor();

    const names = () => own.page.locator('main li a').allTextContents();
    await own.page.getByLabel('Status').selectOption('suspended');
    await own.page.waitForURL(own.address('/agents?status=suspended'));
    await expect.poll(names).toEqual(['numbered 50']);
    await expect.poll(() => own.page.locator('main li').textContent()).toContain('Grants 2');
    await own.page.getByLabel('Status').selectOption('');
    await own.page.locator('h1').click();
    await own.page.keyboard.press('/');
    await own.page.keyboard.type('RED 4');
    await own.page.waitForURL(own.address('/agents?name=RED+4'));
    await expect
      .poll(names)
      .toEqual(['numbered 4', ...Array.from({ length: 10 }, (_, n) => `numbered 4${n}`)]);
    await own.page.keyboard.type('none');
    await own.page.getByText('No agent fits the search.').waitFor();
    await own.expectSound('agents-none');
  });
});

describe('a new agent', () => {
  test('is created, granted a credential and connected by the keyboard alone', async () => {
    await storeOn(own.service.pair, 'by-keyboard', { tokenType: 'PlainText', value: 'a secret of a test' });
    await own.open('/agents');
    await link('New agent').focus();
    await own.page.keyboard.press('Enter');
    await own.page.waitForURL(own.address('/agents/new'));
    await field('Name').focus();
    await own.page.keyboard.type('keyboard');
    await own.page.keyboard.press('Tab');
    await own.page.keyboard.type('Made without a mouse');
    await own.page.keyboard.press('Tab');
    await own.page.keyboard.press('Space');
    await own.expectSound('agent-new');
    await field('Name').press('Enter');
    await button('Copy Its key').waitFor();
    // The focus is where the news is.
    await expect.poll(() => own.page.locator(':focus').textContent()).toBe('keyboard is created');
    await own.expectSound('agent-created');
    const apiKey = (await own.page.getByRole('group', { name: 'Its key' }).textContent()) ?? '';
    expect((await listAs(apiKey)).status).toBe(200);

    const credential = own.page.getByRole('combobox', { name: 'Credential' });
    await credential.focus();
    await own.page.keyboard.type('by-keyboard');
    await own.page.keyboard.press('Enter');
    await own.page.getByText('The grant is made.').waitFor();
    const { json } = await listAs(apiKey);
    expect(json.grants.map(({ serviceName }: { serviceName: string }) => serviceName)).toEqual([
      'by-keyboard',
    ]);

    await own.page.getByRole('radio', { name: 'Claude Code' }).focus();
    for (const _ of ['Cursor', 'VS Code', 'Python']) await own.page.keyboard.press('ArrowRight');
    await own.page.getByText('token = get_credential("by-keyboard")').waitFor();
    await link('Open the agent').press('Enter');
    await expect.poll(() => own.heading()).toBe('keyboard');
    expect(await agentNamed('keyboard')).toMatchObject({
      description: 'Made without a mouse',
      mcpEnabled: true,
    });
    // The key is where it was shown, and nowhere else.
    await own.page.goBack();
    await field('Name').waitFor();
    const kept = JSON.stringify(await own.context.storageState({ indexedDB: true }));
    expect([kept, await own.page.content(), own.page.url()].some((text) => text.includes(apiKey))).toBe(
      false,
    );
  });

  test.each([
    ['a name that another agent has', 'Name', 'taken', 'Another agent has this name.'],
    ['a name that cannot be one', 'Name', 'a\u0007b', 'must be one line without spaces around it'],
    ['a key that is cut off', 'Sealing key', '{"kty":"EC","crv":"P-256","x":"', 'The text may be cut off.'],
    ['a JWK of another kind', 'Sealing key', '{"kty":"RSA","n":"AQ","e":"AQ"}', 'not a public key of P-256'],
    ['a private JWK', 'Sealing key', '{"kty":"EC","crv":"P-256","d":"AQ"}', 'This is a private key'],
    [
      'a private PEM',
      'Sealing key',
      '-----BEGIN PRIVATE KEY-----\nAA\n-----END PRIVATE KEY-----',
      'private key',
    ],
    ['a damaged PEM', 'Sealing key', '-----BEGIN PUBLIC KEY-----\n%\n-----END PUBLIC KEY-----', 'not base64'],
  ])(
    'with %s is not created; what is wrong stands beside the field, and all stays typed',
    async (_, label, typed, said) => {
      await own.service.admin('POST', '/api/agents', { body: { name: 'taken' } });
      await own.open('/agents/new');
      await own.page.getByText('Sealed delivery').click();
      await field('Name').fill('not yet');
      await field('Description').fill('stays');
      await field(label).fill(typed);
      await button('Create').click();
      await expect.poll(() => saidOf(label)).toContain(said);
      await expect.poll(() => field(label).inputValue()).toBe(typed);
      await expect.poll(() => field('Description').inputValue()).toBe('stays');
      expect(await agentNamed('not yet')).toBeUndefined();
      if (typed.endsWith('"x":"')) await own.expectSound('agent-new-wrong');
      expect(own.requested.some((request) => request.postData()?.includes('PRIVATE'))).toBe(false);
      // The browser reports what the API rejects.
      own.expectComplaints('status of 409', 'status of 422');
    },
  );

  test.each(['P-256', 'P-384', 'X25519'] as const)(
    'has the thumbprint of its sealing key of %s, however that is spelt',
    async (curve) => {
      const { publicJwk, thumbprint } = createSealingKey(curve);
      const pem = createPublicKey({ key: { ...publicJwk }, format: 'jwk' }).export({
        type: 'spki',
        format: 'pem',
      });
      for (const [form, text] of [
        ['jwk', JSON.stringify({ ...publicJwk, kid: 'x', use: 'enc' })],
        ['pem', String(pem)],
        ['thumbprint', ` ${thumbprint} `],
      ] as const) {
        await own.open('/agents/new');
        await own.page.getByText('Sealed delivery').click();
        const name = `sealed ${curve} ${form}`;
        await field('Name').fill(name);
        await field('Sealing key').fill(text);
        await button('Create').click();
        await button('Copy Its key').waitFor();
        expect([form, (await agentNamed(name)).sealingKeyThumbprint]).toEqual([form, thumbprint]);
      }
    },
  );
});

describe('an agent', () => {
  test('is suspended and resumed: its requests are denied and let in again', async () => {
    const { id, apiKey } = await makeAgent({ name: 'to suspend' });
    await own.open(`/agents/${id}`);
    await button('Suspend').click();
    const dialog = own.page.getByRole('alertdialog');
    await dialog.getByText('AGENT_INACTIVE').waitFor();
    await own.expectSound('agent-suspend');
    await dialog.getByRole('button', { name: 'Suspend' }).click();
    await button('Resume').waitFor();
    expect((await listAs(apiKey)).json.code).toBe('AGENT_INACTIVE');
    await own.expectSound('agent-suspended');
    await button('Resume').click();
    await button('Suspend').waitFor();
    expect((await listAs(apiKey)).status).toBe(200);
  });

  test('has its key revealed, and rotated: the former key is refused, the new one works', async () => {
    const { id, apiKey } = await makeAgent({ name: 'to rotate' });
    await own.open(`/agents/${id}?tab=settings`);
    await button('Reveal the key').click();
    await button('Copy The key').waitFor();
    await expect.poll(() => own.page.getByRole('group', { name: 'The key' }).textContent()).toBe(apiKey);
    await own.expectSound('agent-revealed');
    await button('Rotate').click();
    await own.page.getByRole('alertdialog').getByText('stops working').waitFor();
    await own.expectSound('agent-rotate');
    await own.page.getByRole('alertdialog').getByRole('button', { name: 'Rotate' }).click();
    await button('Copy The new key').waitFor();
    const next = (await own.page.getByRole('group', { name: 'The new key' }).textContent()) ?? '';
    expect([(await listAs(apiKey)).json.code, (await listAs(next)).status]).toEqual(['INVALID_KEY', 200]);
    await button('Hide the key').click();
    await button('Reveal the key').waitFor();
    expect(await own.page.content()).not.toContain(next);
  });

  test('is renamed, gets another sealing key and none, has MCP switched on and off, and is deleted', async () => {
    const { id, apiKey } = await makeAgent({ name: 'first name', description: 'old' });
    const read = async () => (await own.service.admin('GET', `/api/agents/${id}`)).json;
    await own.open(`/agents/${id}?tab=settings`);
    await button('Edit').click();
    await field('Name').fill('second name');
    await field('Description').fill('new');
    await button('Save').click();
    await expect.poll(() => own.heading()).toBe('second name');

    const { thumbprint, publicJwk } = createSealingKey();
    await button('Set').click();
    await field('Sealing key').last().fill(JSON.stringify(publicJwk));
    await button('Save').click();
    await own.page.getByText(thumbprint).waitFor();
    await own.expectSound('agent-settings');
    await button('Remove').click();
    await own.page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click();
    await own.page.getByText(thumbprint).waitFor({ state: 'detached' });

    await button('Switch MCP on').click();
    await button('Switch MCP off').waitFor();
    expect(await read()).toMatchObject({ name: 'second name', description: 'new', mcpEnabled: true });
    await button('Switch MCP off').click();
    await own.page.getByRole('alertdialog').getByRole('button', { name: 'Switch off' }).click();
    await button('Switch MCP on').waitFor();
    expect(await read()).toMatchObject({ mcpEnabled: false });
    expect('sealingKeyThumbprint' in (await read())).toBe(false);

    await button('Delete').click();
    await own.page.getByRole('alertdialog').getByText('Nothing brings them').waitFor();
    await own.expectSound('agent-delete');
    await button('Delete for good').click();
    await own.page.waitForURL(own.address('/agents'));
    expect((await listAs(apiKey)).json.code).toBe('AGENT_INACTIVE');
    await own.open(`/agents/${id}?tab=settings`);
    await own.page.getByText('Deleted', { exact: true }).waitFor();
    expect(await own.page.locator('main').getByRole('button').count()).toBe(0);
    await own.expectSound('agent-deleted');
  });

  test('shows its requests by hour and its newest events, which lead to the log', async () => {
    await storeOn(own.service.pair, 'of-events', { tokenType: 'PlainText', value: 'a secret of a test' });
    const agent = await agentOn(own.service.pair, 'of-events');
    await agent.fetch('of-events');
    await agent.ask('denied-to-it');
    await own.open(`/agents/${agent.id}?tab=activity`);
    const events = own.page.getByRole('list', { name: 'Events' }).getByRole('listitem');
    await expect.poll(() => events.count()).toBe(4);
    await expect.poll(() => events.first().textContent()).toMatch(/asked for denied-to-it.*Denied/);
    const chart = own.page.getByRole('img', { name: /1 granted, 1 denied, 0 rate limited, 0 failed/ });
    await chart.waitFor();
    await own.expectSound('agent-activity');
    await link('All events').click();
    await own.page.waitForURL(own.address(`/activity?agent=${agent.id}`));
    await own.page.getByText('denied-to-it').first().waitFor();
  });

  test('that there is none of is said to be not there', async () => {
    await own.open('/agents/agt_AAAAAAAAAAAAAAAAAAAAAA');
    await own.page.getByRole('heading', { name: 'There is no page here' }).waitFor();
    own.expectComplaints('status of 404');
  });
});
