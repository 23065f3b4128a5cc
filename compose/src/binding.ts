import type { AdminClient } from './admin-client.ts';

/** What a registration link carries from the webhook to the control plane. */
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

export async function bind(admin: AdminClient, registration: Registration): Promise<void> {
  await admin.call('POST', '/api/webhook/bind', registration);
}

/**
 * Binds the webhook unless it is bound already.
 * @param makeLink prints a registration link of that webhook
 * @throws Error where the control plane is bound to another address
 */
export async function ensureBound(
  admin: AdminClient,
  webhookUrl: string,
  makeLink: () => Promise<string>,
): Promise<void> {
  const { url: bound } = await admin.call<{ readonly url?: string }>('GET', '/api/webhook');
  if (bound === undefined) await bind(admin, parseRegistrationLink(await makeLink()));
  else if (bound !== webhookUrl)
    throw new Error(`the control plane is bound to ${bound}, but the webhook is at ${webhookUrl}`);
}
