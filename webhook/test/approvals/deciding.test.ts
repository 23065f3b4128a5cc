/** Decisions on requests, signed by passkeys (PROTOCOL.md section 5.10). The passkeys are the tests' own. */
import { createVerify } from 'node:crypto';
import Database from 'better-sqlite3';
import { approvalChallenge, fromBase64url, sha256, toBase64url } from '@svault/shared';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  APPROVAL,
  CREDENTIAL,
  approved,
  approverLink,
  ask,
  codeOf,
  decide,
  enrol,
  passkeyFor,
  post,
  statusOf,
} from '../support/approvals.ts';
import { type BoundWebhook, webhookOfTest } from '../support/bound-webhook.ts';

const SECRET = { tokenType: 'PlainText', value: 'tkn_approvals_0123456789', approval: APPROVAL };
const MINUTE = 60_000;

let webhook: BoundWebhook;
let ana: Awaited<ReturnType<typeof enrol>>;
beforeEach(async () => {
  webhook = await webhookOfTest();
  await webhook.store('api', SECRET);
  ana = await enrol(webhook);
});

const entries = async (eventType: string) =>
  (
    (await webhook.storage({ op: 'audit.list' })).json.items as {
      eventType: string;
      detail: Record<string, string>;
    }[]
  ).filter((item) => item.eventType === eventType);
const newRequest = async (): Promise<string> => (await ask(webhook, CREDENTIAL)).json.id;

describe('a link for approvers', () => {
  test('registers one passkey and is used up', async () => {
    const code = codeOf(await approverLink(webhook));
    const passkey = passkeyFor(webhook);
    const { json } = await post(webhook, '/approvers/new/options', { code, name: 'Bo' });
    expect(json.publicKey).toMatchObject({
      rp: { id: 'webhook.test' },
      excludeCredentials: [{ id: ana.id }],
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    });
    const body = { code, name: 'Bo', response: passkey.create(json.publicKey) };
    expect(await post(webhook, '/approvers/new/decision', body)).toMatchObject({ status: 200 });
    expect(await post(webhook, '/approvers/new/decision', body)).toMatchObject({ status: 404 });
    const [added] = await entries('APPROVER_ADDED');
    expect(added?.detail).toMatchObject({ name: 'Bo', credentialId: passkey.id });
  });

  test('ends after 15 minutes, and is stored as a hash alone', async () => {
    const link = await approverLink(webhook);
    webhook.clock.advance(15 * MINUTE);
    expect(await webhook.send(link)).toMatchObject({ status: 404 });
    const body = { code: codeOf(link), name: 'Bo' };
    expect(await post(webhook, '/approvers/new/options', body)).toMatchObject({ status: 404 });
  });

  test.each([
    ['of another origin', { origin: 'https://evil.test' }],
    ['for another relying party', { rpId: 'evil.test' }],
    ['without the person verified', { userVerified: false }],
    ['with another challenge', { challenge: 'A'.repeat(43) }],
    ['that was made in a frame of another origin', { crossOrigin: true }],
  ])('takes no passkey %s, and is not used up by it', async (_what, changes) => {
    const code = codeOf(await approverLink(webhook));
    const { json } = await post(webhook, '/approvers/new/options', { code, name: 'Bo' });
    const passkey = passkeyFor(webhook);
    const refused = { code, name: 'Bo', response: passkey.create(json.publicKey, changes) };
    expect(await post(webhook, '/approvers/new/decision', refused)).toMatchObject({ status: 400 });
    const taken = { code, name: 'Bo', response: passkey.create(json.publicKey) };
    expect(await post(webhook, '/approvers/new/decision', taken)).toMatchObject({ status: 200 });
  });
});

