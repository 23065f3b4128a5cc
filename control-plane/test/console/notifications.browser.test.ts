import { describe, expect, test } from 'vitest';
import { HOSTILE_NAMES, useConsole } from '../support/console.ts';

const own = useConsole();
const { button, field } = own;
const dialog = (name: string) => own.page.getByRole('dialog', { name });
const rows = () => own.page.getByRole('list', { name: 'channels' }).getByRole('listitem');

/** Title, text and tag of each notification of the worker. */
const SHOWN = `(async () => {
  const registration = await navigator.serviceWorker.getRegistration('/assets/push-worker.js');
  return (await registration.getNotifications()).map(({ title, body, tag }) => [title, body, tag]);
})()`;

describe('the channels of an account', () => {
  test('are made with a key that is shown once, tested, and deleted', async () => {
    await own.open('/account');
    await own.page.getByText('No channels.').waitFor();
    await button('New channel').click();
    await field('Name').fill(HOSTILE_NAMES[0]);
    await field('Address').fill('https://hooks.invalid/approvals');
    await own.expectSound('notifications-new');
    await button('Create').click();
    await dialog('The channel is created').waitFor();
    const key = await dialog('The channel is created').locator('code').textContent();
    expect(key).toMatch(/^[\w-]{43}$/);
    await button('Close').click();
    await expect.poll(() => own.page.getByText(key ?? '').count()).toBe(0);
    await expect
      .poll(() => rows().allTextContents())
      .toEqual([expect.stringContaining('https://hooks.invalid')]);
    await button('Test').click();
    await own.page.getByRole('status').getByText('was not delivered').waitFor();
    await rows().getByText('Failed').waitFor();
    await expect.poll(() => own.page.locator('main b').count()).toBe(0);
    await own.expectSound('notifications');
    await button(`Delete ${HOSTILE_NAMES[0]}`).click();
    await own.page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
    await own.page.getByText('No channels.').waitFor();
  });

  test('are a member’s browsers alone', async () => {
    await own.open('/account', await own.sessionOf('member'));
    await own.page.getByText('No channels.').waitFor();
    await expect.poll(() => button('New channel').count()).toBe(0);
  });
});

test('the service worker shows a message that comes, and one that it cannot read, and nothing else', async () => {
  const origin = own.address('');
  await own.context.grantPermissions(['notifications'], { origin });
  const cdp = await own.context.newCDPSession(own.page);
  const registrations: string[] = [];
  cdp.on('ServiceWorker.workerRegistrationUpdated', (update) => {
    registrations.push(...update.registrations.map(({ registrationId }) => registrationId));
  });
  await cdp.send('ServiceWorker.enable');
  await own.open('/account');
  await button('Notify this browser').click();
  // A push service is on the internet: here the worker is all that there is of it.
  await own.page.getByRole('alert').waitFor();
  own.expectComplaints('does not support the Push API in incognito mode');
  await expect.poll(() => registrations.length).toBeGreaterThan(0);
  const [registrationId = ''] = registrations;
  const shown = () => own.page.evaluate(SHOWN);
  const deliver = (data: string) =>
    cdp.send('ServiceWorker.deliverPushMessage', { origin, registrationId, data });
  const message = {
    title: '“ci” asks for “github”',
    body: 'no reason',
    url: '/approvals/apr_1',
    tag: 'apr_1',
  };
  await deliver(JSON.stringify(message));
  await expect.poll(shown).toEqual([[message.title, message.body, message.tag]]);
  await deliver('not JSON');
  await expect
    .poll(shown)
    .toEqual(expect.arrayContaining([['A request waits for an approval', '', 'approvals']]));
});
