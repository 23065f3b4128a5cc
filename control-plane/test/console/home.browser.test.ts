import { describe, expect, test } from 'vitest';
import { useConsole } from '../support/console.ts';
import { agentOn, grant, storeOn } from '../support/pair-agents.ts';

const own = useConsole({ bound: false });

const states = (): Promise<string[]> =>
  own.page
    .locator('[data-step]')
    .evaluateAll((steps) =>
      (steps as unknown as { dataset: Record<string, string> }[]).map(
        ({ dataset }) => `${dataset['step']} ${dataset['state']}`,
      ),
    );

const figure = (name: string): Promise<string | null> =>
  own.page.locator('dl > div').filter({ hasText: name }).locator('dd').first().textContent();

describe('Home', () => {
  test('shows the set-up as five steps that tick themselves until an agent has fetched a credential, and then the numbers', async () => {
    await own.open('/');
    expect(await own.heading()).toBe('Home');
    await own.page.getByText('Bind the webhook').waitFor();
    expect(await states()).toEqual([
      'bind-webhook open',
      'store-credential open',
      'create-agent open',
      'grant-access open',
      'first-access open',
    ]);
    await own.page.getByText('Not bound').waitFor();
    await own.expectSound('first-run');

    expect(await own.page.getByRole('link', { name: 'Add a credential' }).getAttribute('href')).toBe(
      '/add-credential',
    );

    await own.service.pair.bind();
    await storeOn(own.service.pair, 'github', { tokenType: 'PlainText', value: 'a secret of a test' });
    await own.page.getByRole('link', { name: 'New agent' }).click();
    await own.page.waitForURL(own.address('/agents/new'));
    const agent = await agentOn(own.service.pair);
    await own.open('/');
    await own.page.getByRole('link', { name: 'Grant access to' }).click();
    await own.page.waitForURL(own.address(`/agents/${agent.id}`));
    await grant(own.service.pair, agent.id, { serviceName: 'github' });
    await own.open('/');
    await own.page.getByText('Let the agent fetch it').waitFor();
    const connect = own.page.getByRole('link', { name: 'Connect builder' });
    expect(await connect.getAttribute('href')).toBe(`/agents/${agent.id}?tab=connect`);
    expect(await states()).toEqual([
      'bind-webhook done',
      'store-credential done',
      'create-agent done',
      'grant-access done',
      'first-access open',
    ]);

    expect((await agent.fetch('github')).status).toBe(200);
    await agent.ask('npm');
    await own.page.reload();
    await own.page.getByText('Granted').waitFor();
    expect(await own.page.getByRole('heading', { name: 'Set up' }).count()).toBe(0);
    expect([await figure('Granted'), await figure('Denied'), await figure('Credentials')]).toEqual([
      '1',
      '1',
      '1',
    ]);
    await own.expectSound('home');
  });

  test('says that the vault is locked, and with which command it is unlocked', async () => {
    await own.service.admin('POST', '/api/vault/lock');
    await own.open('/');
    await own.page.getByRole('heading', { name: 'Needs attention' }).waitFor();
    expect(await figure('Vault')).toBe('Locked');
    expect(await own.page.getByText('svault vault unlock').count()).toBe(1);
    await own.expectSound('locked');
    await own.service.admin('POST', '/api/vault/unlock');
  });
});
