import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { useConsole } from '../support/console.ts';
import { agentOn, grant, storeOn } from '../support/pair-agents.ts';

const own = useConsole({ bound: false, env: { SV_LIMIT_MANAGEMENT_WRITE: '100000' } });

const states = (): Promise<string[]> =>
  own.page
    .locator('[data-step]')
    .evaluateAll((steps) =>
      (steps as unknown as { dataset: Record<string, string> }[]).map(
        ({ dataset }) => `${dataset['step']} ${dataset['state']}`,
      ),
    );

const figure = (name: string): Promise<string | null> =>
  own.page.locator('dl > div').filter({ hasText: name }).locator('dd').first().textContent();

describe('Home', () => {
  test('shows the set-up as five steps that tick themselves until an agent has fetched a credential, and then the numbers', async () => {
    await own.open('/');
    expect(await own.heading()).toBe('Home');
    await own.page.getByText('Bind the webhook').waitFor();
    expect(await states()).toEqual([
      'bind-webhook open',
      'store-credential open',
      'create-agent open',
      'grant-access open',
      'first-access open',
    ]);
    await own.page.getByText('Not bound').waitFor();
    await own.expectSound('first-run');

    await expect.poll(() => own.link('Add a credential').getAttribute('href')).toBe('/add-credential');

    await own.service.pair.bind();
    await storeOn(own.service.pair, 'github', { tokenType: 'PlainText', value: 'a secret of a test' });
    await own.link('New agent').click();
    await own.page.waitForURL(own.address('/agents/new'));
    const agent = await agentOn(own.service.pair);
    await own.open('/');
    await own.page.getByRole('link', { name: 'Grant access to' }).click();
    await own.page.waitForURL(own.address(`/agents/${agent.id}`));
    await grant(own.service.pair, agent.id, { serviceName: 'github' });
    await own.open('/');
    await own.page.getByText('Let the agent fetch it').waitFor();
    const connect = own.page.getByRole('link', { name: 'Connect builder' });
    await expect.poll(() => connect.getAttribute('href')).toBe(`/agents/${agent.id}?tab=connect`);
    expect(await states()).toEqual([
      'bind-webhook done',
      'store-credential done',
      'create-agent done',
      'grant-access done',
      'first-access open',
    ]);

    expect((await agent.fetch('github')).status).toBe(200);
    await agent.ask('npm');
    await own.page.reload();
    await own.page
      .getByRole('img', {
        name: 'The busiest begins at 12:00: 1 granted, 1 denied, 0 rate limited, 0 failed.',
      })
      .waitFor();
    expect(await own.page.getByRole('heading', { name: 'Set up' }).count()).toBe(0);
    expect([await figure('Granted'), await figure('Denied'), await figure('Credentials')]).toEqual([
      '1',
      '1',
      '1',
    ]);
    await own.page.getByText('As a table').click();
    const hours = own.page.getByRole('table').getByRole('row');
    await expect.poll(() => hours.count()).toBe(25);
    await expect.poll(() => hours.last().getByRole('cell').allTextContents()).toEqual(['1', '1', '0', '0']);
    await own.expectSound('home');
    const denied = own.page.getByText('Denied: no grant');
    await own.page.locator('dl > div').filter({ hasText: 'Denied' }).getByRole('link').click();
    await denied.waitFor();
    await own.page.goBack();
    await own.page.getByRole('link', { name: '1 denied' }).click();
    await own.page.waitForURL(own.address(`/activity?agent=${agent.id}&outcome=denied`));
    await denied.waitFor();
  });

  test('takes at most 170 kB for the first load, numbers and feed included', async () => {
    await own.open('/');
    await own.page.getByText('Connected').waitFor();
    const files = own.requested.filter((request) => !new URL(request.url()).pathname.startsWith('/api/'));
    const sizes = await Promise.all(files.map((request) => request.sizes()));
    const bytes = sizes.reduce((sum, { responseBodySize }) => sum + responseBodySize, 0);
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThan(170_000);
  });

  test('leads to where the vault is unlocked, and shows again what was seen when it occurs anew', async () => {
    const needs = own.page.getByRole('region', { name: 'Needs attention' });
    const unlock = needs.getByRole('link', { name: 'Unlock it' });
    await own.service.admin('POST', '/api/vault/lock');
    await own.open('/');
    await expect.poll(() => unlock.getAttribute('href')).toBe('/webhook');
    expect(await figure('Vault')).toBe('Locked');
    await own.expectSound('locked');
    await needs.getByRole('button', { name: 'Mark as seen' }).click();
    await needs.getByText('1 seen').waitFor();
    await own.page.reload();
    await needs.getByText('1 seen').waitFor();
    expect(await unlock.isVisible()).toBe(false);

    await own.service.admin('POST', '/api/vault/unlock');
    own.service.clock.advance(1_000);
    await own.service.admin('POST', '/api/vault/lock');
    await own.page.reload();
    await unlock.waitFor();
    await own.service.admin('POST', '/api/vault/unlock');
    await own.page.reload();
    await own.page.getByText('Connected').waitFor();
    await expect.poll(() => needs.count()).toBe(0);
  });

  test('says in one line that several grants of one agent expire, and marks them as seen together', async () => {
    const needs = own.page.getByRole('region', { name: 'Needs attention' });
    const agent = await agentOn(own.service.pair);
    for (const [serviceName, hours] of [
      ['later', 20],
      ['sooner', 2],
      ['not-soon', 48],
    ] as const)
      await grant(own.service.pair, agent.id, {
        ...{ serviceName, allowMissing: true, expiresInSeconds: hours * 3_600 },
      });
    await own.open('/');
    const line = needs.getByRole('listitem');
    await expect
      .poll(() => line.allTextContents())
      .toEqual([
        expect.stringMatching(/^2 grants to builder \d+ expire within a day, the first, sooner, in 2 /),
      ]);
    await expect.poll(() => own.link('Renew them').getAttribute('href')).toBe(`/agents/${agent.id}`);
    await own.expectSound('home-expiring');
    await own.button('Mark as seen').click();
    await needs.getByText('2 seen').waitFor();
    const { items } = (
      await own.service.anyone('GET', '/api/attention', { headers: { cookie: own.session } })
    ).json;
    expect(items.map(({ seen }: { seen: boolean }) => seen)).toEqual([true, true]);
  });
});

