/** What anybody can send to the pages of approvals before a passkey has signed (PROTOCOL.md section 5.10). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  AGENT,
  APPROVAL,
  CREDENTIAL,
  approverLink,
  ask,
  codeOf,
  decide,
  enrol,
  post,
} from '../support/approvals.ts';
import { type BoundWebhook, boundWebhook, webhookOfTest } from '../support/bound-webhook.ts';

const SECRET = { tokenType: 'PlainText', value: 'tkn_approvals_0123456789', approval: APPROVAL };
const UNKNOWN = `/approvals/apr_${'A'.repeat(22)}`;
const DECISION = { decision: 'approve', scope: 'once' };

let webhook: BoundWebhook;
let id: string;
beforeAll(async () => {
  webhook = await boundWebhook();
  await webhook.store('api', SECRET);
  ({ id } = (await ask(webhook, CREDENTIAL)).json);
});
afterAll(() => webhook.remove());

const sent = (path: string, body: string, type = 'application/json') =>
  webhook.send(path, { method: 'POST', headers: { 'content-type': type }, body });

describe('A post to the pages of approvals', () => {
  test.each<[string, string, number, string?]>([
    ['of more than 16 KiB', JSON.stringify({ filler: 'a'.repeat(16 * 1024) }), 413],
    ['of a form', 'decision=approve&scope=once', 400, 'application/x-www-form-urlencoded'],
    ['of JSON that says it is a text', JSON.stringify(DECISION), 400, 'text/plain'],
    ['of a list', '[]', 400],
    ['with a name twice', '{"decision":"deny","decision":"approve","scope":"once"}', 400],
    ['with the name of a prototype', '{"__proto__":{"decision":"approve"},"scope":"once"}', 400],
    ['that is nested deeply', `{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}`, 400],
    ['without what it decides', '{"scope":"once"}', 400],
    ['with another decision', '{"decision":"use","scope":"once"}', 400],
    ['with another scope', '{"decision":"approve","scope":"standing:-1"}', 400],
  ])('%s is refused', async (_what, body, status, type) => {
    for (const path of [`/approvals/${id}/options`, `/approvals/${id}/decision`, '/approvers/new/options'])
      expect([path, (await sent(path, body, type)).status]).toEqual([path, status]);
  });

  test('for a request that does not exist is answered as its page is', async () => {
    expect(await webhook.send(UNKNOWN)).toMatchObject({ status: 404 });
    expect(await post(webhook, `${UNKNOWN}/options`, DECISION)).toMatchObject({ status: 404 });
    const link = { code: 'A'.repeat(43), name: 'Eve' };
    expect(await post(webhook, '/approvers/new/options', link)).toMatchObject({ status: 404 });
  });

  test('is taken by no other method', async () => {
    for (const path of [`/approvals/${id}`, '/approvers/new'])
      expect((await webhook.send(path, { method: 'HEAD' })).status).toBe(405);
    for (const path of [`/approvals/${id}/options`, `/approvals/${id}/decision`, '/approvers/new/decision'])
      expect((await webhook.send(path)).status).toBe(405);
  });
});

test('The pages of approvals stand in no frame, in no cache, and tell no other site their address', async () => {
  for (const path of [`/approvals/${id}`, UNKNOWN, await approverLink(webhook), '/approvers/new?code=x']) {
    const { headers } = await webhook.send(path);
    expect(headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-store',
      'cross-origin-opener-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    });
  }
});

test('The page of a link can be opened by whatever previews links, and uses none up', async () => {
  const link = await approverLink(webhook);
  for (let time = 0; time < 3; time += 1) expect((await webhook.send(link)).status).toBe(200);
  const options = await post(webhook, '/approvers/new/options', { code: codeOf(link), name: 'Ana' });
  expect(options.status).toBe(200);
});

test('A webhook at a path of its host has its pages there, and passkeys of the host', async () => {
  const atPath = await webhookOfTest();
  await atPath.restart({ SV_WEBHOOK_URL: 'https://webhook.test/hook' });
  await atPath.store('api', SECRET);
  const ana = await enrol(atPath);
  const asked = { serviceName: 'api', sub: AGENT, operation: CREDENTIAL };
  const { json } = await atPath.signed('/hook/v1/approvals', asked);
  expect(json.url).toBe(`https://webhook.test/hook/approvals/${json.id}`);
  expect((await atPath.send(`/hook/approvals/${json.id}`)).status).toBe(200);
  const options = await post(atPath, `/hook/approvals/${json.id}/options`, DECISION);
  expect(options.json.publicKey.rpId).toBe('webhook.test');
  expect(await decide(atPath, json.id, ana)).toMatchObject({ status: 200 });
});
