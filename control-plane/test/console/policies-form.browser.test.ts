import { describe, expect, test } from 'vitest';
import { isCountry } from '../../src/policies/geo-restrict.ts';
import { AMERICAN, usePolicyScreens } from '../support/policy-screens.ts';

// The form of policies. What each rule allows is tested in src/policies.

const own = usePolicyScreens();
const { button, link, field, shown, decision, policies } = own;

/** Opens the form of a new policy with one rule of a type. */
async function openNew(rule: string): Promise<void> {
  await own.open('/policies');
  await link('New policy').click();
  await field('Name').waitFor();
  await button(rule).click();
}

/** Attaches what is in the form to the agent, and creates it. */
async function create(policy: string): Promise<void> {
  await field('Name').fill(policy);
  await field('Name of the agent').fill(own.agentName);
  await field('Name of the agent').press('Enter');
  await button(`Remove ${own.agentName}`).waitFor();
  await button('Create policy').click();
  await shown('The policy is created.');
  await expect.poll(() => own.heading()).toBe(policy);
}

describe('a policy made by the form', () => {
  test('with a time window denies outside of it, by the local time of its zone', async () => {
    await openNew('Time window');
    await field('Time zone').fill('Asia/Tokyo');
    await button('Add a window').click();
    const second = own.page.getByRole('group', { name: 'Window 2' });
    for (const day of ['Mon', 'Tue', 'Wed', 'Thu', 'Fri']) await second.getByLabel(day).uncheck();
    await second.getByLabel('Sat').check();
    await second.getByLabel('From').fill('22:00');
    await second.getByLabel('To').fill('02:00');
    await shown('On the next day.');
    await own.expectSound('policies-new-time-window');
    await create('office');
    expect((await policies())[0]).toMatchObject({
      attachments: 1,
      rules: [
        {
          type: 'time_window',
          timezone: 'Asia/Tokyo',
          windows: [
            { days: [1, 2, 3, 4, 5], start: '09:00', end: '17:00' },
            { days: [6], start: '22:00', end: '02:00' },
          ],
        },
      ],
    });
    await shown('Mon-Fri 09:00-17:00, Sat 22:00-02:00 (next day) Asia/Tokyo');
    // Friday 21:00 in Tokyo.
    expect(await decision()).toBe('403 office time_window');
    await own.expectSound('policy');
  });

  test('with networks denies all others', async () => {
    await openNew('Networks');
    await field('Networks and addresses').fill('193.0.0.0/16\n2001:db8::/32, 192.0.2.7');
    await own.expectSound('policies-new-networks');
    await create('our network');
    await shown('only from 193.0.0.0/16, 2001:db8::/32, 192.0.2.7');
    expect([await decision(), await decision(AMERICAN)]).toEqual(['allowed', '403 our network ip_allowlist']);
  });

  test('with requests takes a rule on each line, says what is wrong with one, and keeps credentials from agents', async () => {
    await openNew('Requests');
    await field('Allowed requests').fill('GET /repos/acme/*\ntools get_*');
    await field('Name').fill('reads only');
    await button('Create policy').click();
    await shown(/^tools get_\*: the path is missing/);
    await field('Allowed requests').fill('GET /repos/acme/*\n\ntools get_*,search /mcp repo=site|docs');
    await own.expectSound('policies-new-requests');
    await create('reads only');
    const requests = [
      { methods: ['GET'], paths: ['/repos/acme/*'] },
      { tools: ['get_*', 'search'], paths: ['/mcp'], arguments: { '/repo': ['site', 'docs'] } },
    ];
    expect((await policies())[0]).toMatchObject({ rules: [{ type: 'request_filter', requests }] });
    await shown('only these requests of proxies: GET /repos/acme/*, tools get_*,search /mcp repo=site|docs');
    expect(await decision()).toBe('403 reads only request_filter');
    await link('Edit').click();
    await field('Allowed requests').fill('mcp ping /mcp');
    await button('Save changes').click();
    await shown('only these requests of proxies: mcp ping /mcp');
  });

  test('with countries, chosen by name or code, lets them pass or denies them', async () => {
    await openNew('Countries');
    await field('A request passes').selectOption('not from these countries');
    await field('Countries').fill('nowhere');
    await field('Countries').press('Enter');
    await shown('“nowhere” is no country.');
    await field('Countries').fill('netherlands');
    await field('Countries').press('Enter');
    await field('Countries').fill('DE, FR');
    await button('Add the country').click();
    await button('Remove France').click();
    await own.expectSound('policies-new-countries');
    await create('abroad');
    await shown('not from Netherlands, Germany');
    expect([await decision(), await decision(AMERICAN)]).toEqual(['403 abroad geo_restrict', 'allowed']);

    await link('Edit').click();
    const offers = () =>
      own.page
        .locator('datalist option')
        .evaluateAll((options) => (options as unknown as { value: string }[]).map(({ value }) => value));
    await expect.poll(offers).toHaveLength(249);
    const offered = await offers();
    for (const country of ['Kosovo', 'European Union', 'Soviet Union'])
      expect(offered).not.toContain(country);
    await field('A request passes').selectOption('only from these countries');
    await field('Countries').fill(offered.join(';'));
    await field('Countries').press('Enter');
    await button('Save changes').click();
    await shown('The policy is saved.');
    const [saved] = (await policies()) as { rules: { countries: string[] }[] }[];
    const countries = saved?.rules[0]?.countries ?? [];
    expect([countries.length, countries.every(isCountry)]).toEqual([249, true]);
    expect(await decision()).toBe('allowed');
  });

  test('with a rate limit denies with 429 until the window ends', async () => {
    await openNew('Rate limit');
    await field('Requests').fill('2');
    await field('In').fill('90');
    await field('Unit').selectOption('minutes');
    await own.expectSound('policies-new-rate-limit');
    await create('slowly');
    await shown('at most 2 requests in 90 minutes');
    expect([await decision(), await decision(), await decision()]).toEqual([
      'allowed',
      'allowed',
      '429 slowly rate_limit',
    ]);
    await link('Edit').click();
    expect([await field('In').inputValue(), await field('Unit').inputValue()]).toEqual(['90', '60']);
    await button('Cancel').click();
    await shown('at most 2 requests in 90 minutes');
  });

  test('with a number of uses denies for good', async () => {
    await openNew('Number of uses');
    await field('Uses in all').fill('1');
    await create('once');
    await shown('at most 1 use in all');
    expect([await decision(), await decision()]).toEqual(['allowed', '403 once max_usage']);
  });

  test('with an approval lets pass what a person approves, as often and as long as it says', async () => {
    await openNew('Approval');
    await shown('A request is denied with a link, under which a person approves it.');
    await field('Passes').fill('2');
    await field('Times within').fill('5');
    await field('Unit').selectOption('minutes');
    await own.expectSound('policies-new-approval');
    await create('ask me');
    await shown('only what a person approves, 2 times within 5 minutes');
    expect((await policies())[0]).toMatchObject({
      rules: [{ type: 'manual_approval', uses: 2, expiresInSeconds: 300 }],
    });
    expect(await decision()).toBe('403 ask me manual_approval');
    const { items } = (await own.service.admin('GET', '/api/approvals?status=pending')).json;
    await own.service.admin('POST', `/api/approvals/${items[0].id}/approve`);
    expect([await decision(), await decision()]).toEqual(['allowed', 'allowed']);
    expect(await decision()).toBe('403 ask me manual_approval');
  });

  test('keeps what was typed where something does not fit, and says it beside the field', async () => {
    await openNew('Time window');
    await field('Name').fill('mixed');
    await button('Remove rule 1').click();
    await expect.poll(() => own.page.locator(':focus').textContent()).toContain('Time window');
    await button('Create policy').click();
    await shown('must have a rule');
    await button('Time window').click();
    await expect.poll(() => own.page.locator(':focus').getAttribute('name')).toBe('rules.0.timezone');
    await field('Time zone').fill('Nowhere/City');
    for (const rule of ['Networks', 'Rate limit', 'Countries']) await button(rule).click();
    await field('Networks and addresses').fill('10.0.0.0/8\n10.1.2.3/8');
    await field('Requests').fill('many');
    await field('In').fill('1');
    await button('Create policy').click();
    await shown('Give the name of a time zone, such as Europe/London.');
    await shown('Give a whole number from 1 on.');
    await field('Time zone').fill('Europe/London');
    await field('Requests').fill('2000000');
    await field('Name of the agent').fill('nobody');
    await button('Create policy').click();
    await shown('No agent has this name.');
    await field('Name of the agent').fill('');
    await button('Create policy').click();
    await shown('Number 2 has bits set beyond its prefix: the network is 10.0.0.0/8');
    await shown('must be a whole number from 1 to 1000000');
    await shown('must have a country');
    await own.expectSound('policies-new-problems');
    await expect.poll(() => field('Networks and addresses').inputValue()).toBe('10.0.0.0/8\n10.1.2.3/8');
    expect(await policies()).toEqual([]);
    // The browser reports the answers that said so.
    own.expectComplaints('status of 422');
  });

  test('keeps what was typed when the session ends', async () => {
    await openNew('Number of uses');
    await field('Name').fill('kept');
    await field('Uses in all').fill('7');
    const [cookie] = await own.context.cookies();
    await own.context.clearCookies();
    await button('Create policy').click();
    await shown('Your session has ended. What you typed is still here.');
    if (cookie !== undefined) await own.context.addCookies([cookie]);
    await button('Create policy').click();
    await shown('The policy is created.');
    expect(await policies()).toMatchObject([{ name: 'kept', rules: [{ type: 'max_usage', limit: 7 }] }]);
    own.expectComplaints('status of 401');
  });
});