describe('the live feed', () => {
  const lines = async (): Promise<string[]> => {
    const texts = await feed().locator('li').allInnerTexts();
    return texts.map((text) => text.split(/\n+/).slice(1).join(' | '));
  };
  /** The numbers of the shown events. */
  const numbers = async (): Promise<number[]> => {
    const links = await feed().getByRole('link').all();
    const paths = await Promise.all(links.map((link) => link.getAttribute('href')));
    return paths.map((path) => Number(path?.replace('/activity/', '')));
  };
  const feed = () => own.page.getByRole('group', { name: 'The newest events' });
  const state = () => own.page.getByRole('region', { name: 'What happens now' }).getByRole('status');

  /** Home, with a feed that has every event so far. */
  const openFeed = async (): Promise<void> => {
    await own.open('/');
    await state().getByText('Connected').waitFor();
    await own.page.mouse.move(0, 0);
  };
  /** An agent, and what it asked for as the feed says it. */
  const asking = async () => {
    const agent = await agentOn(own.service.pair);
    const { name } = (await own.service.admin('GET', `/api/agents/${agent.id}`)).json;
    return { ask: agent.ask, line: (service: string) => `${name} asked for ${service} | Denied: no grant` };
  };

  test('has the newest events once each, in their order, also those from before a restart of the control plane', async () => {
    const { ask, line } = await asking();
    await openFeed();
    await ask('one');
    await ask('two');
    await expect.poll(async () => (await lines()).slice(0, 2)).toEqual([line('two'), line('one')]);

    await own.service.pair.stop('control-plane');
    await state().getByText('Disconnected.').waitFor();
    expect((await lines()).slice(0, 2)).toEqual([line('two'), line('one')]);
    await own.service.pair.start('control-plane');
    await ask('three');
    await state().getByText('Connected').waitFor();
    await ask('four');
    await expect
      .poll(async () => (await lines()).slice(0, 4))
      .toEqual(['four', 'three', 'two', 'one'].map(line));
    own.expectComplaints('ERR_');
  });

  test('goes on where the connection broke, without a gap and without a twin', async () => {
    const { ask, line } = await asking();
    const connections = new Set<Socket>();
    const note = (message: unknown): void => {
      const { request, socket } = message as { request: IncomingMessage; socket: Socket };
      if (request.url === '/api/events') connections.add(socket);
    };
    subscribe('http.server.request.start', note);
    onTestFinished(() => void unsubscribe('http.server.request.start', note));
    await openFeed();
    await ask('one');
    await expect.poll(async () => (await lines())[0]).toBe(line('one'));
    for (const connection of connections) connection.destroy();
    await ask('two');
    await ask('three');
    await expect.poll(async () => (await lines()).slice(0, 3)).toEqual(['three', 'two', 'one'].map(line));
    own.expectComplaints('ERR_');
  });

  test('keeps 50 lines, and stands still while somebody points at it, and says how many events are new', async () => {
    const { id } = await agentOn(own.service.pair);
    const change = async (times: number): Promise<void> => {
      for (let n = 0; n < times; n++)
        await own.service.admin('PATCH', `/api/agents/${id}`, { body: { description: `${n}` } });
    };
    await change(60);
    await openFeed();
    await expect.poll(lines).toHaveLength(50);
    await feed().hover();
    const before = await numbers();
    await change(60);
    await own.page.getByText('Held still, 60 new').waitFor();
    expect(await numbers()).toEqual(before);
    await own.page.mouse.move(0, 0);
    await expect.poll(numbers).toEqual(before.map((seq) => seq + 60));

    await own.button('Pause').click();
    await own.page.mouse.move(0, 0);
    await change(1);
    await own.page.getByText('Held still, 1 new').waitFor();
    await own.expectSound('feed-paused');
    expect(await numbers()).toEqual(before.map((seq) => seq + 60));
  });

  test('needs no more memory after ten times as many events', async () => {
    const { id } = await agentOn(own.service.pair);
    const cdp = await own.context.newCDPSession(own.page);
    /** Bytes in use once the feed shows so many more events. */
    const heapAfter = async (events: number): Promise<number> => {
      const [newest = 0] = await numbers();
      for (let n = 0; n < events; n++)
        await own.service.admin('PATCH', `/api/agents/${id}`, { body: { description: `${events} ${n}` } });
      await expect.poll(async () => (await numbers())[0]).toBe(newest + events);
      await cdp.send('HeapProfiler.collectGarbage');
      return (await cdp.send('Runtime.getHeapUsage')).usedSize;
    };
    await openFeed();
    const before = await heapAfter(100);
    expect((await heapAfter(1_000)) - before).toBeLessThan(1_000_000);
    expect(await lines()).toHaveLength(50);
  });

  test('leads to the sign-in page when the sign-in ends, and back', async () => {
    await openFeed();
    const { items } = (await own.service.admin('GET', '/api/sessions?limit=100')).json;
    for (const { id } of items) await own.service.admin('DELETE', `/api/sessions/${id}`);
    await own.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(new URL(own.page.url()).searchParams.get('returnTo')).toBe('/');
    own.expectComplaints('status of 401');
  });

  test('is there for a member, and opens an event by keyboard', async () => {
    await own.open('/', await own.sessionOf('member'));
    await state().getByText('Connected').waitFor();
    await feed().getByRole('link').first().waitFor();
    await own.page.keyboard.press('j');
    const opened = await own.page.locator(':focus').textContent();
    await own.page.keyboard.press('Enter');
    await own.page.getByRole('heading', { name: 'What was recorded' }).waitFor();
    await expect.poll(() => own.heading()).toContain('signed in');
    expect(opened).toContain(await own.heading());
  });
});
