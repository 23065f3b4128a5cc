import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { startPlainUpstream } from '../proxy-clients/plain-upstream.ts';
import { type ProxiedCall, echo } from '../support/faulty-webhook.ts';
import { takeDisk } from '../support/held-disk.ts';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import { PROXY, type TestProxy, codeOf, proxyOn, sessionSettings } from '../support/proxy-steps.ts';

/*
 * A proxied call is sent to the webhook once its event is committed. What is answered waits until the event is on the disk
 * (docs/decisions/0011-one-commit-in-sequence.md).
 */

let service: LinkedService;
let proxy: TestProxy;
let calls: ProxiedCall[];
/** Of the calls whose answer the webhook has sent. */
let answered: Promise<unknown>[];
const disk = takeDisk();

beforeAll(async () => {
  service = await startLinkedService({ SV_LIMIT_USER_AGGREGATE: '1000000' });
  await service.bind();
});
afterAll(() => service.stop());
beforeEach(async () => {
  service.clock.advance(60_000);
  service.webhook.fault = undefined;
  service.webhook.onProxy = echo;
  proxy = await proxyOn(service);
  // The first call delivers the proxy's settings, which is done only for events on the disk.
  await proxy.send('tools/call');
  calls = [];
  answered = [];
  answerBy(echo);
});

function answerBy(answer: LinkedService['webhook']['onProxy']): void {
  service.webhook.onProxy = (call, res) => {
    calls.push(call);
    answered.push(once(res, 'finish'));
    answer(call, res);
  };
}
function hold(): void {
  disk.hold();
  onTestFinished(() => disk.release());
}
/** An answer that was not held would be there: requests that were sent later are answered. */
async function laterRequestsAreAnswered(): Promise<void> {
  await vi.waitFor(() => expect(answered).not.toHaveLength(0));
  await Promise.all(answered);
  for (let sent = 0; sent < 5; sent++)
    await fetch(`${service.running.url}/healthz`).then((res) => res.text());
}
/** Sends a call whose answer may be looked at before it has ended. */
function open(method = 'POST'): {
  readonly head: Promise<IncomingMessage>;
  readonly isAnswered: () => boolean;
  readonly leave: () => void;
} {
  let isAnswered = false;
  const sent = request(service.running.url + PROXY, {
    method,
    headers: { 'x-mcp-key': proxy.key },
    agent: false,
  });
  const head = new Promise<IncomingMessage>((resolve, reject) => {
    sent.once('response', (res: IncomingMessage) => {
      isAnswered = true;
      resolve(res);
    });
    sent.once('error', reject);
  });
  head.catch(() => undefined);
  sent.end(method === 'POST' ? '{"jsonrpc":"2.0","id":1,"method":"tools/call"}' : undefined);
  return { head, isAnswered: () => isAnswered, leave: () => sent.destroy() };
}
const uses = async (): Promise<readonly string[]> =>
  (
    await service.place.state.rows<{ outcome: string }>(
      `SELECT outcome FROM audit_events WHERE event_type = 'PROXY_CREDENTIAL_USE' AND proxy_id = '${proxy.id}'`,
    )
  ).map(({ outcome }) => outcome);

describe('an answer that comes before the event is on the disk', () => {
  test('waits for it, and then comes as the upstream sent it', async () => {
    hold();
    const call = open();
    await laterRequestsAreAnswered();
    expect([calls.length, disk.waiting, call.isAnswered()]).toEqual([1, 1, false]);
    disk.release();
    const res = await call.head;
    expect([res.statusCode, JSON.parse(await text(res)).ticket.htm]).toEqual([200, 'POST']);
    expect(await uses()).toEqual(['success', 'success']);
  });

  test('waits as a refusal of the webhook too', async () => {
    answerBy((_call, res) =>
      res.writeHead(422, { 'sv-proxy-origin': 'webhook' }).end('{"error":"no","code":"NOT_INJECTABLE"}'),
    );
    hold();
    const call = open();
    await laterRequestsAreAnswered();
    expect(call.isAnswered()).toBe(false);
    disk.release();
    const res = await call.head;
    expect([res.statusCode, JSON.parse(await text(res)).code]).toEqual([502, 'NOT_INJECTABLE']);
  });

  test('waits as a large body, which then comes whole', async () => {
    const body = 'x'.repeat(1_000_000);
    let sentAll = false;
    answerBy((_call, res) => {
      res.writeHead(200, { 'sv-proxy-origin': 'upstream' });
      res.end(body, () => (sentAll = true));
    });
    hold();
    const call = open();
    await vi.waitFor(() => expect(calls).toHaveLength(1));
    await fetch(`${service.running.url}/healthz`);
    expect(call.isAnswered()).toBe(false);
    disk.release();
    expect(await text(await call.head)).toBe(body);
    expect(sentAll).toBe(true);
  });

  test('waits as a stream of events, which then go on one by one', async () => {
    let stream: ServerResponse | undefined;
    answerBy((_call, res) => {
      stream = res;
      res.writeHead(200, { 'sv-proxy-origin': 'upstream', 'content-type': 'text/event-stream' });
      res.write('data: first\n\n', () => (answered = [Promise.resolve()]));
    });
    hold();
    const call = open('GET');
    await laterRequestsAreAnswered();
    expect(call.isAnswered()).toBe(false);
    disk.release();
    const res = (await call.head).setEncoding('utf8');
    const pieces = res[Symbol.asyncIterator]();
    expect((await pieces.next()).value).toBe('data: first\n\n');
    stream?.write('data: second\n\n');
    expect((await pieces.next()).value).toBe('data: second\n\n');
    stream?.end();
    expect((await pieces.next()).done).toBe(true);
  });
});

