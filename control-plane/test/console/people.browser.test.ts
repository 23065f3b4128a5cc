import { randomToken } from '@svault/shared';
import { describe, expect, test } from 'vitest';
import { HOSTILE_NAMES, useConsole } from '../support/console.ts';
import { agentOn, storeOn } from '../support/pair-agents.ts';

const own = useConsole();

const { button, field } = own;
const dialog = (name: string) => own.page.getByRole('dialog', { name });
const alertDialog = (name: string) => own.page.getByRole('alertdialog', { name });

/** Screens whose links somebody sees. */
const screens = () =>
  own.page.getByRole('navigation', { name: 'Screens' }).getByRole('link').allTextContents();

describe('People', () => {
  test('adds a person whose link signs them in once, changes their role, and removes them with their sessions', async () => {
    const email = `ann-${randomToken(6).toLowerCase()}@example.org`;
    await own.open('/people');
    await button('Add a person').click();
    await field('E-mail address').fill('not an address');
    await button('Add').click();
    await own.page.getByText('Please include an').waitFor();
    await expect.poll(() => field('E-mail address').inputValue()).toBe('not an address');
    await field('E-mail address').fill(email);
    await field('Role').selectOption('member');
    await button('Add').click();
    await dialog(`Sign-in link for ${email}`).waitFor();
    const link = await dialog(`Sign-in link for ${email}`).locator('code').textContent();
    await own.expectSound('sign-in-link');
    await button('Close').click();
    await expect.poll(() => own.page.getByText(link ?? '').count()).toBe(0);

    const hers = await own.browser.newContext();
    const page = await hers.newPage();
    await page.goto(link ?? '');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText(email).first().waitFor();

    await button(`Role ${email}`).click();
    await field('Role').selectOption('admin');
    await button('Change').click();
    await own.page.getByRole('status').getByText(`The role of ${email} is changed.`).waitFor();
    await own.page.getByRole('searchbox').fill(email.slice(0, 8).toUpperCase());
    await own.page.waitForURL(/name=/);
    await expect.poll(() => own.page.getByRole('list', { name: 'members' }).locator('li').count()).toBe(1);
    await expect.poll(() => own.page.getByRole('list', { name: 'members' }).textContent()).toContain('Admin');

    await button(`Remove ${email}`).click();
    await alertDialog(`Remove ${email}`).getByText('admin keys end at once').waitFor();
    await own.expectSound('remove-person');
    await alertDialog(`Remove ${email}`).getByRole('button', { name: 'Remove' }).click();
    await own.page.getByText('Nobody has such an address').waitFor();
    await page.goto(own.address('/'));
    await expect.poll(() => page.locator('h1').textContent()).toBe('Sign in');
    await hers.close();
  });

  test('makes an admin key that works until it is revoked, and shows it once', async () => {
    await own.open('/people');
    await button('New admin key').click();
    await field('Name').fill(HOSTILE_NAMES[0]);
    await button('Create').click();
    const key = await dialog('The admin key is created').locator('code').textContent();
    const asProgram = async (): Promise<number> => {
      const headers = { authorization: `Bearer ${key}` };
      return (await own.service.anyone('GET', '/api/agents', { headers })).status;
    };
    expect(await asProgram()).toBe(200);
    await button('Close').click();
    await own.page.getByText(HOSTILE_NAMES[0]).first().waitFor();
    await expect.poll(() => own.page.getByText(key ?? '').count()).toBe(0);
    expect(await own.page.locator('b').count()).toBe(0);
    await own.expectSound('people');
    await button(`Revoke ${HOSTILE_NAMES[0]}`).click();
    await own.page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click();
    await own.page.getByRole('status').getByText('is revoked').waitFor();
    expect(await asProgram()).toBe(401);
  });

  test('is neither shown to a member, nor are other members’ sessions and the export', async () => {
    await own.open('/account', await own.sessionOf('member'));
    await own.page.getByRole('heading', { name: 'Your sessions' }).waitFor();
    expect(await screens()).not.toContain('People');
    await expect.poll(() => own.page.getByRole('list', { name: 'sessions' }).locator('li').count()).toBe(1);
    expect(await own.page.getByRole('link', { name: 'Export the account' }).count()).toBe(0);
    await own.expectSound('account-of-member');
    await own.page.goto(own.address('/people'));
    await own.page.getByText('Only admins see the people of the account').waitFor();
    expect(await own.page.locator('main').getByRole('button').count()).toBe(0);
  });
});

describe('Account', () => {
  test('says who is signed in, ends another session, and gives the account as a file', async () => {
    const other = await own.sessionOf('member');
    const [, email] = await Promise.all([
      own.open('/account'),
      own.service
        .anyone('GET', '/api/me', { headers: { cookie: other } })
        .then(({ json }) => json.email as string),
    ]);
    const theirs = own.page.getByRole('list', { name: 'sessions' }).locator('li').filter({ hasText: email });
    await theirs.waitFor();
    await own.expectSound('account');
    await theirs.getByRole('button').click();
    await alertDialog('End the session').getByText('has to sign in again there').waitFor();
    await alertDialog('End the session').getByRole('button', { name: 'End it' }).click();
    // The list has no role while a window is over it: that alone would seem to be the end.
    await own.page.getByText('The session is ended.').waitFor();
    await theirs.waitFor({ state: 'detached' });
    expect((await own.service.anyone('GET', '/api/me', { headers: { cookie: other } })).status).toBe(401);

    const [file] = await Promise.all([
      own.page.waitForEvent('download'),
      own.page.getByRole('link', { name: 'Export the account' }).click(),
    ]);
    expect(file.suggestedFilename()).toBe('svault-account.json');
  });
});

describe('Limits', () => {
  test('says who is locked out and for how long, and how much of each limit is used', async () => {
    await storeOn(own.service.pair, 'limited', { tokenType: 'PlainText', value: 'a secret of a test' });
    const agent = await agentOn(own.service.pair, 'limited');
    for (let times = 0; times < 61; times++) await agent.list();
    await own.open('/limits');
    const locked = own.page.getByText('for 1 minute more');
    await locked.waitFor();
    await own.page.getByText('60 of 600 in 1 minute').waitFor();
    await own.expectSound('limits');
    await own.page.getByRole('main').getByRole('link').first().click();
    await own.page.getByText('60 of 60 in 1 minute').waitFor();
    expect(new URL(own.page.url()).searchParams.get('callerId')).toBe(agent.id);
    await own.expectSound('limits-of-agent');
  });
});
