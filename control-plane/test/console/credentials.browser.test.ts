import { startTokenEndpoint } from '@svault/test-kit/token-endpoint';
import { describe, expect, onTestFinished, test } from 'vitest';
import { useConsole } from '../support/console.ts';
import { agentOn, storeOn } from '../support/pair-agents.ts';

const own = useConsole();

const { button, field, link } = own;
const alert = () => own.page.getByRole('alert');

/** What the page says of a thing by this name. */
const fact = (name: string): Promise<string | null> =>
  own.page.locator('dl > div').filter({ hasText: name }).locator('dd').first().textContent();

async function nameOnly(serviceName: string): Promise<void> {
  const made = await own.service.admin('POST', '/api/tokens', {
    body: { serviceName, tokenType: 'PlainText' },
  });
  expect(made.status).toBe(201);
}

const NAMED_HARD = [
  '<img src=x onerror=alert(1)>',
  'سوكيل \u202Eevil',
  'a%2Fb?c#d',
  'n'.repeat(128),
] as const;

describe('the list of credentials', () => {
  test('finds credentials by a part of the name, by type and by folder, and keeps that in the address', async () => {
    await storeOn(own.service.pair, 'found-a', { tokenType: 'PlainText', value: 'a value of a test' });
    await storeOn(own.service.pair, 'found-b', {
      tokenType: 'JWT',
      accessToken: 'an access token of a test',
    });
    await nameOnly('other');
    const body = { name: 'Found', serviceNames: ['found-a'] };
    await own.service.admin('POST', '/api/folders', { body });
    const rows = () => own.page.locator('main li a[data-row]').allTextContents();
    await own.open('/credentials');
    await link('other').waitFor();
    await own.page.keyboard.press('/');
    await own.page.keyboard.type('FOUND');
    await expect.poll(rows).toEqual(['found-a', 'found-b']);
    await own.page.getByLabel('Type').selectOption({ label: 'Token' });
    await expect.poll(rows).toEqual(['found-b']);
    await own.page.waitForURL(own.address('/credentials?name=FOUND&type=JWT'));
    await own.page.getByLabel('Type').selectOption('');
    await own.page.getByLabel('Folder').selectOption({ label: 'Found' });
    await expect.poll(rows).toEqual(['found-a']);
    await field('Search').fill('nothing');
    await own.page.getByText('No credential matches.').waitFor();
  });

  test('shows names of any kind as they are, and leads to each', async () => {
    for (const name of NAMED_HARD) await nameOnly(name);
    for (const name of NAMED_HARD) {
      await own.open('/credentials');
      await link(name).click();
      await expect.poll(() => own.heading()).toBe(name);
      await link('Store its secret').click();
      await expect.poll(() => own.heading()).toBe(`Store the secret of ${name}`);
    }
    expect(await own.page.locator('main img').count()).toBe(0);
    await own.expectSound('credential-hard-name');
    await own.open('/credentials');
    await own.page.getByText('No secret').first().waitFor();
    await own.expectSound('credentials');
  });
});

