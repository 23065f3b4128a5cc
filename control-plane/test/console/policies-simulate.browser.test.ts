import { describe, expect, onTestFinished, test } from 'vitest';
import { agentOn, storeOn } from '../support/pair-agents.ts';
import { toAgent, toToken } from '../support/policy-calls.ts';
import { AMERICAN, DUTCH, usePolicyScreens } from '../support/policy-screens.ts';

// The simulator, the preview of a draft, and the way from an event of the log to a rule.

const own = usePolicyScreens();
const { button, link, field, shown, decision, make, attach, detach, askFrom } = own;

const OFFICE_HOURS = [{ days: [1, 2, 3, 4, 5], start: '09:00', end: '17:00' }];
const IN_TOKYO = { type: 'time_window', timezone: 'Asia/Tokyo', windows: OFFICE_HOURS } as const;
const FROM_NL = { type: 'geo_restrict', mode: 'allow', countries: ['NL'] } as const;
const ONCE = { type: 'max_usage', limit: 1 } as const;
const SLOWLY = { type: 'rate_limit', limit: 1, windowSeconds: 3_600 } as const;

/** The number of the newest event. */
const newestEvent = async (): Promise<number> =>
  (await own.service.admin('GET', '/api/audit?limit=1')).json.items[0].seq;
/** What the list of rules says, a line each, without what is before the policies. */
const parts = async (): Promise<string[]> => {
  const lines = await own.page.locator('section[aria-labelledby="parts"] li').allInnerTexts();
  return lines
    .map((line) => line.replaceAll(/\s*\n\s*/g, ' | '))
    .filter((line) => !line.startsWith('Before'));
};
const number = (name: string) =>
  own.page.locator('aside dl > div').filter({ hasText: name }).locator('dd').textContent();

describe('the simulator', () => {
  test("shows the decision and each rule's part in the order in which they are asked, keeps the request in the address, and counts nothing", async () => {
    await attach(await make('of the agent', SLOWLY, ONCE, IN_TOKYO), toAgent(own.agent));
    await attach(await make('of all', FROM_NL), toToken('github'));
    await own.open('/policies');
    await link('Simulate').click();
    await shown('Choose who asks for what.');
    await own.expectSound('simulate-empty');
    await field('Name of the agent').fill('nobody');
    await field('Credential').fill('github');
    await field('Address').fill('1.2.3');
    await button('Simulate').click();
    await shown('No agent has this name.');
    await field('Name of the agent').fill(own.agentName);
    await button('Simulate').click();
    await shown('must be an IP address');
    await expect.poll(() => field('Credential').inputValue()).toBe('github');
    await field('Address').fill(AMERICAN);
    await button('Simulate').click();
    await shown('Denied');
    await shown(/By the rule “Time window” of of the agent: Mon-Fri 09:00-17:00 Asia\/Tokyo/);
    await expect
      .poll(parts)
      .toEqual([
        'of the agent of the agent | Mon-Fri 09:00-17:00 Asia/Tokyo | denies',
        'of all of the credential | Only from Netherlands | would deny, too',
        'of the agent of the agent | At most 1 use in all (used 0) | allows',
        'of the agent of the agent | At most 1 request an hour | counts requests',
      ]);
    await shown('All of these changes');
    await own.expectSound('simulate-denied');
    const request = new URLSearchParams({ agent: own.agent.id, service: 'github', ip: AMERICAN });
    await own.page.waitForURL(own.address(`/policies/simulate?${request.toString()}`));

    await field('Address').fill(DUTCH);
    await field('Time').fill('2026-11-20T03:30:00');
    await button('Simulate').click();
    await shown('Allowed by the policies');
    await expect.poll(parts).toContain('of all of the credential | Only from Netherlands | allows');
    await own.expectSound('simulate-allowed');
    await own.page.goBack();
    await shown('Denied');
    own.expectComplaints('status of 422');
  });

  test('simulates what a proxy asks, by the policies of the proxy', async () => {
    const body = { name: 'linear', upstreamUrl: 'https://mcp.example.com/', serviceName: 'github' };
    const { id } = (await own.service.admin('POST', '/api/proxies', { body })).json.proxy;
    await own.open(`/policies/${await make('of the proxy', IN_TOKYO)}`);
    await button('Attach').click();
    await field('Attach to').selectOption('Proxy');
    await field('Name of the proxy').fill('linear');
    await own.page.getByRole('dialog').getByRole('button', { name: 'Attach', exact: true }).click();
    await shown('The policy is attached to the proxy.');
    await own.open('/policies/simulate');
    await field('Who asks').selectOption('Proxy');
    await field('Name of the proxy').fill('Linear');
    await field('Credential').fill('github');
    await button('Simulate').click();
    await shown('Denied');
    await expect.poll(parts).toEqual(['of the proxy of the proxy | Mon-Fri 09:00-17:00 Asia/Tokyo | denies']);
    await own.page.waitForURL(own.address(`/policies/simulate?proxy=${id}&service=github`));
    await own.page.reload();
    await shown('Denied');
    await expect.poll(() => field('Name of the proxy').inputValue()).toBe('linear');
  });

  test('cannot tell what a rule for requests decides until it knows what the proxy is asked', async () => {
    await storeOn(own.service.pair, 'asked', {
      ...{ tokenType: 'PlainText', value: 'tkn_0123456789_of_an_upstream' },
      allowedHosts: ['mcp.example.com'],
    });
    const body = { name: 'asked', upstreamUrl: 'https://mcp.example.com/mcp', serviceName: 'asked' };
    const { id } = (await own.service.admin('POST', '/api/proxies', { body })).json.proxy;
    const requests = [{ tools: ['get_*'], paths: ['/mcp'] }];
    const policyId = await make('reads only', { type: 'request_filter', requests });
    await own.attach(policyId, { targetType: 'proxy', targetId: id });
    await own.open(`/policies/simulate?proxy=${id}&service=asked`);
    await shown('it depends on what the proxy is asked');
    const part = 'reads only of the proxy | Only these requests of proxies: tools get_* /mcp';
    await expect.poll(parts).toEqual([`${part} | not known`]);
    await field('Tool').fill('get_issue');
    await button('Simulate').click();
    await shown('Allowed by the policies');
    await own.page.waitForURL(own.address(`/policies/simulate?proxy=${id}&service=asked&tool=get_issue`));
    await field('Tool').fill('delete_issue');
    await button('Simulate').click();
    await shown('Denied');
    await expect.poll(parts).toEqual([`${part} | denies`]);
    await own.expectSound('simulate-asked');
  });

  test('says what a request meets before the policies: no grant, or a locked vault', async () => {
    const stranger = await agentOn(own.service.pair);
    await own.open(`/policies/simulate?agent=${stranger.id}&service=github`);
    await shown('NO_GRANT');
    await shown('Denied before the policies');
    await shown('No enabled policy is attached to either of them.');
    await own.service.admin('POST', '/api/vault/lock');
    onTestFinished(async () => void (await own.service.admin('POST', '/api/vault/unlock')));
    await own.open(`/policies/simulate?agent=${own.agent.id}&service=github`);
    await shown('VAULT_LOCKED');
    await shown('Denied before the policies');
    expect(await own.page.getByText('Allowed by the policies').count()).toBe(0);
    await own.expectSound('simulate-denied-before');
    await own.service.admin('POST', '/api/vault/unlock');
  });
});

