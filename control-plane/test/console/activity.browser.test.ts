import { readFileSync } from 'node:fs';
import type { Locator } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { HOSTILE_NAMES, useConsole } from '../support/console.ts';
import { type PairAgent, agentOn, storeOn } from '../support/pair-agents.ts';

const own = useConsole();

const DENIED_BY_POLICY = 'asked for github | Denied: policy office <network>, rule networks';
const DENIED_WITHOUT_GRANT = 'asked for npm | Denied: no grant';

let agent: PairAgent;
let name: string;
beforeAll(async () => {
  const { pair, admin, clock } = own.service;
  await storeOn(pair, 'github', { tokenType: 'PlainText', value: 'a secret of a test' });
  agent = await agentOn(pair, 'github');
  name = (await admin('GET', `/api/agents/${agent.id}`)).json.name as string;
  expect((await agent.fetch('github')).status).toBe(200);
  clock.advance(60_000);
  await agent.ask('npm');
  clock.advance(60_000);
  const rules = [{ type: 'ip_allowlist', cidrs: ['192.0.2.0/24'] }];
  const policy = await admin('POST', '/api/policies', { body: { name: 'office <network>', rules } });
  const target = { targetType: 'agent', targetId: agent.id };
  await admin('POST', `/api/policies/${policy.json.id}/attachments`, { body: target });
  await agent.ask('github');
});

const list = (): Locator => own.page.getByRole('list', { name: 'events', exact: true }).locator('li');

/** The lines of the list, without their times. */
const lines = async (): Promise<string[]> => {
  const texts = await list().allInnerTexts();
  return texts.map((text) => text.split(/\n+/).slice(1).join(' | '));
};

const filterAgent = (): Locator => own.page.getByRole('combobox', { name: 'Agent', exact: true });

describe('why an agent was denied', () => {
  test('is found by agent and outcome, with what to do about it, by keyboard', async () => {
    await own.open('/');
    await own.screenLink('Activity').click();
    await list().first().waitFor();
    await own.page.keyboard.press('/');
    await own.page.keyboard.type(name);
    await own.page.getByLabel('Outcome').selectOption('denied');
    await expect.poll(lines).toEqual([`${name} ${DENIED_BY_POLICY}`, `${name} ${DENIED_WITHOUT_GRANT}`]);
    await own.expectSound('activity');

    await own.page.getByRole('heading', { name: 'Activity', exact: true }).click();
    for (const key of ['j', 'j', 'Enter']) await own.page.keyboard.press(key);
    await own.page.getByRole('heading', { name: 'Why it was denied' }).waitFor();
    await expect.poll(() => own.heading()).toBe(`${name} asked for npm`);
    await expect.poll(() => own.page.getByText('The agent has no grant for this service').count()).toBe(1);
    await expect
      .poll(() => own.page.getByText('the owner adds a grant: svault grant AGENT SERVICE').count())
      .toBe(1);
    await expect.poll(() => own.link('Open the agent').getAttribute('href')).toBe(`/agents/${agent.id}`);
    await own.expectSound('event');

    await own.page.goBack();
    await expect.poll(lines).toHaveLength(2);
    await own.page.getByText('policy office <network>, rule networks').click();
    const why = own.page.getByText(`office <network> on the agent ${name} lets through 192.0.2.0/24 only;`);
    await expect.poll(() => why.textContent()).toMatch(/the request came from 127\.0\.0\.1\.$/);
    await own.page.getByText('To let it through: Add the address 127.0.0.1.').waitFor();
    await own.expectSound('event-policy');
    await own.page.getByRole('link', { name: 'Simulate this request' }).click();
    await own.page.getByRole('heading', { name: 'Simulate', exact: false }).waitFor();
    await own.page.getByText('By the rule “Networks” of office <network>: only from').waitFor();
    await own.page.goBack();
    await own.page.getByRole('link', { name: 'All its events' }).first().click();
    await expect
      .poll(lines)
      .toContain(`svault granted github to ${name} | Done`.replace('svault', await actor()));
  });

  test('is found by its time, which the address has in UTC', async () => {
    const minute = (at: number): string => new Date(at).toISOString().slice(0, 16);
    const asked = own.service.clock.now() - 60_000;
    await own.open('/activity');
    await own.page.getByLabel('From (UTC)').fill(minute(asked));
    await own.page.getByLabel('To (UTC)').fill(minute(asked + 60_000));
    await expect.poll(lines).toEqual([`${name} ${DENIED_WITHOUT_GRANT}`]);
    const { searchParams } = new URL(own.page.url());
    expect(searchParams.get('from')).toBe(new Date(asked).toISOString());
    await own.page.reload();
    await expect.poll(lines).toEqual([`${name} ${DENIED_WITHOUT_GRANT}`]);
  });
});

