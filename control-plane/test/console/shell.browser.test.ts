import { describe, expect, test } from 'vitest';
import { useConsole } from '../support/console.ts';

const own = useConsole();

describe('the shell', () => {
  test('lists its keys at ?, closes the list at Escape, and gives the focus back', async () => {
    await own.open('/agents');
    await own.page.getByRole('link', { name: 'Home' }).focus();
    await own.page.keyboard.press('?');
    await own.page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    await own.expectSound('keyboard');
    await own.page.keyboard.press('Escape');
    await own.page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await own.page.locator(':focus').textContent()).toBe('Home');
  });

  test('signs out; where the session has ended elsewhere, leads to the sign-in page and back to the same address', async () => {
    await own.open('/agents?status=active');
    await own.page.getByRole('link', { name: 'Home' }).waitFor();
    await own.context.clearCookies();
    await own.page.getByRole('link', { name: 'Home' }).click();
    await own.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(new URL(own.page.url()).searchParams.get('returnTo')).toBe('/');
    await own.open('/login?returnTo=%2Fagents%3Fstatus%3Dactive');
    expect(own.page.url()).toBe(own.address('/agents?status=active'));
    await own.page.getByRole('button', { name: 'Sign out' }).click();
    await own.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await own.page.goto(own.address('/agents'));
    expect(await own.heading()).toBe('Sign in');
    // The browser reports the answer that sent it to sign in.
    own.expectComplaints('status of 401');
  });

  test('keeps what is typed into a form when the session ends, and takes it after a sign-in in another tab', async () => {
    await own.open('/agents/new');
    await own.page.getByLabel('Name').fill('typed before the end');
    await own.context.clearCookies();
    await own.page.getByRole('button', { name: 'Create' }).click();
    const alert = own.page.getByRole('alert');
    await alert.getByText('Your session has ended. What you typed is still here.').waitFor();
    expect(await alert.getByRole('link').getAttribute('href')).toBe('/login?returnTo=%2F');
    expect(await own.page.getByLabel('Name').inputValue()).toBe('typed before the end');
    await own.expectSound('session-ended');
    own.expectComplaints('status of 401');

    const [name = '', value = ''] = own.session.split('=');
    await own.context.addCookies([{ name, value, url: own.address('/') }]);
    await own.page.getByRole('button', { name: 'Create' }).click();
    await expect.poll(() => own.heading()).toBe('typed before the end is created');
  });

  test('starts anew where another tab has signed in as somebody else', async () => {
    await own.open('/agents');
    await own.page.getByRole('link', { name: 'Home' }).waitFor();
    const [name = '', value = ''] = (await own.sessionOf('member')).split('=');
    await own.context.addCookies([{ name, value, url: own.address('/') }]);
    await own.page.evaluate('window.dispatchEvent(new Event("visibilitychange"))');
    await own.page.waitForURL(own.address('/'));
  });

  test('moves through the lines of a list by j and k, and opens one by Enter', async () => {
    for (const name of ['first', 'second'])
      await own.service.admin('POST', '/api/agents', { body: { name: `${name} of the keys` } });
    await own.open('/agents');
    const links = own.page.locator('main li a');
    await own.page.getByRole('link', { name: 'second of the keys' }).waitFor();
    const names = await links.allTextContents();
    const focused = (): Promise<string | null> => own.page.locator(':focus').textContent();
    await own.page.keyboard.press('j');
    expect(await focused()).toBe(names[0]);
    await own.page.keyboard.press('j');
    expect(await focused()).toBe(names[1]);
    await own.page.keyboard.press('k');
    expect(await focused()).toBe(names[0]);
    await own.page.keyboard.press('Enter');
    await expect.poll(() => own.heading()).toBe(names[0]);
  });

  test.each([
    ['markup of a text', 'document.body.innerHTML = "<b>x</b>"', 'TrustedHTML'],
    ['a script of a text', 'setTimeout("0")', 'TrustedScript'],
    ['a style attribute', 'document.body.setAttribute("style", "color: red")', 'style-src'],
    ['a request to another host', 'fetch("http://127.0.0.1:9/")', 'connect-src'],
    ['an image of another host', 'new Image().src = "http://127.0.0.1:9/x.png"', 'img-src'],
    [
      'a frame of another host',
      'Object.assign(document.body.appendChild(document.createElement("iframe")), { src: "http://127.0.0.1:9/" })',
      'default-src',
    ],
    [
      'a form to another host',
      'Object.assign(document.body.appendChild(document.createElement("form")), { action: "http://127.0.0.1:9/" }).submit()',
      'form-action',
    ],
  ])(
    'lets nothing make %s, and a browser test fails where something tries',
    async (_, attempt, directive) => {
      await own.open('/account');
      await own.page.getByText('Signed in by').waitFor();
      await own.page.evaluate(`(async () => { ${attempt} })().catch(() => {})`);
      await expect.poll(() => own.complaints.some((text) => text.includes(directive))).toBe(true);
      own.expectComplaints(directive, 'violates', 'Failed to');
      // The browser also reports requests that it has blocked.
      own.requested.splice(0);
    },
  );
});
