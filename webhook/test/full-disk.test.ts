import { describe, expect, it, onTestFinished } from 'vitest';
import { type Listener, listen } from '@svault/server-kit/listener';
import { silentLogger } from '@svault/server-kit/logger';
import { createApp } from '../src/app.ts';
import { webhookConfig } from '../src/config/config.ts';
import { type Context, openContext } from '../src/context.ts';
import { type BoundWebhook, webhookOfTest } from './support/bound-webhook.ts';

const storeInit = (ticket: string, value: string): RequestInit => ({
  method: 'POST',
  headers: { authorization: `Bearer ${ticket}`, 'content-type': 'application/json' },
  body: JSON.stringify({ tokenType: 'PlainText', value }),
});

describe('a full disk (R21)', () => {
  async function served(webhook: BoundWebhook): Promise<{ context: Context; listener: Listener }> {
    const { clock } = webhook;
    const context = await openContext(webhookConfig(webhook.env), { clock, logger: silentLogger });
    onTestFinished(() => context.close());
    const listener = await listen(createApp(context), {
      host: '127.0.0.1',
      port: 0,
    });
    onTestFinished(() => listener.close());
    return { context, listener };
  }

  it('is 503 without a credential, and works again once there is room', async () => {
    const webhook = await webhookOfTest();
    await webhook.stop();
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