describe('from an event', () => {
  test('that a policy denied, the simulator says which rule it was, and its change lets the request through', async () => {
    await attach(await make('office', FROM_NL, IN_TOKYO), toAgent(own.agent));
    expect(await decision(AMERICAN)).toBe('403 office geo_restrict');
    const seq = await newestEvent();
    await own.open(`/activity/${seq}`);
    await shown('lets through Netherlands only; the request came from 8.8.8.8 (United States).');
    await shown('Another rule denies it, too');
    await link('Edit the policy with this change').click();
    await shown('Changed below, and not saved yet: Add United States.');
    await own.open(`/policies/new?from=${seq}`);
    await shown(`Event ${seq}`);
    await own.page.waitForURL(own.address(`/policies/simulate?event=${seq}`));
    await expect
      .poll(() => own.page.getByText('was denied by the rule “Countries” of office').count())
      .toBe(1);
    await expect.poll(() => field('Name of the agent').inputValue()).toBe(own.agentName);
    await expect.poll(() => field('Address').inputValue()).toBe(AMERICAN);
    await own.expectSound('simulate-event');

    // Two rules deny: the first change alone lets nothing through.
    await link('Make this change in office').first().click();
    await shown('Changed below, and not saved yet: Add United States.');
    await shown(`Event ${seq} would still be denied`);
    await button('Save changes').click();
    await shown('The policy is saved.');
    expect(await decision(AMERICAN)).toBe('403 office time_window');

    await own.open(`/policies/simulate?event=${seq}`);
    await link('Make this change in office').click();
    await shown('Add the window Fri 21:00-22:00 Asia/Tokyo.');
    await shown(`Event ${seq} would be let through`);
    await own.expectSound('policy-change');
    await button('Save changes').click();
    await shown('The policy is saved.');
    expect(await decision(AMERICAN)).toBe('allowed');
    await own.open(`/activity/${seq}`);
    await shown('The rule has changed since, and allows the request: only from Netherlands, United States.');
    await own.service.admin('DELETE', `/api/policies/${(await own.policies())[0]?.['id'] as string}`);
    await own.open(`/activity/${seq}`);
    await shown('No enabled policy with this name and rule is attached to either of them now.');
    await expect.poll(() => link('office').getAttribute('href')).toBe('/policies?name=office');
  });

  test('that a rate limit denied, the simulator names it, and a raised limit lets the next request through', async () => {
    const id = await make('slowly', SLOWLY);
    await attach(id, toAgent(own.agent));
    expect([await decision(), await decision()]).toEqual(['allowed', '429 slowly rate_limit']);
    await own.open(`/policies/simulate?event=${await newestEvent()}`);
    await shown('Denied then by a count that still runs');
    expect(await own.page.getByText('Allowed by the policies').count()).toBe(0);
    await shown('denied then');
    const hour = own.service.clock.now() + 3_600_000;
    await own.context.clock.setFixedTime(hour);
    await own.page.reload();
    await shown('Denied then, allowed now');
    await link('Make this change in slowly').click();
    await shown('Raise the limit: at most 2 requests an hour.');
    await button('Save changes').click();
    await shown('The policy is saved.');
    expect([await decision(), await decision()]).toEqual(['allowed', '429 slowly rate_limit']);
  });

  test('that was allowed, the simulator leads to a new policy that denies the next request like it', async () => {
    expect(await decision(AMERICAN)).toBe('allowed');
    const seq = await newestEvent();
    await own.open(`/policies/simulate?event=${seq}`);
    await shown('What would deny it');
    await own.expectSound('simulate-event-allowed');
    await link('Make this policy with Countries').click();
    await shown(`Event ${seq} would be denied`);
    await field('Name').fill('not from there');
    await button('Create policy').click();
    await shown('The policy is created.');
    expect([await decision(AMERICAN), await decision()]).toEqual([
      '403 not from there geo_restrict',
      'allowed',
    ]);

    await own.open(`/policies/new?from=${seq}`);
    await shown(`Event ${seq} would be denied`);
    await expect.poll(() => field('From').inputValue()).toBe('13:00');
    await expect.poll(() => field('To').inputValue()).toBe('12:00');
  });

  test('that is no request, or that the log does not have, the simulator says so', async () => {
    await own.service.admin('POST', '/api/agents', { body: { name: 'just made' } });
    await own.open(`/policies/simulate?event=${await newestEvent()}`);
    await shown('It reports no request for a credential');
    await own.open('/policies/simulate?event=999999');
    await own.page.getByRole('alert').waitFor();
    own.expectComplaints('status of 404');
  });
});

