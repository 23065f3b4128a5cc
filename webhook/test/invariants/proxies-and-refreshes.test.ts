/** Promises 13 to 15 of the list in tickets-and-binding.test.ts. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, expect, test } from 'vitest';
import { randomToken } from '@svault/shared';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import { type ProxyCall, callProxy, proxyTicket, putProxy } from '../support/proxy-calls.ts';
import { refreshBench } from '../support/refresh-bench.ts';
import { type Upstream, startUpstream } from '../support/upstream.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function bound(options: Parameters<typeof boundWebhook>[0] = {}): Promise<BoundWebhook> {
  const webhook = await boundWebhook(options);
  cleanUps.push(() => webhook.remove());
  return webhook;
}
const plain = (value: string) => ({ tokenType: 'PlainText', value });

async function proxied(answer: Parameters<typeof startUpstream>[0]): Promise<[BoundWebhook, Upstream]> {
  const upstream = await startUpstream(answer);
  cleanUps.push(() => upstream.close());
  const webhook = await bound({ env: { SV_EGRESS_ALLOW: '127.0.0.1/32' } });
  await putProxy(webhook, upstream.url);
  return [webhook, upstream];
}

test('13. a proxy puts a credential in only where it was stored for; no header brings it back (R11, R18)', async () => {
  const [webhook, upstream] = await proxied((req, res) => {
    const { authorization = '' } = req.headers;
    const inBase64 = Buffer.from(authorization).toString('base64');
    res.writeHead(200, { 'x-a': authorization, 'x-b': encodeURIComponent(authorization), 'x-c': inBase64 });
    res.end();
  });
  const value = `canary+/${randomToken()}`;
  const used = async (more: object): Promise<number> => {
    expect((await webhook.store('api', { ...plain(value), ...more })).status).toBe(200);
    const { status, rawHeaders, body } = await callProxy(webhook);
    expect(tracesOf(value, Buffer.concat([Buffer.from(rawHeaders.join('\n')), body]))).toEqual([]);
    return status;
  };
  const allowedHosts = [upstream.url];
  for (const [more, status] of [
    [{}, 403],
    [{ allowedHosts: ['http://127.0.0.1'] }, 403],
    [{ allowedHosts: [upstream.host] }, 403],
    [{ allowedHosts, allowedHeaders: ['x-api-key'] }, 403],
    [{ allowedHosts, value: `${value}\r\nx-more: 1` }, 422],
  ] as const)
    expect([more, await used(more)]).toEqual([more, status]);
  expect(upstream.connections()).toBe(0);
  expect(await used({ allowedHosts })).toBe(200);
  expect(upstream.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${value}`]);
});

test('14. a proxied request is made once, over restarts too, and written down before it is (R4)', async () => {
  let entries = 0;
  const [webhook, upstream] = await proxied((_req, res) => {
    const log = new Database(join(webhook.dataDir, 'webhook.db'), { readonly: true });
    const uses = log.prepare(`SELECT count(*) FROM audit_log WHERE event_type = 'CREDENTIAL_INJECTED'`);
    entries = uses.pluck().get() as number;
    log.close();
    res.end();
  });
  await webhook.store('api', { ...plain('tkn_used_once_0189'), allowedHosts: [upstream.url] });
  const call: ProxyCall = { nonce: randomToken(), ticket: proxyTicket(webhook) };
  const outcomes = async (): Promise<readonly number[]> => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => callProxy(webhook, call)));
    return answers.map(({ status }) => status).filter((status) => status !== 401);
  };
  expect([await outcomes(), entries]).toEqual([[200], 1]);
  await webhook.restart();
  expect([await outcomes(), upstream.requests.length]).toEqual([[], 1]);
});

test('15. a refresh token is shown once, however many ask, and a lost one is never tried blindly (R2)', async () => {
  const bench = await refreshBench();
  cleanUps.push(() => bench.close());
  const { provider, webhook } = bench;
  await bench.store('wanted');
  const given = await Promise.all(Array.from({ length: 20 }, () => bench.fetch('wanted')));
  expect([new Set(given).size, provider.calls.length]).toEqual([1, 1]);
  await bench.store('lost');
  provider.misbehave('break_after');
  expect(await bench.fetch('lost')).toBe('PROVIDER_ERROR');
  provider.misbehave(undefined);
  await webhook.restart();
  for (let again = 0; again < 5; again += 1) expect(await bench.fetch('lost')).toBe('REAUTH_NEEDED');
  expect((await bench.metadata('lost')).reauthNeeded).toBe(true);
  expect(provider.calls.map(({ outcome }) => outcome)).toEqual(['refreshed', 'refreshed', 'invalid_grant']);
});
