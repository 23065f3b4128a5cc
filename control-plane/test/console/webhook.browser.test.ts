import { registrationLinkByPage } from '@svault/test-kit/bind-by-page';
import { describe, expect, test } from 'vitest';
import { useConsole } from '../support/console.ts';
import { agentOn, storeOn } from '../support/pair-agents.ts';

describe('binding', () => {
  const own = useConsole({ bound: false });
  const { click } = on(own);
  const fingerprint = (): Promise<string | null> => own.page.locator('.fingerprint').textContent();
  const openBinding = async (): Promise<void> => {
    await own.open('/');
    await own.page.getByRole('link', { name: 'Bind a webhook' }).click();
    await own.page.getByRole('heading', { name: 'Bind a webhook' }).waitFor();
  };

  test('says beside the field which address and which link lead nowhere, and goes on with the right link', async () => {
    await openBinding();
    await own.expectSound('webhook-unbound');
    const address = own.page.getByLabel('Address of the webhook');
    await address.fill('javascript:alert(1)');
    await click('Open its bind page');
    await own.page.getByText('Enter an address that begins with https://.').waitFor();

    const { pair } = own.service;
    const link = await registrationLinkByPage(pair.webhookUrl, pair.setupToken);
    const field = own.page.getByLabel('Registration link');
    for (const [text, problem] of [
      ['https://vault.example/', 'Paste the whole link'],
      [`${link} ${link.replace('code=', 'code=1')}`, 'Paste one link alone.'],
      [link.replace(/^http:..[^/]+/, 'https://other.example'), 'for the control plane at other.example'],
    ] as const) {
      await field.fill(text);
      await click('Compare the fingerprint');
      await own.page.getByText(problem).waitFor();
      await expect.poll(() => field.inputValue()).toBe(text);
    }
    await own.expectSound('webhook-wrong-link');

    await field.fill(`${link}\n\nFingerprint  0123 4567 89ab cdef\n`);
    await click('Compare the fingerprint');
    await own.page.getByRole('heading', { name: 'Bind this webhook?' }).waitFor();
    expect(own.page.url()).toBe(own.address('/vault/webhook-bind'));
    await click('Cancel');
    await own.page.getByRole('link', { name: 'the console' }).click();
    await own.page.getByRole('heading', { name: 'Home' }).waitFor();
  });

  test('leads from the console to the bind page of the webhook, to the comparison of the fingerprint, and back', async () => {
    const { pair } = own.service;
    await openBinding();
    await own.page.getByLabel('Address of the webhook').fill(`${pair.webhookUrl}/`);
    await own.page.keyboard.press('Enter');
    await own.page.getByRole('heading', { name: 'Bind this webhook' }).waitFor();
    expect(own.page.url()).toBe(`${pair.webhookUrl}/bind`);
    await own.page.getByRole('textbox').fill(pair.setupToken);
    await click('Continue');
    await own.page.getByRole('heading', { name: 'Connect this webhook' }).waitFor();
    const shownByWebhook = await fingerprint();
    await click('Connect');
    await own.page.getByRole('heading', { name: 'Bind this webhook?' }).waitFor();
    expect(await fingerprint()).toBe(shownByWebhook);
    await click('Bind webhook');
    await own.page.waitForURL(own.address('/webhook'));
    await own.page.getByText('Answers').waitFor();
    await expect.poll(() => own.page.getByText(pair.webhookUrl).count()).toBe(1);
  });
});