describe('the page of a credential', () => {
  test('shows what is sealed, who can reach it, what happened and when it was last used', async () => {
    await storeOn(own.service.pair, 'shown', {
      tokenType: 'PlainText',
      value: 'a value of a test',
      allowedHosts: ['api.example.com', 'http://localhost:8080'],
      allowedHeaders: ['x-token'],
      expiryTime: '2026-12-24T12:00:00.000Z',
    });
    const agent = await agentOn(own.service.pair, 'shown');
    expect((await agent.fetch('shown')).status).toBe(200);
    await own.open('/credentials/shown');
    await link('All events').waitFor();
    await own.page
      .getByText(/asked for/)
      .first()
      .waitFor();
    await expect.poll(() => fact('Version')).toContain('1, stored');
    await expect.poll(() => fact('Expires')).toBe('in 34 days');
    await expect.poll(() => fact('Last used')).toContain('builder');
    await expect.poll(() => fact('Hosts')).toBe('api.example.comhttp://localhost:8080');
    await expect.poll(() => fact('Headers')).toBe('x-token');
    await expect.poll(() => fact('Refresh token')).toBe('None');
    const reach = own.page.locator('section').filter({ hasText: 'Who can reach it' });
    await expect.poll(() => reach.getByText('Until revoked').count()).toBe(1);
    await expect
      .poll(() => reach.getByRole('link', { name: 'Show in Reach' }).getAttribute('href'))
      .toBe('/reach?credential=shown');
    await own.expectSound('credential');
  });

  test('changes its description and its folders', async () => {
    await nameOnly('described');
    const folder = await own.service.admin('POST', '/api/folders', { body: { name: 'Tools' } });
    await own.open('/credentials/described');
    await button('Edit').click();
    await field('Called').fill('Described once');
    await field('Description').fill('What it is for');
    await field('Tags').fill('ci, prod');
    await own.expectSound('credential-edit');
    await button('Save').click();
    await own.page.getByText('What it is for').waitFor();
    await expect.poll(() => fact('Tags')).toBe('ci, prod');
    await button('Change folders').click();
    await field('Tools').check();
    await button('Save').click();
    await expect.poll(() => fact('Folders')).toContain('Tools');
    const { json } = await own.service.admin('GET', `/api/folders/${folder.json.id}`);
    expect(json.serviceNames).toEqual(['described']);
  });

  test('refreshes a token at once, and says why where the provider gives none', async () => {
    const provider = await startTokenEndpoint();
    onTestFinished(() => provider.close());
    provider.register({ id: 'client', method: 'client_secret_post', secret: 'a client secret' });
    const { accessToken, refreshToken } = provider.grant('client');
    await storeOn(own.service.pair, 'oauth', {
      tokenType: 'JWT',
      accessToken,
      refreshToken,
      provider: {
        tokenUrl: provider.url,
        clientId: 'client',
        clientSecret: 'a client secret',
        authMethod: 'client_secret_post',
      },
    });
    await own.open('/credentials/oauth');
    await own.page.getByText('1, stored').waitFor();
    await expect.poll(() => fact('State')).toBe('Refreshed');
    await own.expectSound('credential-oauth');
    await button('Refresh now').click();
    await own.page.getByText('The token is refreshed.').waitFor();
    await own.page.getByText('2, stored').waitFor();
    provider.misbehave({ status: 500, body: '{}' });
    await button('Refresh now').click();
    await alert().getByText('The provider gave no new token').waitFor();
    await own.expectSound('credential-refresh-failed');
  });

  test('deletes it, after it has said which agents lose it', async () => {
    await storeOn(own.service.pair, 'deleted', { tokenType: 'PlainText', value: 'a value of a test' });
    const agent = await agentOn(own.service.pair, 'deleted');
    const { json } = await own.service.admin('GET', `/api/agents/${agent.id}`);
    await own.open('/credentials/deleted');
    await button('Delete').click();
    const dialog = own.page.getByRole('alertdialog');
    await dialog.getByText(json.name).waitFor();
    await own.expectSound('credential-delete');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await own.page.waitForURL(own.address('/credentials'));
    await own.page.getByText('is deleted. The webhook keeps its secret for 7 days').waitFor();
    expect((await agent.fetch('deleted')).status).toBe(404);
    await own.open('/credentials/deleted');
    await expect.poll(() => own.heading()).toBe('There is no page here');
    own.expectComplaints('status of 404');
  });
});