test('a client that disconnects meanwhile ends the call of the webhook, and its use stays in the log', async () => {
  const gone = Promise.withResolvers<void>();
  answerBy(({ req }) => void req.socket.once('close', () => gone.resolve()));
  hold();
  const call = open();
  await vi.waitFor(() => expect(calls).toHaveLength(1));
  call.leave();
  await gone.promise;
  expect(disk.waiting).toBe(1);
  disk.release();
  await vi.waitFor(async () => expect(await uses()).toEqual(['success', 'success']));
  answerBy(echo);
  expect((await proxy.send('tools/call')).status).toBe(200);
});

test('a revoke that is answered later follows the use in the log', async () => {
  hold();
  const call = open();
  await vi.waitFor(() => expect(calls).toHaveLength(1));
  const revoked = service.admin('POST', `/api/proxies/${proxy.id}/revoke`);
  disk.release();
  expect((await revoked).status).toBe(200);
  await text(await call.head);
  const rows = await service.place.state.rows<{ event_type: string }>(
    `SELECT event_type FROM audit_events WHERE proxy_id = '${proxy.id}' ORDER BY seq DESC LIMIT 2`,
  );
  expect(rows.map(({ event_type: type }) => type)).toEqual(['KEY_REVOKED', 'PROXY_CREDENTIAL_USE']);
});

test('a use whose event cannot be committed is 503 AUDIT_UNAVAILABLE, and the webhook is not called', async () => {
  const allow = await service.place.state.refuseEvents();
  onTestFinished(allow);
  expect(codeOf(await proxy.send('tools/call'))).toEqual([503, 'AUDIT_UNAVAILABLE']);
  expect(calls).toEqual([]);
});

describe('nothing is sent before the event is on the disk', () => {
  test('for a lifetime use, which a power cut must not give back', async () => {
    const body = { name: 'once', rules: [{ type: 'max_usage', limit: 5 }] };
    const { id } = (await service.admin('POST', '/api/policies', { body })).json;
    const target = { targetType: 'proxy', targetId: proxy.id };
    await service.admin('POST', `/api/policies/${id}/attachments`, { body: target });
    hold();
    const call = open();
    await disk.asked();
    await fetch(`${service.running.url}/healthz`);
    expect(calls).toEqual([]);
    disk.release();
    expect((await call.head).statusCode).toBe(200);
    expect(calls).toHaveLength(1);
  });

  test('where the webhook first needs the proxy’s settings', async () => {
    answerBy((_call, res) =>
      res.writeHead(404, { 'sv-proxy-origin': 'webhook' }).end('{"error":"no","code":"NOT_FOUND"}'),
    );
    await proxy.send('tools/call');
    calls = [];
    answerBy(echo);
    const { served } = service.webhook;
    const before = served.length;
    hold();
    const call = open();
    await disk.asked();
    await fetch(`${service.running.url}/healthz`);
    expect([calls.length, served.length]).toEqual([0, before]);
    disk.release();
    expect((await call.head).statusCode).toBe(200);
  });

  test('by a proxy of sessions, which the control plane sends itself', async () => {
    let seen = 0;
    const upstream = await startPlainUpstream((_req, res) => {
      seen += 1;
      res.end('{}');
    });
    onTestFinished(() => upstream.close());
    const { id } = await service.agent();
    proxy = await proxyOn(service, sessionSettings(id, upstream.url));
    expect((await proxy.send('tools/call')).status).toBe(200);
    hold();
    const call = open();
    await disk.asked();
    await fetch(`${service.running.url}/healthz`);
    expect(seen).toBe(1);
    disk.release();
    expect([(await call.head).statusCode, seen]).toEqual([200, 2]);
  });
});

test('a use whose sync fails is 503 AUDIT_UNAVAILABLE without a byte of the answer, and the process ends', async () => {
  const broken = await startLinkedService();
  onTestFinished(() => broken.stop());
  await broken.bind();
  const exit = vi.spyOn(process, 'exit').mockReturnValue(undefined as never);
  onTestFinished(() => exit.mockRestore());
  const own = await proxyOn(broken);
  await own.send('tools/call');
  const sent = Promise.withResolvers<void>();
  broken.webhook.onProxy = (_call, res) =>
    void res
      .writeHead(200, { 'sv-proxy-origin': 'upstream', 'x-of-upstream': '1' })
      .end('of the upstream', () => sent.resolve());
  hold();
  const asked = own.send('tools/call');
  await sent.promise;
  disk.fail();
  const answer = await asked;
  expect([...codeOf(answer), answer.headers.get('x-of-upstream')]).toEqual([503, 'AUDIT_UNAVAILABLE', null]);
  expect(answer.text).not.toContain('of the upstream');
  await vi.waitFor(() => expect(exit).toHaveBeenCalledWith(1));
});