describe('the webhook', () => {
  const own = useConsole();
  const { click, confirm, fact } = on(own);

  test('is shown with how it does, and how far its copy of the log reaches', async () => {
    await own.open('/webhook');
    const { json } = await own.service.admin('GET', '/api/webhook');
    await own.page.getByText('Answers').waitFor();
    await expect.poll(() => fact('Address')).toBe(own.service.pair.webhookUrl);
    await expect.poll(() => fact('Version')).toBe(json.version);
    await expect.poll(() => fact('Capabilities')).toBe(json.capabilities.join(', '));
    await expect.poll(() => fact('Key')).toBe(json.keyId);
    await expect.poll(() => fact('Latency')).toMatch(/^\d+ ms$/);
    await expect.poll(() => fact('Contradictions')).toBe('None');
    await expect.poll(() => fact('Copy')).toMatch(/^(Complete|Up to date within a minute)$/);
    await own.expectSound('webhook');
  });

  test('gets another key by Rotate secret, while an agent goes on', async () => {
    await storeOn(own.service.pair, 'rotated', { tokenType: 'PlainText', value: 'a secret of a test' });
    const agent = await agentOn(own.service.pair, 'rotated');
    await own.open('/webhook');
    await own.page.getByText('Answers').waitFor();
    const former = await fact('Key');
    await click('Rotate secret');
    await own.page.getByText('Agents notice nothing').waitFor();
    await own.expectSound('webhook-rotate');
    await confirm('Rotate');
    await own.page.getByText('The binding secret is rotated.').waitFor();
    await expect.poll(() => fact('Key')).not.toBe(former);
    expect((await agent.fetch('rotated')).status).toBe(200);
  });

  test('whose own log does not continue what was seen of it is said to contradict', async () => {
    const { admin, state } = own.service;
    await admin('POST', '/api/agents', { body: { name: 'seen at the webhook' } });
    const heads = () => state.value('SELECT COUNT(*) FROM webhook_log_heads');
    await expect.poll(heads).toBe(1);
    // As if a longer log had been seen there before.
    await state.run('UPDATE webhook_log_heads SET seq = seq + 1000');
    await admin('POST', '/api/agents', { body: { name: 'shipped after it' } });
    const found = async () =>
      (await admin('GET', '/api/audit?eventType=WEBHOOK_LOG_CONTRADICTION')).json.items[0]?.seq ?? 0;
    await expect.poll(found).toBeGreaterThan(0);
    await own.open('/webhook');
    await own.page.getByText('its log was cut or rewritten').waitFor();
    await expect.poll(() => fact('Contradictions')).toContain(`just now, event ${await found()}: `);
    await own.expectSound('webhook-contradiction');
    await own.page.getByRole('link', { name: `event ${await found()}` }).click();
    await own.page.waitForURL(own.address(`/activity/${await found()}`));
  });

  test('that is gone is said to be gone, keeps its key where it does not answer, and its copy is behind', async () => {
    const { pair, admin, clock } = own.service;
    await pair.stop('webhook');
    try {
      await admin('POST', '/api/agents', { body: { name: 'made while the webhook is away' } });
      await own.open('/webhook');
      await own.page.getByRole('alert').waitFor();
      await expect
        .poll(() => own.page.getByRole('alert').textContent())
        .toContain('The webhook does not answer');
      expect([await fact('State'), await fact('Latency')]).toEqual(['Does not answer', 'No answer']);
      const key = await fact('Key');
      await click('Rotate secret');
      await confirm('Rotate');
      await own.page.getByRole('alertdialog').getByText('WEBHOOK_UNAVAILABLE').waitFor();
      await own.page.keyboard.press('Escape');
      await expect.poll(() => fact('Key')).toBe(key);

      clock.advance(70_000);
      await own.context.clock.setFixedTime(clock.now());
      await own.page.reload();
      await own.page.getByText('Behind since').waitFor();
      await expect.poll(() => fact('Copy')).toBe('Behind since 1 minute ago');
      await own.expectSound('webhook-gone');
    } finally {
      await pair.start('webhook');
    }
    own.expectComplaints('status of 503');
  });

  test('is unbound by Unbind, which says what stops; then the screen offers to bind one', async () => {
    await own.open('/webhook');
    await own.page.getByText('Answers').waitFor();
    await click('Unbind');
    const dialog = own.page.getByRole('alertdialog', { name: 'Unbind the webhook?' });
    await dialog.getByText('get no credential, until a webhook is bound').waitFor();
    await own.expectSound('webhook-unbind');
    await own.page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect((await own.service.admin('GET', '/api/webhook')).json.bound).toBe(true);
    await click('Unbind');
    await confirm('Unbind');
    await own.page.getByRole('heading', { name: 'Bind a webhook' }).waitFor();
    expect((await own.service.admin('GET', '/api/webhook')).json.bound).toBe(false);
  });
});

describe('the vault lock', () => {
  const own = useConsole();
  const { confirm } = on(own);
  const lock = () => own.page.getByRole('button', { name: 'Lock the vault…' });
  const unlock = () => own.page.getByRole('button', { name: 'Unlock the vault…' });
  /** Goes from where the window puts the focus to a button of it, and presses it. */
  const pressInWindow = async (name: string): Promise<void> => {
    await expect.poll(() => own.page.locator(':focus').textContent()).toBe('Cancel');
    await own.tabTo(own.button(name));
    await own.page.keyboard.press('Enter');
  };

  test('stops every agent from Home and is lifted again, by keyboard alone', async () => {
    await storeOn(own.service.pair, 'github', { tokenType: 'PlainText', value: 'a secret of a test' });
    const agent = await agentOn(own.service.pair, 'github');
    await own.open('/');
    await lock().focus();
    await own.page.keyboard.press('Space');
    const dialog = own.page.getByRole('alertdialog', { name: 'Lock the vault?' });
    await dialog.getByText('each request for a credential is denied').waitFor();
    await own.expectSound('home-lock');
    await pressInWindow('Lock');
    await own.page.getByText('The vault is locked.').waitFor();
    await unlock().waitFor();
    expect((await agent.fetch('github')).json).toMatchObject({ code: 'VAULT_LOCKED' });

    await own.link('Locked').click();
    await own.page.getByRole('heading', { name: 'Vault and webhook' }).waitFor();
    await own.expectSound('webhook-locked');
    await unlock().focus();
    await own.page.keyboard.press('Enter');
    await own.page.getByRole('alertdialog', { name: 'Unlock the vault?' }).waitFor();
    await pressInWindow('Unlock');
    await own.page.getByText('The vault is unlocked.').waitFor();
    await lock().waitFor();
    expect((await agent.fetch('github')).status).toBe(200);
  });

  test('is set by a member, who is shown nothing that they may not do', async () => {
    await own.open('/webhook', await own.sessionOf('member'));
    await own.page.getByText('Answers').waitFor();
    await expect
      .poll(() => own.page.locator('main').getByRole('button').allTextContents())
      .toEqual(['Lock the vault…']);
    await lock().click();
    await confirm('Lock');
    await own.page.getByText('Only an admin unlocks it.').waitFor();
    expect(await own.page.locator('main').getByRole('button').count()).toBe(0);
    await own.expectSound('webhook-member');
    const asked = own.requested.map((request) => new URL(request.url()).pathname);
    expect(asked).not.toContain('/api/webhook');
    await own.service.admin('POST', '/api/vault/unlock');
  });
});

function on(own: ReturnType<typeof useConsole>) {
  return {
    click: (name: string) => own.button(name).click(),
    /** Presses the button of the window that asks. */
    confirm: (name: string) =>
      own.page.getByRole('alertdialog').getByRole('button', { name, exact: true }).click(),
    /** The value of a fact on the screen. */
    fact: (name: string): Promise<string | null> =>
      own.page.locator('dt').getByText(name, { exact: true }).locator('xpath=../dd').textContent(),
  };
}
