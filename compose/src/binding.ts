import type { AdminClient } from './admin-client.ts';

/** What a registration link carries from the webhook to the service. */
export interface Registration {
  readonly code: string;
  readonly webhookUrl: string;
  readonly hmacHash: string;
}

/** Reads the link that `bind-link` prints and that `/bind` redirects to. */
export function parseRegistrationLink(text: string): Registration {
  const link = /https?:\/\/\S+\/vault\/webhook-bind\?\S+/.exec(text)?.[0];
  const query = new URLSearchParams(link?.split('?')[1] ?? '');
  const [code, webhookUrl, hmacHash] = [query.get('code'), query.get('webhook_url'), query.get('hmac_hash')];
  if (code === null || webhookUrl === null || hmacHash === null)
    throw new Error('that is no registration link');
  return { code, webhookUrl: Buffer.from(webhookUrl, 'base64url').toString('utf8'), hmacHash };
}

/** The address of the webhook that the service is bound to already. */
export async function boundTo(admin: AdminClient): Promise<string | undefined> {
  return (await admin.call<{ readonly url?: string }>('GET', '/api/webhook')).url;
}

export async function bind(admin: AdminClient, registration: Registration): Promise<void> {
  await admin.call('POST', '/api/webhook/bind', registration);
}