/** Who the admin key of the pair is, as the log says it. */
const actor = async (): Promise<string> => {
  const { items } = (await own.service.admin('GET', '/api/audit?eventType=GRANT_CREATED&limit=1')).json;
  return items[0].adminKeyName === undefined
    ? (items[0].userEmail as string)
    : `admin key ${items[0].adminKeyName}`;
};

test('a time of day that is typed shows the minutes around it, and the list says in which zone', async () => {
  await own.open(`/activity?agent=${agent.id}`);
  await own.page.getByText('Times in UTC. Those without a date are of today, Fri, Nov 20.').waitFor();
  const denied = new Date(own.service.clock.now());
  await own.page.getByLabel('Around (UTC)').fill(denied.toISOString().slice(11, 16));
  await expect.poll(() => new URL(own.page.url()).searchParams.get('from')).not.toBeNull();
  const { searchParams } = new URL(own.page.url());
  const minute = Math.trunc(denied.getTime() / 60_000) * 60_000;
  expect(['from', 'to'].map((name) => Date.parse(searchParams.get(name) ?? '') - minute)).toEqual([
    -600_000, 600_000,
  ]);
  await expect.poll(lines).toContain(`${name} ${DENIED_BY_POLICY}`);
  await own.page.getByLabel('Around (UTC)').fill('');
  await expect.poll(() => new URL(own.page.url()).searchParams.get('from')).toBeNull();
});

test('on a narrow screen the filters open by a button, which says how many are set', async () => {
  await own.page.setViewportSize({ width: 360, height: 640 });
  await own.open('/activity?outcome=denied');
  const outcome = own.page.getByLabel('Outcome');
  const filters = own.page.getByRole('button', { name: 'Filters, 1 set' });
  await filters.waitFor();
  expect(await outcome.isVisible()).toBe(false);
  await filters.click();
  await outcome.selectOption('success');
  await expect.poll(lines).toContain(`${name} asked for github | Allowed`);
});

describe('an event', () => {
  test('says that the webhook delivered the credential, and stays at its address', async () => {
    const path = `/api/audit?agentId=${agent.id}&outcome=success&eventType=AGENT_CREDENTIAL_ACCESS`;
    const { seq, hash } = (await own.service.admin('GET', path)).json.items[0];
    await own.open(`/activity/${seq}`);
    await own.page.getByText('The webhook delivered the credential.').waitFor();
    await expect.poll(() => own.page.getByText(hash as string).count()).toBe(1);
    await own.expectSound('event-delivered');
  });

  test('leads to the other events of its request', async () => {
    // An expired grant is removed by the request that finds it.
    const other = await agentOn(own.service.pair);
    const body = { serviceName: 'short', allowMissing: true, expiresInSeconds: 3_600 };
    await own.service.admin('POST', `/api/agents/${other.id}/grants`, { body });
    own.service.clock.advance(2 * 3_600_000);
    await own.context.clock.setFixedTime(own.service.clock.now());
    await other.ask('short');
    await own.open(`/activity?agent=${other.id}&outcome=denied`);
    await list().getByRole('link').click();
    await own.page.getByRole('heading', { name: 'Other events of the same request' }).waitFor();
    const others = own.page.getByRole('list', { name: 'other events' }).locator('li');
    await expect
      .poll(() => others.allInnerTexts())
      .toEqual([expect.stringContaining('removed the expired grant of short')]);
  });

  test('of a number that there is none of is no page', async () => {
    for (const seq of ['999999', '0', 'x']) {
      await own.open(`/activity/${seq}`);
      await own.page.getByRole('heading', { name: 'There is no page here' }).waitFor();
    }
    own.expectComplaints('status of 404', 'status of 422');
  });
});