describe('a secret is replaced', () => {
  test('by an admin, with the restrictions of the former one in the form', async () => {
    await storeOn(own.service.pair, 'replaced', {
      tokenType: 'PlainText',
      value: 'the former value of a test',
      allowedHosts: ['api.example.com'],
      allowedHeaders: ['x-token'],
      requests: [{ methods: ['GET'], paths: ['/repos/**'] }],
      delivery: 'proxy-only',
    });
    await own.open('/credentials/replaced');
    await expect.poll(() => fact('Allowed requests')).toBe('GET /repos/**');
    await link('Replace the secret').click();
    await own.page.getByText('Replaces version 1').waitFor();
    await expect.poll(() => field('Hosts').inputValue()).toBe('api.example.com');
    await expect.poll(() => field('Headers').inputValue()).toBe('x-token');
    await expect.poll(() => field('Delivery').inputValue()).toBe('proxy-only');
    await expect.poll(() => field('Allowed requests').inputValue()).toBe('GET /repos/**');
    await own.expectSound('credential-replace');
    await field('Secret').fill('the new value of a test');
    await field('Delivery').selectOption('any');
    await field('Allowed requests').fill('GET /repos/**\nGET api.example.com');
    await button('Replace').click();
    await own.page.getByText('GET api.example.com: api.example.com has no path').waitFor();
    await field('Allowed requests').fill('GET /repos/**\ntools search_* /mcp');
    await button('Replace').click();
    await own.page.getByText('2, stored').waitFor();
    const agent = await agentOn(own.service.pair, 'replaced');
    expect((await agent.fetch('replaced')).json.token).toMatchObject({
      accessToken: 'the new value of a test',
    });
    expect((await own.service.admin('GET', '/api/tokens/replaced')).json.webhook).toMatchObject({
      allowedHosts: ['api.example.com'],
      allowedHeaders: ['x-token'],
      requests: [
        { methods: ['GET'], paths: ['/repos/**'] },
        { tools: ['search_*'], paths: ['/mcp'] },
      ],
      version: 2,
    });
  });

  test('unless another one was stored since the form was opened', async () => {
    await storeOn(own.service.pair, 'raced', { tokenType: 'PlainText', value: 'the first value of a test' });
    await own.open('/credentials/raced/secret');
    await field('Secret').fill('the third value of a test');
    const { json } = await own.service.admin('POST', '/api/tokens/raced/store-ticket', { body: {} });
    await fetch(json.url, {
      method: 'POST',
      headers: { authorization: `Bearer ${json.ticket}`, 'content-type': 'application/json' },
      body: JSON.stringify({ tokenType: 'PlainText', value: 'the second value of a test' }),
    });
    await button('Replace').click();
    await alert().getByText('A secret was stored here since this form was opened').waitFor();
    await own.page.getByText('Version 2 is stored meanwhile.').waitFor();
    await own.expectSound('credential-conflict');
    const agent = await agentOn(own.service.pair, 'raced');
    expect((await agent.fetch('raced')).json.token).toMatchObject({
      accessToken: 'the second value of a test',
    });
    own.expectComplaints('status of 409');
  });

  test('by no member, who can store the first one and change nothing else', async () => {
    await storeOn(own.service.pair, 'kept', { tokenType: 'PlainText', value: 'a value of a test' });
    await nameOnly('filled');
    const member = await own.sessionOf('member');
    await own.open('/credentials/kept', member);
    await own.page.getByText('1, stored').waitFor();
    // What somebody may do is known with who they are.
    await own.page.locator('header').getByText('@example.org').waitFor();
    for (const name of ['Edit', 'Delete', 'Refresh now']) expect(await button(name).count()).toBe(0);
    expect(await link('Replace the secret').count()).toBe(0);
    await own.expectSound('credential-of-member');
    await own.open('/credentials/kept/secret', member);
    await own.page.getByText('only an admin may replace it').waitFor();
    await own.expectSound('credential-replace-of-member');
    await own.open('/credentials/filled', member);
    await link('Store its secret').click();
    await field('Secret').fill('filled by a member');
    await button('Store').click();
    await own.page.getByText('1, stored').waitFor();
    const agent = await agentOn(own.service.pair, 'filled');
    expect((await agent.fetch('filled')).json.token).toMatchObject({ accessToken: 'filled by a member' });
  });
});
