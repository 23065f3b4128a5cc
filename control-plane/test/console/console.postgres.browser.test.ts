import { expect, test } from 'vitest';
import { useConsole } from '../support/console.ts';
import { agentOn, storeOn } from '../support/pair-agents.ts';

const own = useConsole();

test('with its state in PostgreSQL the console shows, follows, explains and verifies the log', async () => {
  const { admin, pair, state } = own.service;
  expect(state.kind).toBe('postgres');
  await storeOn(pair, 'github', { tokenType: 'PlainText', value: 'a secret of a test' });
  const agent = await agentOn(pair, 'github');
  const { name } = (await admin('GET', `/api/agents/${agent.id}`)).json;
  expect((await agent.fetch('github')).status).toBe(200);
  await own.open('/');
  await own.page.getByText('Connected').waitFor();
  await agent.ask('npm');
  const feed = own.page.getByRole('group', { name: 'The newest events' });
  await feed.getByRole('link', { name: `${name} asked for npm` }).waitFor();
  await own.page.reload();
  await own.page.getByRole('img', { name: '1 granted, 1 denied, 0 rate limited, 0 failed.' }).waitFor();

  await own.link('All activity').click();
  await own.page.getByLabel('Outcome').selectOption('denied');
  await own.page.getByRole('link', { name: `${name} asked for npm` }).click();
  await own.page.getByText('The agent has no grant for this service').waitFor();
  await own.open(`/activity?agent=${agent.id}&outcome=success&event=AGENT_CREDENTIAL_ACCESS`);
  await own.page.getByRole('link', { name: `${name} asked for github` }).click();
  await own.page.getByText('The webhook delivered the credential.').waitFor();
  await own.open('/activity');
  await own.button('Verify').click();
  await own.page.getByText('Intact.').waitFor();
});
