import { beforeAll, describe, expect, test } from 'vitest';
import { type PairAgent, agentOn, storeOn } from '../support/pair-agents.ts';
import { useConsole } from '../support/console.ts';

const own = useConsole();
const SECRET = { tokenType: 'PlainText', value: 'a secret of a test' };
const DAY_MS = 86_400_000;

beforeAll(async () => {
  for (const name of ['github', 'npm', 'deploy']) await storeOn(own.service.pair, name, SECRET);
});

const { button } = own;
const dialog = () => own.page.getByRole('dialog').or(own.page.getByRole('alertdialog'));
const codeOf = async (agent: PairAgent, service: string): Promise<string | number> => {
  const { status, json } = await agent.fetch(service);
  return status === 200 ? status : json.code;
};
const rows = () => own.page.getByRole('list', { name: 'grants' }).getByRole('listitem');

describe('the grants of an agent', () => {
  test('are made, renewed and revoked: the agent has the credential, and then has not', async () => {
    const agent = await agentOn(own.service.pair);
    await own.open(`/agents/${agent.id}`);
    await own.page.getByText('No grant yet.').waitFor();
    await own.expectSound('agent-no-grant');
    await button('Grant access').click();
    const credential = dialog().getByRole('combobox', { name: 'Credential' });
    await credential.fill('git');
    await expect
      .poll(() =>
        dialog()
          .locator('datalist option')
          .evaluateAll((options) => options.map(String).length),
      )
      .toBe(1);
    await credential.fill('no-such-credential');
    await dialog().getByRole('button', { name: 'Grant' }).click();
    await dialog().getByText('names no credential of this account').waitFor();
    await expect.poll(() => credential.inputValue()).toBe('no-such-credential');
    await own.expectSound('agent-grant-wrong');
    own.expectComplaints('status of 422');
    await credential.fill('github');
    await dialog().getByLabel('Lasts').selectOption('1 hour');
    await dialog().getByRole('button', { name: 'Grant' }).click();
    await expect.poll(() => rows().allTextContents()).toEqual([expect.stringContaining('Expires in 1 hour')]);
    expect(await codeOf(agent, 'github')).toBe(200);

    own.service.clock.advance(3_600_000);
    await own.context.clock.setFixedTime(own.service.clock.now());
    await own.page.reload();
    await rows().getByText('Expired').waitFor();
    await button('Renew the grant for github').click();
    await dialog().getByLabel('Lasts').selectOption('Until revoked');
    await dialog().getByRole('button', { name: 'Renew' }).click();
    await rows().getByText('Until revoked').waitFor();
    own.service.clock.advance(40 * DAY_MS);
    expect(await codeOf(agent, 'github')).toBe(200);

    await own.context.clock.setFixedTime(own.service.clock.now());
    await own.open(`/agents/${agent.id}`, await own.sessionOf('admin'));
    await button('Revoke the grant for github').click();
    await dialog().getByText('NO_GRANT').waitFor();
    await own.expectSound('agent-revoke');
    await dialog().getByRole('button', { name: 'Revoke' }).click();
    await own.page.getByText('No grant yet.').waitFor();
    expect(await codeOf(agent, 'github')).toBe('NO_GRANT');
  });

  test('are made from a folder; those that are there stay', async () => {
    const agent = await agentOn(own.service.pair, 'npm');
    const folder = { name: '<i>releases</i>', serviceNames: ['npm', 'deploy'] };
    await own.service.admin('POST', '/api/folders', { body: folder });
    await own.open(`/agents/${agent.id}`);
    await rows().first().waitFor();
    await button('Grant access').click();
    await dialog().getByLabel('Access to', { exact: true }).selectOption('The credentials of a folder');
    await dialog().getByLabel('Folder', { exact: true }).selectOption(folder.name);
    await dialog().getByRole('button', { name: 'Grant' }).click();
    await own.page.getByText('1 grant is made. Existing grants stay: 1.').waitFor();
    await expect.poll(() => rows().count()).toBe(2);
    await expect
      .poll(() => rows().allTextContents())
      .toEqual([expect.stringMatching(/^deploy/), expect.stringMatching(/^npm/)]);
  });

  test('are what a member may make and revoke, too', async () => {
    const agent = await agentOn(own.service.pair);
    await own.open(`/agents/${agent.id}`, await own.sessionOf('member'));
    await button('Grant access').click();
    await dialog().getByRole('combobox', { name: 'Credential' }).fill('not-stored-yet');
    await dialog().getByLabel('Allow a name that no credential has yet').check();
    await dialog().getByRole('button', { name: 'Grant' }).click();
    await rows().first().waitFor();
    await button('Revoke the grant for not-stored-yet').click();
    await dialog().getByRole('button', { name: 'Revoke' }).click();
    await own.page.getByText('No grant yet.').waitFor();
    await own.link('MCP clients').click();
    await own.page.getByText('Sessions that you opened in a browser').waitFor();
    await own.expectSound('agent-clients-member');
  });
});

test('policies of an agent are attached and detached: its requests are denied, and then are not', async () => {
  const agent = await agentOn(own.service.pair, 'github');
  const name = 'never <b>\u202E';
  const rules = [{ type: 'ip_allowlist', cidrs: ['203.0.113.0/24'] }];
  const made = await own.service.admin('POST', '/api/policies', { body: { name, rules } });
  expect(made.status).toBe(201);
  await own.open(`/agents/${agent.id}?tab=policies`);
  await own.page.getByText('No policy is attached').waitFor();
  await own.expectSound('agent-no-policy');
  await button('Attach a policy').click();
  await dialog().getByLabel('Policy').selectOption(name);
  await own.expectSound('agent-attach');
  await dialog().getByRole('button', { name: 'Attach' }).click();
  const detach = button(`Detach ${name}`);
  await detach.waitFor();
  expect(await codeOf(agent, 'github')).toBe('POLICY_DENIED');
  await own.expectSound('agent-policies');
  await detach.click();
  await dialog().getByText('no longer restricts').waitFor();
  await own.expectSound('agent-detach');
  await dialog().getByRole('button', { name: 'Detach' }).click();
  await own.page.getByText('No policy is attached').waitFor();
  expect(await codeOf(agent, 'github')).toBe(200);
});
