import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { HOSTILE_NAMES, useConsole } from '../support/console.ts';
import { clientOf } from '../support/management-service.ts';
import { type PairAgent, agentOn, pathFor, storeOn } from '../support/pair-agents.ts';
import { policySteps, toAgent } from '../support/policy-calls.ts';

const own = useConsole();
const { button } = own;
const steps = policySteps(() => own.service.pair);
const SECRET = { tokenType: 'PlainText', value: 'a secret of a test' };
const PHONE = { width: 360, height: 740 };
const PHONES = [390, 320];

let agent: PairAgent;
beforeAll(async () => {
  await storeOn(own.service.pair, 'github', SECRET);
  const approval = { by: 'passkey', for: ['credential'] };
  await storeOn(own.service.pair, 'sealed', { ...SECRET, approval });
});
beforeEach(async () => {
  // What other tests asked for has ended.
  own.service.clock.advance(15 * 60_000);
  await own.context.clock.setFixedTime(own.service.clock.now());
  agent = await agentOn(own.service.pair, 'github', 'sealed');
});

/** An agent's request, with its reason. @returns the link of its denial */
async function asks(service: string, reason?: string, by = agent): Promise<string> {
  const call = clientOf(own.service.pair.controlPlaneUrl(), { authorization: `Bearer ${by.apiKey}` });
  const query = reason === undefined ? '' : `&reason=${encodeURIComponent(reason)}`;
  const { status, json } = await call('GET', pathFor(service) + query);
  expect(status).toBe(403);
  return json.approval.url as string;
}

const hold = async (settings: object = {}, by = agent): Promise<unknown> =>
  steps.attach(await steps.make('people decide', { type: 'manual_approval', ...settings }), toAgent(by));

/** Opens what a link leads to, signed in. */
const follow = async (link: string): Promise<void> => {
  await own.open(new URL(link).pathname);
  await own.page.getByRole('heading', { name: 'Approval', exact: true }).waitFor();
};
const pressAll = async (...keys: readonly string[]): Promise<void> => {
  for (const key of keys) await own.page.keyboard.press(key);
};
const state = () => own.page.locator('main').getByRole('status');

describe('the link of a denial', () => {
  test('leads through the sign-in page to the request, which is approved by keyboard and then passes', async () => {
    await hold();
    const link = await asks('github', 'Restore the orders table');
    const { pathname } = new URL(link);
    await own.page.goto(own.address(pathname));
    await own.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(new URL(own.page.url()).searchParams.get('returnTo')).toBe(pathname);
    own.expectComplaints('status of 401', 'ERR_');
    await own.open(`/login?returnTo=${encodeURIComponent(pathname)}`);
    expect(own.page.url()).toBe(own.address(pathname));
    await own.page.getByText('Restore the orders table').waitFor();
    await own.page.getByText('A policy requires an approval').waitFor();
    await own.expectSound('approval');

    await pressAll('Enter', 'a', 'y', 'd', ' ');
    await own.tabTo(button('Approve'));
    expect((await own.service.admin('GET', `/api${pathname}`)).json.status).toBe('pending');
    await own.page.keyboard.press('Enter');
    await state().getByText('Approved', { exact: true }).waitFor();
    await expect.poll(() => own.page.locator(':focus').textContent()).toBe('Approved');
    await own.expectSound('approval-approved');
    expect((await agent.fetch('github')).status).toBe(200);
    expect((await agent.ask('github')).status).toBe(403);
  });

  test.each([
    ['one tap', () => own.tap(button('Approve'))],
    ['five keys', () => pressAll('Tab', 'Tab', 'Tab', 'Tab', 'Enter')],
  ])('opens what %s on a phone approves, and each of its states is accessible', async (_with, approve) => {
    await hold();
    await follow(await asks('github', 'Restore the orders table'));
    await button('Approve').waitFor();
    await expect.poll(() => own.page.locator(':focus').getAttribute('aria-label')).toBe('What is asked');
    await own.expectSoundAt(PHONES, 'console-approval', 'phone');
    await own.page.setViewportSize({ width: 390, height: 844 });
    await approve();
    await state().getByText('Approved', { exact: true }).waitFor();
    await own.expectSoundAt(PHONES, 'console-approval-approved', 'phone');
    expect((await agent.fetch('github')).status).toBe(200);
  });

  test('is decided on a phone without scrolling, and what is left of an approval is taken back', async () => {
    await own.page.setViewportSize(PHONE);
    await hold({ uses: 3 });
    await follow(await asks('github'));
    await button('Approve').waitFor();
    const box = await button('Approve').boundingBox();
    expect((box?.y ?? Infinity) + (box?.height ?? 0)).toBeLessThanOrEqual(PHONE.height);
    await button('Approve').click();
    await button('Revoke').click();
    await state().getByText('Denied', { exact: true }).waitFor();
    expect((await agent.ask('github')).status).toBe(403);
  });
});

