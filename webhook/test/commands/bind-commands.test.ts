import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type HmacKey, ManualClock } from '@svault/shared';
import { type WebhookFixture, fixtureOfTest, keyOf, postForm } from '../support/webhook-fixture.ts';
import { command } from '../support/run-webhook.ts';

/** The subcommands run on the machine's clock. */
const start = (): Promise<WebhookFixture> =>
  fixtureOfTest({ clock: new ManualClock(Date.now()), env: { SV_WEBHOOK_SETUP_TOKEN: '' } });
const LINK = /^https:\/\/vault\.example\/base\/vault\/webhook-bind\?\S+$/m;

describe('bind-link', () => {
  it('prints a link and the fingerprint, and once the webhook is bound one line that says so', async () => {
    const fixture = await start();
    const { code, stdout, stderr } = await command(fixture, 'bind-link');
    expect([code, stderr]).toEqual([0, '']);
    const query = new URL(LINK.exec(stdout)![0]).searchParams;
    const { json } = await fixture.exchange(query.get('code')!);
    const hash = createHash('sha256').update(keyOf(json).secret).digest('hex');
    expect(query.get('hmac_hash')).toBe(hash);
    expect(stdout).toContain(hash.slice(0, 16).match(/.{4}/g)!.join(' '));
    expect((await fixture.sendSigned({ key: keyOf(json) })).status).toBe(200);

    const refused = await command(fixture, 'bind-link');
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toMatch(/^webhook: this webhook is bound; .*unseal-bind.*\n$/);
  });
});

describe('unseal-bind', () => {
  it('erases all keys at once while serve runs, and prints a new setup token', async () => {
    const fixture = await start();
    const { key: former } = await bindByCommand(fixture);
    const rotate = async (key: HmacKey): Promise<HmacKey> =>
      keyOf((await fixture.sendSigned({ path: '/v1/exchange', body: { op: 'rotate' }, key })).json);
    const current = await rotate(former);
    for (const key of [current, former]) expect((await fixture.sendSigned({ key })).status).toBe(200);
    const keys = [former, current, await rotate(current)];
    const signedBefore = keys.map((key) => fixture.sign({ key }));

    const { code, stdout } = await command(fixture, 'unseal-bind');
    expect(code).toBe(0);
    for (const headers of [...signedBefore, ...keys.map((key) => fixture.sign({ key }))])
      expect((await fixture.send({ method: 'POST', path: '/v1/health', headers })).status).toBe(401);
    for (const table of ['binding', 'binding_keys', 'binding_code'])
      expect(fixture.query(`SELECT * FROM ${table}`)).toEqual([]);
    const tokens = [fixture.webhook.firstSetupToken!, /^[A-Za-z0-9_-]{43}$/m.exec(stdout)![0]];
    const pages = tokens.map((token) => postForm(fixture.send, { setup_token: token }));
    expect((await Promise.all(pages)).map(({ status }) => status)).toEqual([403, 200]);

    const open = await command(fixture, 'bind-link');
    const again = await command(fixture, 'unseal-bind');
    expect([again.code, again.stdout.split('\n')[0]]).toEqual([
      0,
      'Nothing was bound; any open registration link is void now.',
    ]);
    const codeOf = (text: string) => new URL(LINK.exec(text)![0]).searchParams.get('code')!;
    expect((await fixture.exchange(codeOf(open.stdout))).status).toBe(401);
    expect((await bindByCommand(fixture)).webhookId).toMatch(/^whk_/);
  });
});

async function bindByCommand(fixture: WebhookFixture): Promise<{ key: HmacKey; webhookId: string }> {
  const { stdout } = await command(fixture, 'bind-link');
  const { json } = await fixture.exchange(new URL(LINK.exec(stdout)![0]).searchParams.get('code')!);
  const key = keyOf(json);
  expect((await fixture.sendSigned({ key })).status).toBe(200);
  return { key, webhookId: json.webhookId };
}
