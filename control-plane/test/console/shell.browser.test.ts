import { describe, expect, test } from 'vitest';
import { useConsole } from '../support/console.ts';

const own = useConsole();

describe('the shell', () => {
  test('lists its keys at ?, closes the list at Escape, and gives the focus back', async () => {
    await own.open('/agents');
    await own.screenLink('Home').focus();
    await own.page.keyboard.press('?');
    await own.page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    await own.expectSound('keyboard');
    await own.page.keyboard.press('Escape');
    await own.page.getByRole('dialog').waitFor({ state: 'detached' });
    await expect.poll(() => own.page.locator(':focus').textContent()).toBe('Home');
  });

  test('shows a new screen from its top, also where the menu covered the one before', async () => {
    await own.page.setViewportSize({ width: 360, height: 400 });
    await own.open('/account');
    for (const screen of ['Agents', 'Policies', 'Activity']) {
      await own.page.locator('nav button').click();
      await own.screenLink(screen).click();
      await expect.poll(() => own.heading()).toBe(screen);
      await expect.poll(() => own.page.evaluate('document.activeElement.id')).toBe('main');
      expect(await own.page.evaluate('scrollY')).toBe(0);
    }
  });

  test('marks in its menu the screen to which what is shown belongs', async () => {
    for (const [path, screen] of [
      ['/', 'Home'],
      ['/agents/new', 'Agents'],
      ['/add-credential', 'Credentials'],
      ['/policies/simulate', 'Policies'],
    ] as const) {
      await own.open(path);
      const current = own.page.locator('nav[aria-label=Screens] [aria-current=page]');
      await expect.poll(() => current.allTextContents()).toEqual([screen]);
    }
  });

  test('signs out; where the session has ended elsewhere, leads to the sign-in page and back to the same address', async () => {
    await own.open('/agents?status=active');
    await own.screenLink('Home').waitFor();
    await own.context.clearCookies();
    await own.screenLink('Home').click();
    await own.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(new URL(own.page.url()).searchParams.get('returnTo')).toBe('/');
    await own.open('/login?returnTo=%2Fagents%3Fstatus%3Dactive');
    expect(own.page.url()).toBe(own.address('/agents?status=active'));
    await own.button('Sign out').click();
    await own.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await own.page.goto(own.address('/agents'));
    await expect.poll(() => own.heading()).toBe('Sign in');
    // The browser reports the answer that sent it to sign in.
    own.expectComplaints('status of 401');
  });

  test('keeps what is typed into a form when the session ends, and takes it after a sign-in in another tab', async () => {
    await own.open('/agents/new');
    await own.field('Name').fill('typed before the end');
    await own.context.clearCookies();
    await own.button('Create').click();
    const alert = own.page.getByRole('alert');
    await alert.getByText('Your session has ended. What you typed is still here.').waitFor();
    await expect.poll(() => alert.getByRole('link').getAttribute('href')).toBe('/login?returnTo=%2F');
    await expect.poll(() => own.field('Name').inputValue()).toBe('typed before the end');
    await own.expectSound('session-ended');

    const [name = '', value = ''] = own.session.split('=');
    await own.context.addCookies([{ name, value, url: own.address('/') }]);
    await own.button('Create').click();
    await expect.poll(() => own.heading()).toBe('typed before the end is created');
    own.expectComplaints('status of 401');
  });

  test('starts anew where another tab has signed in as somebody else', async () => {
    await own.open('/agents');
    await own.page.locator('header').getByText('@example.org').waitFor();
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

  test('says in place of a screen that the control plane does not answer, and shows the screen once it does', async () => {
    await own.open('/account');
    await own.page.getByText('Signed in by').waitFor();
    const gone = '**/api/agents*';
    await own.page.route(gone, (route) => route.abort());
    await own.screenLink('Agents').click();
    await own.page.getByRole('alert').getByText('The control plane does not answer.').waitFor();
    await own.expectSound('no-answer');
    await own.page.unroute(gone);
    await own.button('Try again').click();
    await own.link('New agent').waitFor();
    await own.page.getByRole('alert').waitFor({ state: 'detached' });
    own.expectComplaints('ERR_FAILED');
  });

  test('keeps a screen, and what is typed on it, when it is read again in vain', async () => {
    const { json } = await own.service.admin('POST', '/api/agents', { body: { name: 'read again' } });
    const { id } = json.agent;
    await own.open(`/agents/${id}?tab=settings`);
    await own.button('Edit').click();
    await own.field('Description').fill('typed, not saved');
    await own.page.route(`**/api/agents/${id}`, (route) => route.fulfill({ status: 503, json: {} }));
    await own.page.evaluate('window.dispatchEvent(new Event("visibilitychange"))');
    await own.page.getByText('answered with status 503').waitFor();
    await expect.poll(() => own.field('Description').inputValue()).toBe('typed, not saved');
    own.expectComplaints('status of 503');
  });

  test('shows its own error in place of the screen alone, and leads on', async () => {
    await own.open('/account');
    await own.page.getByText('Signed in by').waitFor();
    const broken = '**/api/agents*';
    await own.page.route(broken, (route) => route.fulfill({ json: { items: [null] } }));
    await own.screenLink('Agents').click();
    await own.page.getByRole('alert').getByText('The console made an error.').waitFor();
    await own.expectSound('own-error');
    await own.screenLink('Account').click();
    await own.page.getByText('Signed in by').waitFor();
    own.expectComplaints('TypeError', 'Minified React error');
  });

  test.each([
    ['markup of a text', 'document.body.innerHTML = "<b>x</b>"', 'TrustedHTML'],
    ['a script of a text', 'setTimeout("0")', 'TrustedScript'],
    ['a style attribute', 'document.body.setAttribute("style", "color: red")', 'style-src'],
    ['a request to another host', 'await fetch("http://127.0.0.1:9/")', 'connect-src'],
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
      // The rest of what the browser reports of an attempt comes before its next answer.
      await own.page.evaluate('0');
      own.expectComplaints(directive, 'violates');
      // The browser also reports requests that it has blocked.
      own.requested.splice(0);
    },
  );
});
