/** Everything for which `POST /v1/proxy` refuses; the upstream is called in none of these (PROTOCOL.md section 5.6). */
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import { PROXY, type ProxyCall, callProxy, injections, putProxy } from '../support/proxy-calls.ts';
import { type Upstream, startUpstream } from '../support/upstream.ts';

const TOKEN = 'tkn_refusals_0123456789';

let webhook: BoundWebhook;
let upstream: Upstream;
beforeAll(async () => {
  upstream = await startUpstream();
  webhook = await boundWebhook({ env: { SV_EGRESS_ALLOW: '127.0.0.1/32' } });
  await store('api', {});
  await point({});
});
afterAll(async () => {
  await webhook.remove();
  await upstream.close();
});

async function store(name: string, more: object): Promise<void> {
  const body = { tokenType: 'PlainText', value: TOKEN, allowedHosts: [upstream.url], ...more };
  expect(await webhook.store(name, body)).toMatchObject({ status: 200 });
}
const point = (more: Parameters<typeof putProxy>[2], url = upstream.url): Promise<void> =>
  putProxy(webhook, url, more);

/** Status and code of a refusal, which has to be the webhook's own and to hold no trace of the credential. */
async function refused(call: ProxyCall = {}): Promise<readonly [number, string]> {
  const answer = await callProxy(webhook, call);
  expect(answer.headers['sv-proxy-origin']).toBe('webhook');
  expect(upstream.connections()).toBe(0);
  expect(tracesOf(TOKEN, Buffer.concat([answer.body, Buffer.from(answer.rawHeaders.join('\n'))]))).toEqual(
    [],
  );
  return [answer.status, answer.json.code];
}
const NOT_ALLOWED = [403, 'DESTINATION_NOT_ALLOWED'];

test('a request that is rejected for its ticket cannot be replayed', async () => {
  const call = { nonce: 'a-nonce-with-a-bad-ticket', ticket: 'a.b.c' };
  expect(await refused(call)).toEqual([401, 'TICKET_INVALID']);
  expect(await refused(call)).toEqual([401, 'SIGNATURE_INVALID']);
});

describe('where', () => {
  test('a host that SV_EGRESS_ALLOW names is not called by plain http unless the credential was stored for http', async () => {
    await store('slack', { allowedHosts: [upstream.host] });
    const call = { proxyId: 'prx_FFFFFFFFFFFFFFFFFFFFFF', serviceName: 'slack' };
    await point(call);
    expect(await refused(call)).toEqual(NOT_ALLOWED);
    expect((await callProxy(webhook, call)).json.error).toBe(
      `Host \`${upstream.host}\` is called by plain http, which the allowed hosts of \`slack\` do not include. Its owner runs \`svault set slack --allow-host ${upstream.url} --allow-header authorization\`, which replaces the allowed hosts and asks for the secret again.`,
    );
  });

  test('the log names the entry that would allow a denied host', async () => {
    await store('unlisted', { allowedHosts: ['api.test'] });
    const call = { proxyId: 'prx_FFFFFFFFFFFFFFFFFFFFFF', serviceName: 'unlisted' };
    await point(call);
    expect(await refused(call)).toEqual(NOT_ALLOWED);
    const [entry] = await injections(webhook, 'unlisted');
    expect(entry?.detail['reason']).toBe(`host: ${upstream.url}`);
  });
});

describe('a stored row that another program changed', () => {
  const changeRow = (columns: { upstream_url?: string; header_templates?: string }): void => {
    const file = new Database(join(webhook.dataDir, 'webhook.db'));
    for (const [column, value] of Object.entries(columns))
      file.prepare(`UPDATE proxy_configs SET ${column} = ? WHERE proxy_id = ?`).run(value, PROXY);
    file.close();
  };

  test.each<[string, (host: string) => Parameters<typeof changeRow>[0]]>([
    ['a template that routes', () => ({ header_templates: '{"Host":"x"}' })],
    ['a name that is none', () => ({ header_templates: '{"a\\r\\nx":"x"}' })],
    ['a line feed in a template', () => ({ header_templates: '{"x-a":"a\\r\\nx-injected: 1"}' })],
    ['a name twice', () => ({ header_templates: '{"a":"x","A":"y"}' })],
    ['templates that are a list', () => ({ header_templates: '[1]' })],
    ['templates that are null', () => ({ header_templates: 'null' })],
    ['user info', (host) => ({ upstream_url: `http://user:pass@${host}/` })],
    ['a fragment', (host) => ({ upstream_url: `http://${host}/#x` })],
    ['the host as user info', (host) => ({ upstream_url: `http://${host}@api.test/` })],
    ['a backslash', (host) => ({ upstream_url: `http://api.test\\@${host}/` })],
  ])('with %s is not used by any call', async (_what, change) => {
    await point({});
    changeRow(change(upstream.host));
    expect(await refused()).toEqual(NOT_ALLOWED);
  });

  test('with malformed templates', async () => {
    await point({});
    changeRow({ header_templates: 'not json' });
    expect(await refused()).toEqual([500, 'INTERNAL']);
    changeRow({ header_templates: '{}' });
    const [latest] = await injections(webhook);
    expect(latest).toMatchObject({ outcome: 'error', proxyId: PROXY });
  });
});

test('the log has each denial, with its code and without the credential', async () => {
  await store('logged', { allowedHosts: ['api.test'] });
  const proxyId = 'prx_IIIIIIIIIIIIIIIIIIIIII';
  await point({ proxyId, serviceName: 'logged' });
  await refused({ proxyId, serviceName: 'logged' });
  await store('logged', { value: '' });
  await refused({ proxyId, serviceName: 'logged' });
  await store('logged', { value: 'tkn_refused\n_0189' });
  await refused({ proxyId, serviceName: 'logged' });
  const entries = await injections(webhook, 'logged');
  expect(entries.map(({ outcome, detail }) => [outcome, detail['code']])).toEqual([
    ['denied', 'NOT_INJECTABLE'],
    ['denied', 'EMPTY_TOKEN'],
    ['denied', 'DESTINATION_NOT_ALLOWED'],
  ]);
  expect(entries.every((entry) => entry.proxyId === proxyId)).toBe(true);
  expect(tracesOf(TOKEN, Buffer.from(JSON.stringify(await webhook.storage({ op: 'audit.list' }))))).toEqual(
    [],
  );
});

test('a valid request reaches the upstream', async () => {
  await point({});
  expect(upstream.connections()).toBe(0);
  const { status, headers } = await callProxy(webhook);
  expect([status, headers['sv-proxy-origin'], upstream.connections()]).toEqual([200, 'upstream', 1]);
});
