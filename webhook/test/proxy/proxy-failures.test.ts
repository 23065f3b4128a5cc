/** What caller, log and event learn of a proxied call that fails after its use was recorded (PROTOCOL.md PRX-50, STO-41). */
import { createLogger } from '@svault/server-kit/logger';
import { LogSink } from '@svault/test-kit/log-sink';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import { callProxy, injections, putProxy } from '../support/proxy-calls.ts';
import { type Upstream, startUpstream } from '../support/upstream.ts';

let webhook: BoundWebhook;
let upstream: Upstream;
let status: number;
let log = new LogSink();
beforeAll(async () => {
  upstream = await startUpstream((_req, res) => {
    if (status === 0) res.destroy();
    else res.writeHead(status).end();
  });
  const destination = { write: (text: string) => log.write(text) };
  webhook = await boundWebhook({
    env: { SV_EGRESS_ALLOW: '127.0.0.1/32' },
    resolve: () => Promise.resolve([]),
    logger: createLogger({ name: 'webhook', level: 'info', format: 'json', destination }),
  });
});
afterAll(async () => {
  await webhook.remove();
  await upstream.close();
});
beforeEach(() => {
  status = 200;
  log = new LogSink();
});

/** Calls an upstream at which the credential is allowed. */
async function called(url: string, settings: object = {}) {
  const allowedHosts = [new URL(url).origin.replace('https://', '')];
  await webhook.store('api', {
    tokenType: 'PlainText',
    value: 'tkn_of_failures_01',
    allowedHosts,
    ...settings,
  });
  await putProxy(webhook, url);
  return callProxy(webhook);
}
const lines = (): Record<string, unknown>[] =>
  log.text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

test.each([
  [
    'dns',
    'UPSTREAM_ERROR',
    'https://name.test/mcp?a=b',
    'could not reach name.test: its name did not resolve.',
  ],
  [
    'refused',
    'UPSTREAM_ERROR',
    'http://127.0.0.1:1/',
    'could not reach 127.0.0.1:1: it refused the connection.',
  ],
  [
    'address',
    'DESTINATION_NOT_ALLOWED',
    'http://10.0.0.1:81/mcp',
    'may not call 10.0.0.1:81: its address is not public. The operator of the webhook can allow it by SV_EGRESS_ALLOW.',
  ],
])(
  'a call that fails for %s says so to the caller, in one warning and in a second entry',
  async (cause, code, url, text) => {
    const { json } = await called(url);
    const error = `The webhook ${text}`;
    expect(json).toEqual({ error, code, cause, requestId: expect.any(String) });
    const [line, ...further] = lines();
    expect(further).toEqual([]);
    expect(line).toMatchObject({
      level: 'warn',
      msg: 'request refused',
      code,
      why: error,
      requestId: json.requestId,
    });
    expect(line).not.toHaveProperty('err');
    const [second, first] = await injections(webhook, 'api');
    expect(first).toMatchObject({ outcome: 'success' });
    expect(second).toMatchObject({
      outcome: code === 'UPSTREAM_ERROR' ? 'error' : 'denied',
      detail: { code },
    });
    expect(second?.detail['jti']).toBe(first?.detail['jti']);
  },
);

test('a header that the credential does not allow is named to the caller and in one warning', async () => {
  const { json } = await called(upstream.url, { allowedHeaders: ['x-key'] });
  const refused = { code: 'DESTINATION_NOT_ALLOWED', cause: 'header', header: 'authorization' };
  const error = `Header \`authorization\` is not an allowed header of \`api\`. Its owner runs \`svault set api --allow-host ${upstream.url} --allow-header authorization\`, which replaces the allowed hosts and asks for the secret again.`;
  expect(json).toMatchObject({ ...refused, error });
  expect(lines()).toMatchObject([{ level: 'warn', why: error, reason: 'header: authorization' }]);
});

test('a connection that the upstream cuts and a credential that it rejects have a second entry, and an answer has none', async () => {
  const of = async (answered: number): Promise<unknown[]> => {
    status = answered;
    await called(upstream.url);
    const entries = await injections(webhook, 'api');
    const newest = entries[0]?.detail['jti'];
    return entries
      .filter(({ detail }) => detail['jti'] === newest)
      .map(({ outcome, detail }) => [outcome, detail['code']]);
  };
  expect(await of(0)).toEqual([
    ['error', 'UPSTREAM_ERROR'],
    ['success', undefined],
  ]);
  expect(await of(401)).toEqual([
    ['error', 'UPSTREAM_UNAUTHORIZED'],
    ['success', undefined],
  ]);
  expect(await of(407)).toEqual([
    ['error', 'UPSTREAM_UNAUTHORIZED'],
    ['success', undefined],
  ]);
  for (const answered of [200, 204, 403, 404, 500])
    expect(await of(answered)).toEqual([['success', undefined]]);
});
