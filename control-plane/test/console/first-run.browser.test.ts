import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, expect, test } from 'vitest';
import { useConsole } from '../support/console.ts';
import { inShell } from '../support/in-shell.ts';

const own = useConsole({ bound: false });
const folder = tempDir();
afterAll(() => folder.remove());

const follow = (name: string) => own.link(name).click();
const click = (name: string) => own.button(name).click();
const done = () => own.page.locator('[data-step][data-state=done]').count();

test('leads from an empty account to the first credential that an agent fetches, by the forms of the console alone', async () => {
  const { pair } = own.service;
  await own.open('/');
  await follow('Bind a webhook');
  await own.field('Address of the webhook').fill(pair.webhookUrl);
  await click('Open its bind page');
  await own.page.getByRole('textbox').fill(pair.setupToken);
  await click('Continue');
  await click('Connect');
  await click('Bind webhook');
  await own.page.getByText('Answers').waitFor();

  await follow('Home');
  await expect.poll(done).toBe(1);
  await follow('Add a credential');
  await own.page.getByRole('link', { name: 'API key or password' }).click();
  await own.field('Name').fill('github');
  await own.field('Secret').fill('a secret of the first run');
  await click('Store');
  await own.page.waitForURL(own.address('/credentials/github'));

  await follow('Home');
  await expect.poll(done).toBe(2);
  await follow('New agent');
  await own.field('Name').fill('first');
  await click('Create');
  await own.page.getByRole('combobox', { name: 'Credential' }).fill('github');
  await click('Grant');
  await own.page.getByText('The grant is made.').waitFor();
  await own.page.getByRole('radio', { name: 'Node' }).check({ force: true });
  await own.page.getByText('getCredential("github")').waitFor();
  const [program = '', command = ''] = await own.page.locator('ol pre').allTextContents();

  await follow('Home');
  await expect.poll(done).toBe(4);
  writeFileSync(join(folder.path, 'agent.mjs'), program);
  expect(await inShell(folder.path, command)).toEqual({ code: 0, stdout: 'Fetched github\n', stderr: '' });
  await own.page.reload();
  const granted = own.page.locator('dl > div').filter({ hasText: 'Granted' }).locator('dd').first();
  await expect.poll(() => granted.textContent()).toBe('1');
  expect(await own.page.getByRole('heading', { name: 'Set up' }).count()).toBe(0);
});
