import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, request } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import { type PlainUpstream, startPlainUpstream } from '../proxy-clients/plain-upstream.ts';
import { PROXY, type TestProxy, proxyOn, sessionSettings } from '../support/proxy-steps.ts';

// A stream of events ends when its key is revoked, its agent suspended or its vault locked.

let service: LinkedService;
let upstream: PlainUpstream;
let agentId: string;
let proxies: Readonly<Record<'withdrawn' | 'bystander', TestProxy>>;
let restore: (() => Promise<unknown>) | undefined;
/** The open responses of the upstream or the webhook. */
let answered: ServerResponse[];

const stream = (res: ServerResponse): void => {
  answered.push(res);
  res.writeHead(200, { 'sv-proxy-origin': 'upstream', 'content-type': 'text/event-stream' });
  res.write('data: first\n\n');
};
beforeAll(async () => {
  upstream = await startPlainUpstream((_req, res) => stream(res));
  service = await startLinkedService();
  service.webhook.onProxy = (_call, res) => stream(res);
});
afterAll(async () => {
  await service.stop();
  await upstream.close();
});
beforeEach(async () => {
  service.clock.advance(60_000);
  answered = [];
  restore = undefined;
  await service.bind();
  ({ id: agentId } = await service.agent());
});
afterEach(async () => {
  for (const res of answered) res.destroy();
  await restore?.();
});

const admin = async (method: string, path: string): Promise<void> => {
  const answer = await service.admin(method, path);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
};
/** Withdraws a right of the first proxy; the vault lock concerns both. */
const WITHDRAWALS: Readonly<Record<string, () => Promise<void>>> = {
  'its key is revoked': () => admin('POST', `/api/proxies/${proxies.withdrawn.id}/revoke`),
  'its proxy is deleted': () => admin('DELETE', `/api/proxies/${proxies.withdrawn.id}`),
  'its agent is suspended': () => admin('POST', `/api/agents/${agentId}/suspend`),
  'its agent is deleted': () => admin('DELETE', `/api/agents/${agentId}`),
  'the vault is locked': async () => {
    await admin('POST', '/api/vault/lock');
    restore = () => admin('POST', '/api/vault/unlock');
  },
};

const open = async ({ key }: TestProxy): Promise<IncomingMessage> => {
  const sent = request(service.running.url + PROXY, { headers: { 'x-mcp-key': key }, agent: false }).end();
  const [res] = (await once(sent, 'response')) as [IncomingMessage];
  // The tests expect that it breaks off.
  res.on('error', () => undefined);
  expect([res.statusCode, String((await once(res, 'data'))[0])]).toEqual([200, 'data: first\n\n']);
  return res;
};
const ended = async (res: IncomingMessage): Promise<void> => {
  // `once` would reject with the error of the stream.
  if (!res.closed) await new Promise((resolve) => res.once('close', resolve));
};

describe.each(['Token', 'sv_session'])('a stream of a %s proxy', (kind) => {
  const proxyOf = (id: string): Promise<TestProxy> =>
    proxyOn(service, kind === 'Token' ? { agentId: id } : sessionSettings(id, upstream.url));

  it.each(Object.keys(WITHDRAWALS))('ends together with the call of the upstream once %s', async (what) => {
    proxies = { withdrawn: await proxyOf(agentId), bystander: await proxyOf((await service.agent()).id) };
    const [mine, other] = [await open(proxies.withdrawn), await open(proxies.bystander)];
    await service.runJob('withdrawn uses');
    answered[0]?.write('data: second\n\n');
    expect(String((await once(mine, 'data'))[0])).toBe('data: second\n\n');

    await WITHDRAWALS[what]?.();
    await service.runJob('withdrawn uses');
    await ended(mine);
    const [upstreams, others] = answered;
    if (upstreams?.destroyed === false) await once(upstreams, 'close');
    if (what === 'the vault is locked') return ended(other);
    others?.write('data: goes on\n\n');
    expect(String((await once(other, 'data'))[0])).toBe('data: goes on\n\n');
    other.destroy();
  });
});

it('a stream through a webhook ends when the webhook is unbound', async () => {
  const res = await open(await proxyOn(service));
  await admin('DELETE', '/api/webhook');
  await service.runJob('withdrawn uses');
  await ended(res);
});

it('a pending call is answered with the denial that the next call would get', async () => {
  const arrived = new Promise<void>((resolve) => {
    service.webhook.onProxy = (_call, res) => {
      answered.push(res);
      resolve();
    };
  });
  proxies = { withdrawn: await proxyOn(service), bystander: await proxyOn(service) };
  const waiting = proxies.withdrawn.send('tools/call');
  await arrived;
  await admin('POST', `/api/proxies/${proxies.withdrawn.id}/revoke`);
  await service.runJob('withdrawn uses');
  const { status, json } = await waiting;
  expect([status, json.code]).toEqual([403, 'INVALID_KEY']);
  service.webhook.onProxy = (_call, res) => stream(res);
});
