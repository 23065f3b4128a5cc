import { parseRegistrationLink } from '@svault/compose/binding';
import { registrationLinkByPage } from '@svault/test-kit/bind-by-page';
import { type TestPair, startPair } from '@svault/test-kit/pair';
import { afterAll, beforeAll, describe, expect, it, test, vi } from 'vitest';
import { type Answer, type Call, clientOf } from '../support/management-service.ts';
import { agentOn, storeOn } from '../support/pair-agents.ts';
import { storedState } from '../support/stored-state.ts';

// The link to the reference webhook; faulty-webhook.ts replaces it where a test needs a fault.
describe('the link to the reference webhook', () => {
  let pair: TestPair;
  let admin: Call;
  /** Answers to bindings by a code that is too old, and by a fresh one. */
  let [late, inTime]: Answer[] = [];

  beforeAll(async () => {
    pair = await startPair({ bound: false });
    admin = clientOf(pair.controlPlaneUrl(), { authorization: `Bearer ${pair.adminKey}` });
    const bindAfter = async (ms: number) => {
      const page = pair.bypassingRecorder(pair.webhookUrl);
      const body = parseRegistrationLink(await registrationLinkByPage(page, pair.setupToken));
      pair.clock.advance(ms);
      return admin('POST', '/api/webhook/bind', { body });
    };
    late = await bindAfter(5 * 60_000 + 1_000);
    inTime = await bindAfter(5 * 60_000 - 1_000);
    await storeOn(pair, 'github', { tokenType: 'PlainText', value: 'a value' });
  });
  afterAll(() => pair.close());

  const read = async <Row extends object>(sql: string): Promise<Row> =>
    (await storedState(pair.databaseUrl).rows<Row>(sql))[0]!;
  const logHead = () => read('SELECT epoch, seq, hash FROM webhook_log_heads');

  const everythingShipped = () =>
    vi.waitFor(
      async () => {
        pair.clock.advance(1_000);
        const { head, shipped } = await read<{ head: number; shipped: number }>(
          'SELECT head_seq AS head, shipped_seq AS shipped FROM audit_chains',
        );
        expect(shipped).toBe(head);
      },
      { timeout: 20_000, interval: 100 },
    );

  // spec: The webhook bind code is valid for 5 minutes.
  // spec: code (one-time UUID, 5-minute lifetime)
  // spec: POST /v1/exchange | service, signed | One-time code exchange that establishes the HMAC secret.
  it('is made by a code of the last five minutes', () => {
    expect(late).toMatchObject({ status: 502, json: { webhookCode: 'CODE_EXPIRED' } });
    expect(inTime).toMatchObject({ status: 201, json: { bound: true } });
  });

  it('answers a probe with its capabilities', async () => {
    const { json } = await admin('GET', '/api/webhook');
    expect(json).toMatchObject({ bound: true, reachable: true, url: pair.webhookUrl });
    expect(json.capabilities).toEqual(expect.arrayContaining(['storage', 'credential', 'store']));
  });

  // spec: The service writes audit events through the webhook's /v1/storage.
  it('accepts the whole log, and reports the head of its own', async () => {
    const agent = await agentOn(pair, 'github');
    expect((await agent.fetch('github')).json.token.accessToken).toBe('a value');
    await everythingShipped();
    expect(await logHead()).toMatchObject({ epoch: expect.any(String), seq: expect.any(Number) });
    const { json } = await admin('GET', '/api/audit?eventType=WEBHOOK_LOG_CONTRADICTION');
    expect(json.items).toEqual([]);
  });

  it('rotates the key without a failed request', async () => {
    const agent = await agentOn(pair, 'github');
    const former = (await admin('GET', '/api/webhook')).json.keyId as string;
    const early = await agent.ask('github');
    const { status, json } = await admin('POST', '/api/webhook/rotate-secret');
    expect(status).toBe(200);
    expect(json.keyId).not.toBe(former);
    // The former key stays valid for ten minutes, so earlier tickets still work.
    expect((await fetch(pair.bypassingRecorder(early.headers.get('location') ?? ''))).status).toBe(200);
    expect((await agent.fetch('github')).status).toBe(200);
    await everythingShipped();
  });

  it('gives tickets to an owner', async () => {
    const { json } = await admin('POST', '/api/tokens/github/credential-ticket', { body: {} });
    const answer = await fetch(pair.bypassingRecorder(json.url as string));
    expect(await answer.json()).toMatchObject({ token: { accessToken: 'a value' } });
    expect((await fetch(pair.bypassingRecorder(json.url as string))).status).toBe(401);
  });
});

test('a webhook that rejects the signature is one line of the log in a minute, however often it is called', async () => {
  const pair = await startPair({ ownClocks: true });
  try {
    pair.clock.advance(3_600_000);
    const admin = clientOf(pair.controlPlaneUrl(), { authorization: `Bearer ${pair.adminKey}` });
    for (let call = 0; call < 3; call++) {
      const { json } = await admin('GET', '/api/webhook');
      expect(json.problem).toMatch(
        /clocks differ.*svault webhook unbind, then unseal-bind .*, then svault webhook bind/,
      );
    }
    expect(pair.logOf('control-plane').split('a webhook rejects the signature')).toHaveLength(2);
  } finally {
    await pair.close();
  }
});
