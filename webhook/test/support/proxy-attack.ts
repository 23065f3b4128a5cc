import { expect } from 'vitest';
import type { BoundWebhook } from './bound-webhook.ts';
import { PROXY, type ProxyAnswer, type ProxyCall, callProxy } from './proxy-calls.ts';
import { type Upstream, startUpstream } from './upstream.ts';

/**
 * What a broken-in service can try with `/v1/proxy`, the right key in hand, to have a credential sent to a host of its
 * own or in a header that routes. Both hosts can be reached, so that nothing but the sealed settings stands in between.
 *
 * @param webhook with `SV_EGRESS_ALLOW` for the loopback
 * @param secret ASCII, so that it could be sent
 * @returns everything that the service was told
 */
export async function attackByProxy(webhook: BoundWebhook, secret: string): Promise<readonly string[]> {
  const redirect = { to: '' };
  const honest = await startUpstream((_req, res) => res.writeHead(307, { location: redirect.to }).end());
  const collector = await startUpstream();
  redirect.to = collector.url;
  try {
    return await attack(webhook, { secret, honest, collector });
  } finally {
    await honest.close();
    await collector.close();
  }
}

async function attack(
  webhook: BoundWebhook,
  { secret, honest, collector }: { secret: string; honest: Upstream; collector: Upstream },
): Promise<readonly string[]> {
  const told: string[] = [];
  const call = async (more: ProxyCall = {}): Promise<ProxyAnswer> => {
    const answer = await callProxy(webhook, { serviceName: 'target', ...more });
    told.push(answer.rawHeaders.join('\n'), answer.body.toString());
    return answer;
  };
  const put = async (config: object): Promise<number> => {
    const { status, text } = await webhook.storage({
      op: 'proxies.put',
      proxyId: PROXY,
      serviceName: 'target',
      upstreamUrl: honest.url,
      headerTemplates: { authorization: 'Bearer ${TOKEN}' },
      ...config,
    });
    told.push(text);
    return status;
  };
  const stored = (name: string, body: object) =>
    webhook.store(name, { tokenType: 'PlainText', value: secret, delivery: 'proxy-only', ...body });
  expect((await stored('target', { allowedHosts: [honest.url] })).status).toBe(200);
  // One that belongs to whoever broke in: stored for any host that it likes.
  expect(
    (await stored('its own', { value: 'tkn_of_the_attacker', allowedHosts: [collector.url] })).status,
  ).toBe(200);

  const refused = { status: 403, json: { code: 'DESTINATION_NOT_ALLOWED' } };
  for (const upstreamUrl of [
    collector.url,
    `${collector.url}/?${honest.host}`,
    collector.url.replace('127.0.0.1', '127.1'),
    collector.url.replace('127.0.0.1', '0x7f000001'),
  ]) {
    expect(await put({ upstreamUrl })).toBe(200);
    for (const sub of [PROXY, 'agt_AAAAAAAAAAAAAAAAAAAAAA', 'usr_AAAAAAAAAAAAAAAAAAAAAA'])
      expect(await call({ claims: { sub } })).toMatchObject(refused);
  }
  for (const upstreamUrl of [`http://${honest.host}@${collector.host}/`, `${collector.url}/#${honest.host}`])
    expect(await put({ upstreamUrl })).toBe(400);

  // Another record's destination with this record's credential.
  expect(await put({ serviceName: 'its own', upstreamUrl: collector.url })).toBe(200);
  expect(await call()).toMatchObject(refused);

  for (const name of ['cookie', 'x-target', 'accept', 'mcp-name', 'location', 'user-agent']) {
    expect(await put({ headerTemplates: { [name]: 'a ${TOKEN}' } })).toBe(200);
    expect(await call()).toMatchObject(refused);
  }
  for (const name of ['host', 'x-forwarded-host', 'proxy-authorization', 'connection', 'sv-ticket'])
    expect(await put({ headerTemplates: { [name]: '${TOKEN}' } })).toBe(400);

  // An HTTP API, where each request names a path.
  const asHttp = { kind: 'http', redirects: 'follow-without-credential' };
  const get = (target: string, more: ProxyCall = {}) => call({ method: 'GET', target, ...more });
  expect(await put(asHttp)).toBe(200);
  for (const target of [
    `@${collector.host}/`,
    `:80@${collector.host}/`,
    `//${collector.host}/`,
    `/\\${collector.host}/`,
    collector.url,
    '/a/../../b',
  ])
    expect(await get(target)).toMatchObject({ status: 403, json: { code: 'REQUEST_NOT_ALLOWED' } });
  expect(await call({ method: 'GET', headers: { 'sv-target': '/' } })).toMatchObject({ status: 401 });
  for (const name of ['key', 'authorization', 'x-api-key']) {
    expect(await put({ ...asHttp, headerTemplates: {}, queryTemplates: { [name]: '${TOKEN}' } })).toBe(200);
    expect(await get('/')).toMatchObject(refused);
  }
  expect(await put({ ...asHttp, headerTemplates: { 'x-target': '${BASIC:user}' } })).toBe(200);
  expect(await get('/')).toMatchObject(refused);
  expect(honest.connections() + collector.connections()).toBe(0);

  // What is allowed: to the host and in the header that the owner named. Nothing else of the call has the credential
  // put in, and a redirect to elsewhere is the caller's affair.
  expect(await put({ upstreamUrl: `${honest.url}/\${TOKEN}?t=\${TOKEN}` })).toBe(200);
  const headers = { 'mcp-name': '${TOKEN}', 'last-event-id': '$<TOKEN>', host: collector.host };
  const answer = await call({ body: '{"t":"${TOKEN}$<TOKEN>"}', headers });
  expect([answer.status, answer.headers.location]).toEqual([307, collector.url]);
  const [seen, ...others] = honest.requests;
  expect([seen?.headers.authorization, seen?.headers.host, others]).toEqual([
    `Bearer ${secret}`,
    honest.host,
    [],
  ]);
  const { authorization: _allowed, ...rest } = seen?.headers ?? {};
  expect(JSON.stringify([rest, seen?.url, seen?.body.toString()])).not.toContain(secret);
  expect(collector.connections()).toBe(0);

  // A redirect that the webhook follows is sent without the credential.
  expect(await put(asHttp)).toBe(200);
  expect(await get('/', { covered: { 'x-copy': '${TOKEN}' } })).toMatchObject({ status: 200 });
  expect(honest.requests.at(-1)?.headers.authorization).toBe(`Bearer ${secret}`);
  expect(collector.requests).toHaveLength(1);
  expect(JSON.stringify(collector.requests)).not.toContain(secret);

  const { text } = await webhook.storage({ op: 'audit.list' });
  return [...told, text];
}
