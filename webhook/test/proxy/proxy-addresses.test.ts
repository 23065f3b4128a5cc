/**
 * Addresses that no upstream may have (PROTOCOL.md section 6), in every notation, named by a credential whose owner
 * allowed exactly this host: the address rules are what is left then.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ManualClock } from '@svault/shared';
import { allowedHostFor } from '@svault/shared/schemas';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import { callProxy, injections, putProxy } from '../support/proxy-calls.ts';
import { type Upstream, startUpstream } from '../support/upstream.ts';

/** What the resolver answers, one answer for each time that it is asked. */
let answers: (readonly string[])[] = [];
const asked: string[] = [];

let webhook: BoundWebhook;
/** The operator allowed this one address. */
let allowed: Upstream;
/** Listeners that must not hear of anything. */
let others: Upstream[];
beforeAll(async () => {
  allowed = await startUpstream();
  others = [await startUpstream(undefined, '127.0.0.2'), await startUpstream(undefined, '::1')];
  webhook = await boundWebhook({
    clock: new ManualClock(Date.UTC(2026, 10, 20, 12)),
    env: { SV_EGRESS_ALLOW: '127.0.0.1/32' },
    resolve: (name) => {
      asked.push(name);
      return Promise.resolve(answers.shift() ?? []);
    },
  });
});
afterAll(async () => {
  await webhook.remove();
  for (const upstream of [allowed, ...others]) await upstream.close();
});

const portOf = (upstream: Upstream): string => new URL(upstream.url).port;
/** A URL whose host cannot be an entry of `allowedHosts`, such as one with a trailing dot, is refused all the same. */
async function storeFor(url: string): Promise<void> {
  const body = { tokenType: 'PlainText', value: 'tkn_of_addresses' };
  const allowedHosts = [allowedHostFor(new URL(url))];
  const { status } = await webhook.store('api', { ...body, allowedHosts });
  if (status !== 200) expect((await webhook.store('api', { ...body, allowedHosts: ['*'] })).status).toBe(200);
}
async function answered(url: string): Promise<readonly unknown[]> {
  await storeFor(url);
  await putProxy(webhook, url);
  const { status, json, headers } = await callProxy(webhook);
  return [status, json.code, headers['sv-proxy-origin']];
}
const REFUSED = [403, 'DESTINATION_NOT_ALLOWED', 'webhook'];

describe('literals (R9)', () => {
  afterAll(() => expect(others.map((upstream) => upstream.connections())).toEqual([0, 0]));

  test.each([
    '127.0.0.2',
    '2130706434',
    '127.0.0.2.',
    '\uff11\uff12\uff17.0.0.2',
    '[::ffff:127.0.0.2]',
    '[64:ff9b::7f00:2]',
    '0.0.0.0',
    '169.254.169.254',
    '[fd00:ec2::254]',
  ])('%s', async (host) => {
    for (const scheme of ['http', 'https'])
      expect(await answered(`${scheme}://${host}:${portOf(others[0]!)}/`)).toEqual(REFUSED);
  });

  test('are in the log as the denied address', async () => {
    await answered('http://10.0.0.1/');
    const [latest] = await injections(webhook);
    expect(latest).toMatchObject({ outcome: 'denied', detail: { code: 'DESTINATION_NOT_ALLOWED' } });
  });
});

describe('names (R9, R10)', () => {
  const http = (name: string, upstream: Upstream): string => `http://${name}:${portOf(upstream)}/`;

  test.each([
    ['localhost', ['127.0.0.2']],
    ['metadata.google.internal', ['169.254.169.254']],
    ['half.test', ['127.0.0.1', '127.0.0.2']],
    ['mapped.test', ['::ffff:127.0.0.2']],
    ['numbers.test', ['2130706434']],
  ])('%s that is %j', async (name, addresses) => {
    answers = [addresses];
    expect(await answered(http(name, others[0]!))).toEqual(REFUSED);
    expect(others.map((upstream) => upstream.connections())).toEqual([0, 0]);
  });

  test('without an address are reported as an upstream that does not answer', async () => {
    answers = [[]];
    expect(await answered(http('nothing.test', allowed))).toEqual([502, 'UPSTREAM_ERROR', 'webhook']);
  });

  test('that change between the check and the connection lead to the checked address', async () => {
    answers = [['127.0.0.1'], ['127.0.0.2']];
    asked.length = 0;
    await storeFor(http('rebind.test', allowed));
    await putProxy(webhook, http('rebind.test', allowed));
    const { status } = await callProxy(webhook);
    expect([status, asked, allowed.requests.length]).toEqual([200, ['rebind.test'], 1]);
    expect(allowed.requests[0]?.headers.host).toBe(`rebind.test:${portOf(allowed)}`);
    expect(others[0]?.connections()).toBe(0);
  });
});

test('a host that the operator does not allow is not called without TLS', async () => {
  answers = [['192.0.2.1'], ['93.184.216.34']];
  expect(await answered('http://public.test/')).toEqual(REFUSED);
  expect(await answered('http://public.test/')).toEqual(REFUSED);
});
