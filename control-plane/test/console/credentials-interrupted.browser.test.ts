import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type ConsoleInTest, useConsole } from '../support/console.ts';
import { agentOn } from '../support/pair-agents.ts';

const MINUTE = 60_000;
const SECRET = 'a value of a test';

/** Steps of a person in the console of one pair. */
function stepsIn(own: ConsoleInTest) {
  const { button, field } = own;
  return {
    button,
    field,
    alert: (text: string) => own.page.getByRole('alert').getByText(text),
    openForm: async (name: string): Promise<void> => {
      await own.open('/add-credential');
      await own.page.getByRole('link', { name: 'API key or password' }).click();
      await field('Name').fill(name);
      await field('Secret').fill(SECRET);
    },
    isStored: async (name: string): Promise<void> => {
      await own.page.waitForURL(own.address(`/credentials/${name}`));
      await own.page.getByText('1, stored').waitFor();
      const agent = await agentOn(own.service.pair, name);
      expect((await agent.fetch(name)).json.token).toMatchObject({ accessToken: SECRET });
    },
    read: (name: string) => own.service.admin('GET', `/api/tokens/${name}`),
  };
}

describe('while the form of a secret is open', () => {
  const own = useConsole();
  const { alert, button, field, isStored, openForm, read } = stepsIn(own);
  const storesSent = () =>
    own.requested.filter((each) => each.url().endsWith('/v1/store') && each.method() === 'POST').length;
  let name: string;
  let count = 0;
  beforeEach(() => {
    name = `interrupted-${++count}`;
  });

  test('the webhook stops: nothing is named, what was typed stays, and is stored once it is back', async () => {
    await openForm(name);
    await own.service.pair.stop('webhook');
    await button('Store').click();
    await alert('does not answer. Nothing was named or sent').waitFor();
    await expect.poll(() => field('Secret').inputValue()).toBe(SECRET);
    expect((await read(name)).status).toBe(404);
    await own.expectSound('credential-webhook-stopped');
    await own.service.pair.start('webhook');
    await button('Store').click();
    await isStored(name);
    own.expectComplaints('status of 404');
  });

  test('only this browser loses the webhook: the credential is shown without a secret, which is stored next', async () => {
    await openForm(name);
    await own.page.route('**/v1/store', (route) => route.abort());
    await button('Store').click();
    await alert('did not answer this browser').waitFor();
    await own.page.getByText('is named, but has no secret yet').waitFor();
    await expect.poll(() => field('Secret').inputValue()).toBe(SECRET);
    expect(await field('Name').getAttribute('readonly')).not.toBeNull();
    await own.expectSound('credential-half');
    await own.open('/credentials');
    const row = own.page.locator('main li').filter({ hasText: name });
    await row.getByText('No secret').waitFor();
    await own.page.unroute('**/v1/store');
    await row.getByRole('link', { name: 'Store the secret' }).click();
    await expect.poll(() => own.heading()).toBe(`Store the secret of ${name}`);
    await field('Secret').fill(SECRET);
    await button('Store').click();
    await isStored(name);
    own.expectComplaints('ERR_FAILED');
  });

  test('the answer of a store is lost: another attempt changes nothing, and says that it may have happened', async () => {
    await openForm(name);
    await own.page.route('**/v1/store', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await button('Store').click();
    await alert('did not answer this browser').waitFor();
    await own.page.unroute('**/v1/store');
    await button('Store its secret').click();
    await alert('by an attempt whose answer was lost').waitFor();
    expect((await read(name)).json).toMatchObject({ webhook: { version: 1 } });
    own.expectComplaints('ERR_FAILED', 'status of 409');
  });

  test('the ticket expires on its way: another one is asked for, once', async () => {
    await openForm(name);
    let delayed = 1;
    await own.page.route('**/v1/store', async (route) => {
      if (delayed-- > 0) own.service.clock.advance(6 * MINUTE);
      await route.continue();
    });
    await button('Store').click();
    await isStored(name);
    expect(storesSent()).toBe(2);
    own.expectComplaints('status of 401');
  });

  test('each ticket expires on its way: nothing is stored, and the clocks are named', async () => {
    await openForm(name);
    await own.page.route('**/v1/store', async (route) => {
      own.service.clock.advance(6 * MINUTE);
      await route.continue();
    });
    await button('Store').click();
    await alert('rejects tickets of this control plane. Nothing was stored.').waitFor();
    expect(storesSent()).toBe(2);
    await expect.poll(() => field('Secret').inputValue()).toBe(SECRET);
    expect((await read(name)).json).not.toHaveProperty('webhook');
    await own.expectSound('credential-ticket-expired');
    own.expectComplaints('status of 401');
  });

  test('the session ends: what was typed stays, and is stored after a sign-in in another tab', async () => {
    await openForm(name);
    await own.context.clearCookies();
    await button('Store').click();
    await alert('Your session has ended.').waitFor();
    await expect.poll(() => field('Secret').inputValue()).toBe(SECRET);
    expect((await read(name)).status).toBe(404);
    await own.expectSound('credential-session-ended');
    const [cookie = '', value = ''] = own.session.split('=');
    await own.context.addCookies([{ name: cookie, value, url: own.address('/') }]);
    await button('Store').click();
    await isStored(name);
    own.expectComplaints('status of 401');
  });

  test('the vault is locked: nothing is named, and what was typed is stored once it is unlocked', async () => {
    await openForm(name);
    await own.service.admin('POST', '/api/vault/lock');
    onTestFinished(async () => void (await own.service.admin('POST', '/api/vault/unlock')));
    await button('Store').click();
    await alert('The vault is locked.').waitFor();
    await own.expectSound('credential-vault-locked');
    await expect.poll(() => field('Secret').inputValue()).toBe(SECRET);
    await own.service.admin('POST', '/api/vault/unlock');
    expect((await read(name)).status).toBe(404);
    await button('Store').click();
    await isStored(name);
    own.expectComplaints('status of 423');
  });

  test('the webhook refuses the page’s address: nothing is stored, and what to do is said', async () => {
    await openForm(name);
    await own.page.route('**/v1/store', async (route) => {
      const headers = { 'access-control-allow-origin': own.address('') };
      const response = await route.fetch({
        headers: { ...route.request().headers(), origin: 'https://a.example' },
      });
      await route.fulfill({ response, headers: { ...response.headers(), ...headers } });
    });
    await button('Store').click();
    await alert('is bound to another address than').waitFor();
    expect((await read(name)).json).not.toHaveProperty('webhook');
    own.expectComplaints('status of 403');
  });
});

describe('before a webhook is bound', () => {
  const own = useConsole({ bound: false });
  const { isStored, openForm } = stepsIn(own);

  test('the list and the form say what to do; once it is bound, the console that is open stores the first secret', async () => {
    await own.open('/credentials');
    await own.page.getByText('No credential yet.').waitFor();
    await expect.poll(() => own.page.getByText('svault add github').count()).toBe(1);
    await own.expectSound('credentials-none');
    await own.link('Add credential').click();
    await own.page.getByText('No webhook is bound, so there is nowhere to store a secret.').waitFor();
    await own.expectSound('credential-unbound');
    await own.screenLink('Agents').click();
    await own.service.pair.bind();
    await openForm('first');
    await own.button('Store').click();
    await isStored('first');
  });
});
