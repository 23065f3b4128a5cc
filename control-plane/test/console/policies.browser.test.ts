import { describe, expect, test } from 'vitest';
import { HOSTILE_NAMES } from '../support/console.ts';
import { toAgent, toToken } from '../support/policy-calls.ts';
import { AMERICAN, usePolicyScreens } from '../support/policy-screens.ts';

// The list and the detail of policies, and what is done there.

const own = usePolicyScreens();
const { button, link, field, shown, decision, make, attach } = own;

const ELSEWHERE = { type: 'ip_allowlist', cidrs: ['10.0.0.0/8'] } as const;
const dialog = () => own.page.getByRole('alertdialog');
const inDialog = (label: string) => dialog().getByRole('button', { name: label, exact: true });
const onForm = (label: string) =>
  own.page.getByRole('dialog').getByRole('button', { name: label, exact: true });

describe('the list of policies', () => {
  test('says with one sentence and one command that there is none', async () => {
    await own.open('/');
    await own.screenLink('Policies').click();
    await shown('No policy yet.');
    await expect.poll(() => own.page.getByText('svault policies apply policies.yaml').count()).toBe(1);
    await own.expectSound('policies-empty');
  });

  test('says in words what each policy holds, to how much it is attached, and whether it is enabled', async () => {
    const office = await make(
      'office',
      {
        type: 'time_window',
        timezone: 'Europe/London',
        windows: [{ days: [5, 1, 2, 3, 4], start: '09:00', end: '17:00' }],
      },
      { type: 'rate_limit', limit: 10, windowSeconds: 3_600 },
    );
    await attach(office, toAgent(own.agent));
    await attach(office, toToken('github'));
    await own.change(await make('asleep', ELSEWHERE), { enabled: false });
    await own.open('/policies');
    const line = own.page.locator('main li').filter({ hasText: 'office' });
    await line.waitFor();
    await expect
      .poll(() => line.innerText())
      .toContain('Mon-Fri 09:00-17:00 Europe/London; at most 10 requests an hour');
    await expect.poll(() => line.innerText()).toContain('2 targets');
    await expect.poll(() => line.innerText()).toContain('Enabled');
    const other = await own.page.locator('main li').filter({ hasText: 'asleep' }).innerText();
    expect([other.includes('nothing'), other.includes('Disabled')]).toEqual([true, true]);
    await own.expectSound('policies');
  });

  test('shows hostile names as text, and searches and pages by the address', async () => {
    for (const name of HOSTILE_NAMES) {
      own.service.clock.advance(1);
      await attach(await make(name, ELSEWHERE), toAgent(own.agent));
    }
    for (let n = 0; n < 48; n++) {
      own.service.clock.advance(1);
      await make(`numbered ${n}`, ELSEWHERE);
    }
    await own.open('/policies');
    await link(HOSTILE_NAMES[0]).waitFor();
    expect(await own.page.locator('main b').count()).toBe(0);
    await own.expectSound('policies-hostile');
    await link('Next page').click();
    await link('numbered 47').waitFor();
    await own.page.goBack();
    await link('numbered 0').waitFor();
    await own.page.keyboard.press('/');
    await own.page.keyboard.type('numbered 4');
    await own.page.waitForURL(own.address('/policies?name=numbered+4'));
    await expect
      .poll(() => own.page.locator('main li a').allTextContents())
      .toEqual(['numbered 4', ...[0, 1, 2, 3, 4, 5, 6, 7].map((n) => `numbered 4${n}`)]);
    await field('Search').fill('absent');
    await shown('No policy has this in its name.');
    await own.page.getByRole('heading', { name: 'Policies' }).click();

    await own.open(`/policies?name=${encodeURIComponent('<b')}`);
    await link(HOSTILE_NAMES[0]).waitFor();
    await own.page.locator('body').press('j');
    await own.page.keyboard.press('Enter');
    await shown('Attached to');
    await expect.poll(() => own.heading()).toBe(HOSTILE_NAMES[0]);
    await own.expectSound('policy-hostile');
    await button('Delete').click();
    await dialog().getByText(HOSTILE_NAMES[0]).waitFor();
    await own.expectSound('policy-hostile-delete');
  });
});