describe('the preview', () => {
  test('says how many recent requests a draft would have denied, which is how many are denied then', async () => {
    const id = await make('elsewhere', { type: 'ip_allowlist', cidrs: ['10.0.0.0/8'] });
    const addresses = [DUTCH, AMERICAN, DUTCH, '192.0.2.7', '192.0.2.8', AMERICAN, DUTCH];
    for (const address of addresses) expect((await askFrom(own.agent, address)).status).toBe(307);
    await attach(id, toAgent(own.agent));
    expect((await askFrom(own.agent, '192.0.2.9')).status).toBe(403);
    await detach(id, toAgent(own.agent));

    await own.open('/policies/new');
    await button('Networks').click();
    await shown('It shows once the rules are filled in.');
    await field('Networks and addresses').fill('193.0.0.0/16, 192.0.2.0/29');
    await shown('It is attached to nothing, so it decides about no request.');
    await expect.poll(() => number('would be denied')).toBe('0');
    await field('Name of the agent').fill(own.agentName);
    await button('Add the attachment').click();
    await expect.poll(() => number('would be denied')).toBe('3');
    const examples = own.page.getByRole('list', { name: 'Requests that would be decided otherwise' });
    await expect.poll(() => examples.locator('li').count()).toBe(3);
    await expect.poll(() => examples.getByText(AMERICAN).count()).toBe(2);
    await own.expectSound('preview');
    await field('Networks and addresses').fill('193.0.0.0/16, 192.0.2.0/29, 8.8.8.8/33');
    await shown('Rule 1, network 3: must be a network');
    await field('Networks and addresses').fill('193.0.0.0/16, 192.0.2.0/29');
    await field('Name').fill('few');
    await button('Create policy').click();
    await shown('The policy is created.');
    const statuses = [];
    for (const address of addresses) statuses.push((await askFrom(own.agent, address)).status);
    expect(statuses.filter((status) => status === 403)).toHaveLength(3);

    await link('Edit').click();
    await expect.poll(() => number('would be let through')).toBe('0');
    await field('Networks and addresses').fill('0.0.0.0/0');
    await expect.poll(() => number('would be let through')).toBe('3');
    own.expectComplaints('status of 422');
  });
});
