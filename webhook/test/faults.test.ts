import { afterEach, describe, expect, it } from 'vitest';
import { type Listener, listen } from '@svault/server-kit/listener';
import { silentLogger } from '@svault/server-kit/logger';
import { createMetrics } from '@svault/server-kit/metrics';
import { ManualClock } from '@svault/shared';
import { createApp } from '../src/app.ts';
import { webhookConfig } from '../src/config/config.ts';
import { type Context, openContext } from '../src/context.ts';
import { type BoundWebhook, boundWebhook } from './support/bound-webhook.ts';
import { command, serveProcess } from './support/run-webhook.ts';

// Processes of their own start slowly on a machine that is busy.

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** A bound vault that nobody serves, with the keys of its service. */
async function stoppedWebhook(): Promise<BoundWebhook> {
  const webhook = await boundWebhook({ clock: new ManualClock(Date.now()) });
  cleanUps.push(() => webhook.remove());
  await webhook.stop();
  return webhook;
}

const storeInit = (ticket: string, value: string): RequestInit => ({
  method: 'POST',
  headers: { authorization: `Bearer ${ticket}`, 'content-type': 'application/json' },
  body: JSON.stringify({ tokenType: 'PlainText', value }),
});

describe('kill -9 in the middle of stores (R2, R3)', () => {
  const NAMES = ['a', 'b', 'c', 'd'];

  it('loses nothing that was answered, and mixes nothing', async () => {
    const webhook = await stoppedWebhook();
    /** Per name the value last answered 200, and the one that was under way. */
    const answered = new Map<string, string>();
    const underWay = new Map<string, string>();
    let count = 0;

    for (const killAfter of [1, 40]) {
      const serving = await serveProcess(webhook.env);
      cleanUps.push(() => serving.child.kill('SIGKILL'));
      const before = count;
      const keepStoring = async (name: string): Promise<void> => {
        for (;;) {
          const value = `${name} ${count} ${'x'.repeat(2_000)}`;
          underWay.set(name, value);
          const init = storeInit(webhook.storeTicket(name), value);
          const response = await fetch(`${serving.url}/v1/store`, init).catch(() => undefined);
          const json = (await response?.json().catch(() => undefined)) as { version: number } | undefined;
          if (json === undefined) return;
          expect(json.version).toBeGreaterThan(0);
          answered.set(name, value);
          count += 1;
          if (count - before === killAfter) serving.child.kill('SIGKILL');
        }
      };
      await Promise.all(NAMES.map(keepStoring));
      await serving.end('SIGKILL');

      await webhook.restart();
      for (const name of NAMES) {
        const { json } = await webhook.credential(name);
        const expected = [answered.get(name), underWay.get(name)];
        if (answered.has(name)) expect(expected).toContain(json.token.accessToken);
      }
      await webhook.stop();
      expect(await command(webhook.env, 'audit', 'verify')).toMatchObject({ code: 0 });
    }
  });
});

describe('a full disk (R21)', () => {
  async function served(webhook: BoundWebhook): Promise<{ context: Context; listener: Listener }> {
    const { clock } = webhook;
    const context = await openContext(webhookConfig(webhook.env), { clock, logger: silentLogger });
    cleanUps.push(() => context.close());
    const listener = await listen(createApp(context, createMetrics('webhook')), {
      host: '127.0.0.1',
      port: 0,
    });
    cleanUps.push(() => listener.close());
    return { context, listener };
  }

  it('is 503 without a credential, and heals by itself', async () => {
    const webhook = await stoppedWebhook();
    const { context, listener } = await served(webhook);
    const store = (value: string) =>
      fetch(`${listener.url}/v1/store`, storeInit(webhook.storeTicket('doc'), value));
    const fetchWith = (ticket: string) => fetch(`${listener.url}/v1/credential?ticket=${ticket}`);
    expect((await store('the-secret')).status).toBe(200);

    const pages = Number(context.db.pragma('page_count', { simple: true }));
    context.db.pragma(`max_page_count = ${pages}`);
    const refused = await store('x'.repeat(60_000));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await refused.json()).toMatchObject({ code: 'UNAVAILABLE' });
    // Single rows still fit into pages that were begun; sooner or later none does.
    let ticket = '';
    let status = 200;
    for (let tries = 0; status === 200 && tries < 2_000; tries += 1) {
      ticket = webhook.credentialTicket('doc');
      const response = await fetchWith(ticket);
      status = response.status;
      expect((await response.text()).includes('the-secret')).toBe(status === 200);
    }
    expect(status).toBe(503);

    context.db.pragma('max_page_count = 1000000');
    // Nothing was written, so the refused ticket is not used up.
    expect(await (await fetchWith(ticket)).json()).toMatchObject({ token: { accessToken: 'the-secret' } });
    expect((await fetchWith(ticket)).status).toBe(401);
    expect((await store('newer')).status).toBe(200);
  });
});