describe('a policy', () => {
  test('is attached to an agent and to a credential, and detached, and decides accordingly', async () => {
    await own.open(`/policies/${await make('elsewhere', ELSEWHERE)}`);
    await shown('Attached to nothing, so it decides about no request.');
    expect(await decision()).toBe('allowed');
    await button('Attach').click();
    await field('Name of the agent').fill('nobody');
    await onForm('Attach').click();
    await shown('No agent has this name.');
    await field('Name of the agent').fill(own.agentName);
    await own.expectSound('policy-attach');
    await onForm('Attach').click();
    await shown('The policy is attached to the agent.');
    expect(await decision()).toBe('403 elsewhere ip_allowlist');

    await button(`Detach ${own.agentName}`).click();
    await dialog().getByText(`no longer decides about the agent ${own.agentName}`).waitFor();
    await own.expectSound('policy-detach');
    await inDialog('Detach').click();
    await shown('The policy is detached from the agent.');
    expect(await decision()).toBe('allowed');

    await button('Attach').click();
    await field('Attach to').selectOption('Credential');
    await field('Name of the credential').fill('github');
    await onForm('Attach').click();
    await shown('The policy is attached to the credential.');
    expect(await decision()).toBe('403 elsewhere ip_allowlist');
    await link('github').click();
    await own.page.waitForURL(own.address('/credentials/github'));
  });

  test('is disabled and enabled, and each says for whom something changes', async () => {
    const id = await make('elsewhere', ELSEWHERE);
    await attach(id, toAgent(own.agent));
    await own.open(`/policies/${id}`);
    await button('Disable').click();
    await dialog().getByText(`Agent ${own.agentName}`).waitFor();
    await own.expectSound('policy-disable');
    await inDialog('Cancel').click();
    expect(await decision()).toBe('403 elsewhere ip_allowlist');
    await button('Disable').click();
    await inDialog('Disable').click();
    await shown('The policy is disabled: it decides about no request.');
    expect(await decision()).toBe('allowed');
    await button('Enable').click();
    await own.page.getByRole('dialog').getByText(own.agentName).waitFor();
    await onForm('Enable').click();
    await shown('Every rule has to allow a request.');
    expect(await decision()).toBe('403 elsewhere ip_allowlist');
  });

  test('is edited, and decides by its new rules from the next request on', async () => {
    const id = await make('elsewhere', ELSEWHERE);
    await attach(id, toAgent(own.agent));
    await own.open(`/policies/${id}`);
    await link('Edit').click();
    await field('Name').fill('renamed');
    await field('Networks and addresses').fill('193.0.0.0/16');
    await button('Number of uses').click();
    await field('Uses in all').fill('2');
    await own.expectSound('policy-edit');
    await button('Save changes').click();
    await shown('The policy is saved.');
    await expect.poll(() => own.heading()).toBe('renamed');
    await shown('only from 193.0.0.0/16');
    await own.page.getByText('JSON', { exact: true }).click();
    await shown('"type": "max_usage"');
    expect([await decision(AMERICAN), await decision(), await decision(), await decision()]).toEqual([
      '403 renamed ip_allowlist',
      'allowed',
      'allowed',
      '403 renamed max_usage',
    ]);
  });

  test('is deleted after it was said what stops, by the keyboard alone, and its address says then that nothing is there', async () => {
    const id = await make('elsewhere', ELSEWHERE);
    await attach(id, toAgent(own.agent));
    await own.open('/policies');
    await link('elsewhere').waitFor();
    await own.page.keyboard.press('j');
    await own.page.keyboard.press('Enter');
    await button('Delete').focus();
    await own.page.keyboard.press('Enter');
    await dialog().getByText(own.agentName).waitFor();
    // Enter, pressed once too often, deletes nothing.
    await expect.poll(() => own.page.locator(':focus').textContent()).toBe('Cancel');
    await own.page.keyboard.press('Enter');
    await dialog().waitFor({ state: 'detached' });
    await expect.poll(() => own.page.locator(':focus').textContent()).toBe('Delete');
    await own.page.keyboard.press('Enter');
    await inDialog('Delete').focus();
    await own.page.keyboard.press('Enter');
    await shown('The policy is deleted.');
    await shown('No policy yet.');
    expect(await decision()).toBe('allowed');
    await own.page.goto(own.address(`/policies/${id}`));
    await shown('There is no page here');
    own.expectComplaints('status of 404');
  });

  test('is made and attached by a member, too', async () => {
    const member = await own.sessionOf('member');
    const id = await make('elsewhere', ELSEWHERE);
    await own.open(`/policies/${id}`, member);
    await button('Attach').click();
    await field('Name of the agent').fill(own.agentName);
    await onForm('Attach').click();
    await shown('The policy is attached to the agent.');
    expect(await decision()).toBe('403 elsewhere ip_allowlist');
  });
});