test('whatever an agent is named and asks for stands in the log as text', async () => {
  const { admin } = own.service;
  for (const hostile of HOSTILE_NAMES) {
    const made = await admin('POST', '/api/agents', { body: { name: hostile } });
    const asks = `/api/agents/credentials?service=${encodeURIComponent(hostile)}`;
    const headers = { authorization: `Bearer ${made.json.apiKey}` };
    await own.service.anyone('GET', asks, { headers });
    await own.open(`/activity?agent=${made.json.agent.id}&outcome=denied`);
    await expect.poll(lines).toEqual([`${hostile} asked for ${hostile} | Denied: no grant`]);
    await own.expectSound('activity-hostile');
    await list().getByRole('link').click();
    await own.page.getByRole('heading', { name: 'Why it was denied' }).waitFor();
    await expect.poll(() => own.heading()).toBe(`${hostile} asked for ${hostile}`);
    expect(await own.page.locator('main b').count()).toBe(0);
    await own.expectSound('event-hostile');
  }
});

test('an export has the events of the list, as JSON lines and as CSV', async () => {
  await own.open(`/activity?agent=${agent.id}&outcome=denied`);
  await expect.poll(lines).toHaveLength(2);
  const saved = async (format: string): Promise<string> => {
    const download = own.page.waitForEvent('download');
    await own.page.getByRole('link', { name: format, exact: true }).click();
    return readFileSync(await (await download).path(), 'utf8');
  };
  const { items } = (await own.service.admin('GET', `/api/audit?agentId=${agent.id}&outcome=denied`)).json;
  const exported = (await saved('JSON lines')).trimEnd().split('\n');
  expect(exported.map((line) => JSON.parse(line) as unknown)).toEqual(
    items.map((item: object) => expect.objectContaining(item)),
  );
  const [, ...rows] = (await saved('CSV')).trimEnd().split('\r\n');
  expect(rows.map((row) => Number(row.split(',')[0]))).toEqual(items.map(({ seq }: { seq: number }) => seq));
});

describe('verifying the log', () => {
  const verify = async (): Promise<void> => {
    await own.open('/activity');
    await own.page.getByRole('button', { name: 'Verify' }).click();
  };

  test('says that it is intact, up to which event, and where it was changed in the database', async () => {
    const { json } = await own.service.admin('GET', '/api/audit/verify');
    await verify();
    await own.page
      .getByText(`Intact. ${json.events} events were verified. The last is number ${json.head.seq}`)
      .waitFor();
    await own.expectSound('log-intact');

    const changed = `UPDATE audit_events SET outcome = 'success' WHERE seq = 7`;
    const before = await own.service.state.value('SELECT outcome FROM audit_events WHERE seq = 7');
    await own.service.state.run(changed.replace("'success'", "'error'"));
    await verify();
    await own.page.getByText('Not intact. Event 7 was changed after it was written.').waitFor();
    await own.expectSound('log-changed');
    await own.page.getByRole('link', { name: 'Event 7' }).click();
    await own.page.getByRole('heading', { name: 'What was recorded' }).waitFor();
    await own.service.state.run(changed.replace("'success'", `'${String(before)}'`));
  });
});

describe('following', () => {
  test('shows what a filter matches as it happens, newest first, each once', async () => {
    await own.open(`/activity?agent=${agent.id}&outcome=denied`);
    await own.page.getByRole('switch', { name: 'Follow' }).click();
    await own.page.getByText('Connected').waitFor();
    await own.page.mouse.move(0, 0);
    const path = `/api/audit?agentId=${agent.id}&outcome=denied`;
    const { items } = (await own.service.admin('GET', path)).json;
    await expect.poll(lines).toHaveLength(items.length);
    const before = await lines();
    await agent.ask('one');
    await (await agentOn(own.service.pair)).ask('of another agent');
    await agent.ask('two');
    await expect
      .poll(lines)
      .toEqual([
        `${name} asked for two | Denied: no grant`,
        `${name} asked for one | Denied: no grant`,
        ...before,
      ]);
    await own.expectSound('activity-followed');
  });
});

test('a member sees the log, and an empty part of it says so', async () => {
  await own.open('/activity?credential=nobody-asked-for-it', await own.sessionOf('member'));
  await own.page.getByText('No event matches.').waitFor();
  await own.expectSound('activity-empty');
  await filterAgent().fill('nobody');
  await own.page.getByText('No agent is named nobody.').waitFor();
  await own.open('/activity', await own.sessionOf('member'));
  await list().first().waitFor();
});