describe('a decision', () => {
  test('is logged so that anybody who has the approver’s public key can check it', async () => {
    const id = await approved(webhook, ana, CREDENTIAL, { reason: 'not signed' });
    const [entry] = await entries('APPROVAL_DECIDED');
    const {
      text = '',
      decision = '',
      scope = '',
      clientDataJSON = '',
      authenticatorData = '',
      signature = '',
    } = entry?.detail ?? {};
    expect(entry?.detail).toMatchObject({
      approval: id,
      decision: 'approve',
      scope: 'once',
      approver: ana.approver,
    });
    expect(JSON.parse(text)).toMatchObject({
      v: 1,
      id,
      webhook: webhook.webhookId,
      operation: { type: 'credential' },
    });
    const client = fromBase64url(clientDataJSON)!;
    expect(JSON.parse(client.toString())).toMatchObject({
      challenge: toBase64url(sha256(Buffer.from(`${text}\n${decision}\n${scope}`))),
    });
    const signed = Buffer.concat([fromBase64url(authenticatorData)!, sha256(client)]);
    expect(createVerify('sha256').update(signed).verify(ana.publicKey, fromBase64url(signature)!)).toBe(true);
  });

  test.each([
    ['of another origin', { origin: 'https://evil.test' }],
    ['of another port of the host', { origin: 'https://webhook.test:8443' }],
    ['for another relying party', { rpId: 'evil.test' }],
    ['without the person verified', { userVerified: false }],
    ['without the person present', { userPresent: false }],
    ['that registers', { type: 'webauthn.create' }],
    ['that was made in a frame of another origin', { crossOrigin: true }],
    ['of a passkey that is none of an approver', { id: 'A'.repeat(43) }],
    ['whose passkey signed less often than before', { counter: 0 }],
  ])('is refused where its signature is one %s', async (_what, changes) => {
    await approved(webhook, ana, CREDENTIAL, { decision: 'deny' });
    webhook.clock.advance(11 * MINUTE);
    const id = await newRequest();
    expect(await decide(webhook, id, ana, {}, changes)).toMatchObject({
      status: 401,
      json: { code: 'SIGNATURE_INVALID' },
    });
    expect(await statusOf(webhook, id)).toBe('pending');
    expect(await decide(webhook, id, ana)).toMatchObject({ status: 200 });
  });

  test('is refused where a passkey signed another decision, scope or request', async () => {
    await webhook.store('api', { ...SECRET, approval: { ...APPROVAL, standingSeconds: 3600 } });
    const id = await newRequest();
    const other = (await ask(webhook, CREDENTIAL, { sub: 'agt_BBBBBBBBBBBBBBBBBBBBBB' })).json.id;
    const optionsFor = async (of: string, asked: object) =>
      (await post(webhook, `/approvals/${of}/options`, asked)).json.publicKey;
    const approve = { decision: 'approve', scope: 'once' };
    const signed = [
      await optionsFor(id, { decision: 'deny', scope: 'once' }),
      await optionsFor(id, { decision: 'approve', scope: 'standing:3600' }),
      await optionsFor(other, approve),
    ];
    for (const options of signed) {
      const response = ana.get(options);
      expect(await post(webhook, `/approvals/${id}/decision`, { ...approve, response })).toMatchObject({
        status: 401,
      });
    }
    expect(await statusOf(webhook, id)).toBe('pending');
  });

  test('is taken once: the same signature again decides nothing', async () => {
    const id = await newRequest();
    const asked = { decision: 'approve', scope: 'once' };
    const { json } = await post(webhook, `/approvals/${id}/options`, asked);
    const body = { ...asked, response: ana.get(json.publicKey) };
    const answers = await Promise.all([1, 2].map(() => post(webhook, `/approvals/${id}/decision`, body)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]));
    expect(await post(webhook, `/approvals/${id}/decision`, body)).toMatchObject({ status: 409 });
    expect(await entries('APPROVAL_DECIDED')).toHaveLength(1);
  });

  test('comes too late once the request has expired, its credential was stored anew, or its binding ended', async () => {
    const expired = await newRequest();
    webhook.clock.advance(15 * MINUTE);
    expect(await decide(webhook, expired, ana)).toMatchObject({ status: 409 });
    const replaced = await newRequest();
    expect(replaced).not.toBe(expired);
    await webhook.store('api', SECRET);
    expect(await decide(webhook, replaced, ana)).toMatchObject({ status: 409 });
    expect(await statusOf(webhook, replaced)).toBe('expired');
  });

  test('can be an allowance only for as long as was stored with the credential', async () => {
    const asked = (scope: string) => ({ decision: 'approve', scope });
    const once = await newRequest();
    expect(await post(webhook, `/approvals/${once}/options`, asked('standing:60'))).toMatchObject({
      status: 400,
    });
    await webhook.store('api', { ...SECRET, approval: { ...APPROVAL, standingSeconds: 120 } });
    const id = await newRequest();
    for (const scope of ['standing:121', 'standing:59', 'standing:0', 'standing:1e2', 'always'])
      expect([scope, (await post(webhook, `/approvals/${id}/options`, asked(scope))).status]).toEqual([
        scope,
        400,
      ]);
    const deny = { decision: 'deny', scope: 'standing:120' };
    expect(await post(webhook, `/approvals/${id}/options`, deny)).toMatchObject({ status: 400 });
    expect(await post(webhook, `/approvals/${id}/options`, asked('standing:120'))).toMatchObject({
      status: 200,
    });
  });

  test('is taken from the webhook’s own pages and from programs, and from no other site', async () => {
    const id = await newRequest();
    const asked = { decision: 'approve', scope: 'once' };
    const options = (headers: object) => post(webhook, `/approvals/${id}/options`, asked, headers);
    for (const headers of [
      { origin: 'https://evil.test' },
      { origin: 'null' },
      { origin: 'https://webhook.test', 'sec-fetch-site': 'same-site' },
    ])
      expect(await options(headers)).toMatchObject({ status: 403, json: { code: 'ORIGIN_NOT_ALLOWED' } });
    expect(await options({ origin: 'https://webhook.test', 'sec-fetch-site': 'same-origin' })).toMatchObject({
      status: 200,
    });
    expect(await options({})).toMatchObject({ status: 200 });
  });

  test('is taken however many wrong signatures came before, which are counted', async () => {
    const id = await newRequest();
    const wrong = () => decide(webhook, id, passkeyFor(webhook));
    for (let at = 0; at < 20; at += 1) expect((await wrong()).status).toBe(401);
    expect(await wrong()).toMatchObject({ status: 429 });
    expect(await decide(webhook, id, ana)).toMatchObject({ status: 200 });
  });

  test('is taken without the id of the passkey, which tools of security keys do not say, by the user handle', async () => {
    const asked = { decision: 'approve', scope: 'once' };
    const optionsFor = async (id: string) =>
      (await post(webhook, `/approvals/${id}/options`, asked)).json.publicKey;
    const bo = await enrol(webhook, 'Bo');
    const { userHandle } = ana.assert(new Uint8Array(32));
    const unnamed = async (id: string, passkey: typeof ana, handle: Uint8Array | undefined) => {
      const { id: _id, rawId: _rawId, response, ...members } = passkey.get(await optionsFor(id));
      const named = { ...response, ...(handle && { userHandle: toBase64url(handle) }) };
      return post(webhook, `/approvals/${id}/decision`, {
        ...asked,
        response: { ...members, response: named },
      });
    };
    const id = await newRequest();
    expect(await unnamed(id, ana, undefined)).toMatchObject({ status: 400 });
    expect(await unnamed(id, ana, Buffer.alloc(32))).toMatchObject({ status: 401 });
    expect(await unnamed(id, bo, userHandle)).toMatchObject({ status: 401 });
    expect(await unnamed(id, ana, userHandle)).toMatchObject({ status: 200 });
    const [decided] = await entries('APPROVAL_DECIDED');
    expect(decided?.detail).toMatchObject({ approver: ana.approver });
  });

  test('shows what is signed to programs, which compute the challenge by themselves', async () => {
    const id = (await ask(webhook, CREDENTIAL, { name: 'Bot', reason: 'to deploy' })).json.id;
    const { json } = await post(webhook, `/approvals/${id}/options`, { decision: 'approve', scope: 'once' });
    expect(json.shown).toEqual({ name: 'Bot', reason: 'to deploy' });
    expect(json.publicKey).toMatchObject({
      rpId: 'webhook.test',
      userVerification: 'required',
      allowCredentials: [],
    });
    expect(json.publicKey.challenge).toBe(toBase64url(approvalChallenge(json.text, 'approve', 'once')));
  });
});

