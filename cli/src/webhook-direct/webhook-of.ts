import { parseWebhookUrl } from '@svault/shared';

/** Of a webhook, that the client calls (protocol 5.4 and 5.5). */
type Endpoint = '/v1/credential' | '/v1/store';

/**
 * The webhook that an address leads to. It is compared, kept and printed in lines to copy, so nothing but an address by SIG-13 and
 * SIG-14 is one: its path has no character that means something to a shell.
 *
 * @returns its address in the one spelling; undefined where this is no such endpoint
 */
export function webhookOf({ origin, pathname }: URL, endpoint: Endpoint): string | undefined {
  if (!pathname.endsWith(endpoint)) return undefined;
  const webhook = parseWebhookUrl(origin + pathname.slice(0, -endpoint.length));
  return webhook.ok ? webhook.url : undefined;
}
