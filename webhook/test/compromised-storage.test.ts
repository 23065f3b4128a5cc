/**
 * What limits `/v1/storage` and `/v1/store` for a compromised control plane, beyond the table of PROTOCOL.md section 1.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ManualClock } from '@svault/shared';
import { SECRET_FIELD_NAMES } from '@svault/shared/schemas';
import { type BoundWebhook, boundWebhook } from './support/bound-webhook.ts';
import { command } from './support/run-webhook.ts';
import { observeAnswers, proxyTo } from './support/compromised-control-plane.ts';

const SECRET = 'the-canary-that-must-not-leave/+é';

let webhook: BoundWebhook;
const answers = observeAnswers(() => webhook);
beforeEach(async () => {
  answers.clear();
  webhook = await boundWebhook({
    clock: new ManualClock(Date.now()),
    env: { SV_EGRESS_ALLOW: '127.0.0.1/32' },
  });
});
afterEach(() => webhook.remove());

/** Stores as the owner, from a browser or the CLI; the control plane does not see the body. */
async function owned(name: string, body: object): Promise<void> {
  expect(await webhook.store(name, body)).toMatchObject({ status: 200 });
}
describe('A compromised control plane', () => {
  test('changes no sealed setting by a storage operation', async () => {
    const sealed = { delivery: 'proxy-only', allowedHosts: ['api.test'], allowedHeaders: ['x-key'] };
    await owned('doc', { tokenType: 'PlainText', value: SECRET, ...sealed });
    const open = { delivery: 'any', allowedHosts: ['evil.test'], allowedHeaders: ['host'] };
    for (const op of [
      'tokens.get',
      'tokens.list',
      'proxies.put',
      'tokens.put',
      'tokens.patch',
      'tokens.update',
    ])
      await answers.storage({ op, ...proxyTo('doc'), ...open });
    expect((await answers.storage({ op: 'tokens.get', serviceName: 'doc' })).json).toMatchObject(sealed);
  });

  test('cannot store without the secret, so the restrictions end only with the secret', async () => {
    const sealed = { delivery: 'proxy-only', allowedHosts: ['api.test'] };
    await owned('doc', { tokenType: 'PlainText', value: SECRET, ...sealed });
    for (const body of [
      { tokenType: 'PlainText', delivery: 'any' },
      { delivery: 'any' },
      { tokenType: 'PlainText', value: null, delivery: 'any' },
      { tokenType: 'JWT', allowedHosts: ['evil.test'] },
    ])
      expect(await answers.ask(webhook.store('doc', body))).toMatchObject({ status: 400 });
    // Its own secret it may store; nothing of the old record goes along.
    await owned('doc', { tokenType: 'PlainText', value: 'its own' });
    expect((await answers.credential('doc')).json.token.accessToken).toBe('its own');
    expect(answers.tracesOf(SECRET)).toEqual([]);
  });

  test('cannot set a header that routes in a template', async () => {
    for (const name of [
      'host',
      'Host',
      'content-length',
      'transfer-encoding',
      'connection',
      'sv-ticket',
      'x-forwarded-host',
    ])
      expect([
        name,
        (await answers.storage({ op: 'proxies.put', ...proxyTo('doc', { [name]: '${TOKEN}' }) })).status,
      ]).toEqual([name, 400]);
  });
});

describe('/v1/storage carries no secret', () => {
  const event = { id: 'e', eventType: 'X', timestamp: '2026-01-01T00:00:00Z', outcome: 'success' };
  const spellings = (name: string): readonly string[] => [name, name.toUpperCase(), name.toLowerCase()];

  test.each(SECRET_FIELD_NAMES)('%s, at any depth and in any case', async (name) => {
    for (const spelt of spellings(name))
      for (const operation of [
        { op: 'tokens.get', serviceName: 'a', [spelt]: SECRET },
        { op: 'tokens.list', deep: { deeper: [[{ [spelt]: 1 }]] } },
        { op: 'audit.append', events: [{ ...event, detail: { a: [{ [spelt]: SECRET }] } }] },
        { op: 'proxies.put', ...proxyTo('a'), more: { headerTemplates: { [spelt]: SECRET } } },
      ]) {
        const refused = await answers.storage(operation);
        expect([spelt, refused.status, refused.json.code]).toEqual([spelt, 400, 'SECRET_FIELD']);
        const { results } = (await answers.storage({ batch: [operation, { op: 'tokens.list' }] })).json;
        expect(results).toEqual([refused.json, { items: [] }]);
      }
    expect(answers.tracesOf(SECRET)).toEqual([]);
    expect((await webhook.storage({ op: 'audit.list' })).json.items).not.toContainEqual(
      expect.objectContaining({ source: 'service' }),
    );
  });

  test('but headers of a proxy may be called like one', async () => {
    const templates = { secret: 'x', Password: '${TOKEN}', 'x-value': 'y' };
    const { status, json } = await answers.storage({ op: 'proxies.put', ...proxyTo('a', templates) });
    expect([status, json.headerTemplates]).toEqual([200, templates]);
  });
});

describe('A record that a compromised control plane replaces or deletes', () => {
  const restore = (name: string) => command(webhook.env, 'restore', name);
  const valueOf = async (name: string): Promise<unknown> =>
    (await webhook.credential(name)).json.token.accessToken;
  const replaced = async (name: string): Promise<void> => {
    await owned(name, { tokenType: 'PlainText', value: SECRET });
    await owned(name, { tokenType: 'PlainText', value: 'its own' });
  };

  test('is restored by `restore NAME`, repeatedly', async () => {
    await replaced('doc');
    expect(await restore('doc')).toMatchObject({ code: 0 });
    expect(await valueOf('doc')).toBe(SECRET);
    expect((await answers.storage({ op: 'tokens.delete', serviceName: 'doc' })).json).toEqual({
      deleted: true,
    });
    expect((await answers.credential('doc')).status).toBe(404);
    expect(await restore('doc')).toMatchObject({ code: 0 });
    expect(await valueOf('doc')).toBe(SECRET);
    expect((await answers.storage({ op: 'tokens.get', serviceName: 'doc' })).json.version).toBe(4);
  });

  test('is kept for 7 days', async () => {
    // The command runs by the machine's clock, so what it finds was replaced in the past.
    await webhook.remove();
    webhook = await boundWebhook({ clock: new ManualClock(Date.now() - 7 * 24 * 3_600_000 - 60_000) });
    await replaced('too long ago');
    webhook.clock.advance(120_000);
    await replaced('just in time');
    const [gone, kept] = await Promise.all([restore('too long ago'), restore('just in time')]);
    expect([gone.code, kept.code]).toEqual([1, 0]);
    expect(await valueOf('just in time')).toBe(SECRET);
  });
});
