import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '@svault/shared';
import { type WebhookFixture, keyOf, postForm, startFixture } from '../support/webhook-fixture.ts';
import { command } from '../support/run-webhook.ts';

let fixture: WebhookFixture;
beforeEach(async () => {
  // The subcommands are processes of their own, on the machine's clock.
  fixture = await startFixture({ clock: new ManualClock(Date.now()), env: { SV_WEBHOOK_SETUP_TOKEN: '' } });
});
afterEach(() => fixture.stop());

const LINK = /^https:\/\/vault\.example\/base\/vault\/webhook-bind\?\S+$/m;

describe('bind-link', () => {
  it('prints a link and the fingerprint; the running serve exchanges its code', async () => {
    const { code, stdout, stderr } = await command(fixture.env, 'bind-link');
    expect([code, stderr]).toEqual([0, '']);
    const query = new URL(LINK.exec(stdout)![0]).searchParams;
    const { status, json } = await fixture.exchange(query.get('code')!);
    expect(status).toBe(200);
    const hash = createHash('sha256').update(keyOf(json).secret).digest('hex');
    expect(query.get('hmac_hash')).toBe(hash);
    const fingerprint = hash.slice(0, 16).match(/.{4}/g)!.join(' ');
    expect(stdout).toContain(fingerprint);
  });

  it('says in one line why not, once the webhook is bound', async () => {
    await bindByCommand();
    const { code, stdout, stderr } = await command(fixture.env, 'bind-link');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^webhook: this webhook is bound; .*unseal-bind.*\n$/);
  });
});

describe('unseal-bind', () => {
  it('erases the keys under a running serve, and prints a new set-up token', async () => {
    const key = await bindByCommand();
    const { code, stdout } = await command(fixture.env, 'unseal-bind');
    expect(code).toBe(0);
    expect((await fixture.sendSigned({ key })).status).toBe(401);
    const token = /^[A-Za-z0-9_-]{43}$/m.exec(stdout)![0];
    expect((await postForm(fixture.send, { setup_token: fixture.webhook.firstSetupToken! })).status).toBe(
      403,
    );
    expect((await postForm(fixture.send, { setup_token: token })).status).toBe(200);
    const again = await command(fixture.env, 'unseal-bind');
    expect([again.code, again.stdout.split('\n')[0]]).toEqual([
      0,
      'Nothing was bound; any open registration link is void now.',
    ]);
  });
});

async function bindByCommand(): Promise<ReturnType<typeof keyOf>> {
  const { stdout } = await command(fixture.env, 'bind-link');
  const { json } = await fixture.exchange(new URL(LINK.exec(stdout)![0]).searchParams.get('code')!);
  const key = keyOf(json);
  expect((await fixture.sendSigned({ key })).status).toBe(200);
  return key;
}