test('the badge counts what waits as it comes and goes, and the list has it on top', async () => {
  await hold();
  const badge = () => own.page.getByRole('navigation', { name: 'Screens' }).getByText('pending');
  await own.open('/agents');
  await own.screenLink('Approvals').waitFor();
  const link = await asks('github');
  await own.screenLink('Approvals 1 pending').click();
  const row = own.page.getByRole('list', { name: 'pending approvals' }).getByRole('listitem');
  await expect.poll(() => row.allTextContents()).toEqual([expect.stringContaining('15 min 00 s left')]);
  await own.expectSound('approvals');
  await row.getByRole('link').click();
  await own.page.waitForURL(own.address(new URL(link).pathname));
  await button('Deny').click();
  await state().getByText('Denied', { exact: true }).waitFor();
  await expect.poll(() => badge().count()).toBe(0);
  await own.screenLink('Approvals').click();
  await own.page.getByText('None. To require approvals').waitFor();
  const earlier = own.page.getByRole('list', { name: 'earlier approvals' }).getByRole('listitem');
  await expect.poll(() => earlier.first().textContent()).toContain('Denied');
});

describe('hostile text', () => {
  const REASONS = [
    '\u202E'.repeat(500),
    'W'.repeat(500),
    '\n'.repeat(500),
    'e\u0301\u0302\u0303\u0304\u0305'.repeat(83),
    `<img src=x onerror=alert(1)>${'\u200B'.repeat(400)}`,
    '</bdi></blockquote><h1>Approved</h1>',
  ];
  const PLACES = `[...document.querySelectorAll('main section[aria-label] :is(dt, button, blockquote)')]
    .map((node) => [node.tagName, node.getBoundingClientRect()])
    .map(([name, { x, y, height }]) => [name, x, y, height])`;
  /** Where the buttons and the facts are on a phone. */
  async function places(): Promise<unknown> {
    await own.page.setViewportSize(PHONE);
    await button('Approve').waitFor();
    return own.page.evaluate(PLACES);
  }

  test('of a reason moves neither the facts nor the buttons, and is no markup', async () => {
    await hold();
    await follow(await asks('github'));
    const expected = await places();
    await button('Deny').click();
    for (const reason of REASONS) {
      const other = await agentOn(own.service.pair, 'github');
      await hold({}, other);
      await follow(await asks('github', reason, other));
      await own.page.getByText('No reason was given.').waitFor({ state: 'detached' });
      expect(await places()).toEqual(expected);
      await expect.poll(() => own.page.locator('main img, main h1').count()).toBe(1);
      expect(await own.page.locator('blockquote').textContent()).not.toMatch(/[\u202E\u200B]/);
    }
    await own.expectSound('approval-hostile');
  });

  test.each([...HOSTILE_NAMES, 'W'.repeat(100)])('of the name %j does not, either', async (name) => {
    await hold();
    await follow(await asks('github'));
    const expected = await places();
    await own.service.admin('PATCH', `/api/agents/${agent.id}`, { body: { name } });
    await own.page.reload();
    expect(await places()).toEqual(expected);
    expect(await own.page.locator('main b').count()).toBe(0);
  });
});

test('what a passkey has to approve is decided at the webhook alone', async () => {
  const link = await asks('sealed', 'Look at the orders');
  const { items } = (await own.service.admin('GET', '/api/approvals?status=pending')).json;
  const [{ id }] = items as [{ id: string }];
  await follow(own.address(`/approvals/${id}`));
  await own.page.getByText('The credential requires a passkey').waitFor();
  const to = own.link('Decide at the webhook');
  await expect.poll(() => to.getAttribute('href')).toBe(link);
  expect(await button('Approve').count()).toBe(0);
  await own.expectSound('approval-passkey');
});

test('access that an agent asks for is granted on the terms of the form', async () => {
  const { pair } = own.service;
  await own.service.admin('PATCH', '/api/vault', { body: { accessRequests: true } });
  const stranger = await agentOn(pair);
  const call = clientOf(pair.controlPlaneUrl(), { authorization: `Bearer ${stranger.apiKey}` });
  const { json } = await call('POST', '/api/agents/access-requests', {
    body: { service: 'github', reason: 'Open issues' },
  });
  await follow(json.approval.url as string);
  await own.page.getByText('The agent has no grant').waitFor();
  await own.page.getByLabel('Lasts').selectOption('1 hour');
  await own.page.getByLabel('Keep the refresh token from the agent').press('Enter');
  await button('Approve').waitFor();
  await own.expectSound('approval-access');
  await button('Approve').click();
  await state().getByText('Approved').waitFor();
  expect((await stranger.fetch('github')).status).toBe(200);
  const grants = (await own.service.admin('GET', `/api/agents/${stranger.id}/grants`)).json.items;
  expect(grants).toEqual([expect.objectContaining({ serviceName: 'github', status: 'active' })]);
});