describe('what was approved ends', () => {
  const isDelivered = async (): Promise<boolean> => (await webhook.credential('api')).status === 200;

  test('by a revocation with a passkey', async () => {
    const id = await approved(webhook, ana, CREDENTIAL);
    expect(await decide(webhook, id, ana, { decision: 'revoke' })).toMatchObject({ status: 200 });
    expect(await isDelivered()).toBe(false);
    const [entry] = await entries('APPROVAL_REVOKED');
    expect(entry?.detail).toMatchObject({ approval: id, approver: ana.approver });
    expect(await decide(webhook, id, ana, { decision: 'revoke' })).toMatchObject({ status: 409 });
  });

  test('with a new store of its credential, and with its deletion', async () => {
    await approved(webhook, ana, CREDENTIAL);
    await webhook.store('api', SECRET);
    expect(await isDelivered()).toBe(false);
    await approved(webhook, ana, CREDENTIAL);
    await webhook.storage({ op: 'tokens.delete', serviceName: 'api' });
    await webhook.store('api', SECRET);
    expect(await isDelivered()).toBe(false);
  });

  test('with what something else than this program wrote into the database', async () => {
    const id = await newRequest();
    const write = (sql: string): void => {
      const db = new Database(`${webhook.dataDir}/webhook.db`);
      db.exec(sql);
      db.close();
    };
    write(`UPDATE approvals SET status = 'approved', mac = x'00', approver_id = '${ana.approver}'`);
    expect(await isDelivered()).toBe(false);
    write(`UPDATE approvals SET status = 'pending', mac = NULL, approver_id = NULL, match = 'x'`);
    expect(await decide(webhook, id, ana)).toMatchObject({ status: 409 });
    const shown = await newRequest();
    write(`UPDATE approvals SET shown = '{"reason":"harmless"}' WHERE id = '${shown}'`);
    expect(await decide(webhook, shown, ana)).toMatchObject({ status: 409 });
    expect(await newRequest()).not.toBe(shown);
    write(`UPDATE approvals SET status = 'ended'; UPDATE approvers SET name = 'Eve'`);
    expect(await decide(webhook, await newRequest(), ana)).toMatchObject({ status: 401 });
  });
});
