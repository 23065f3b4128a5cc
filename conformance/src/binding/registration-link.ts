import { fromBase64, fromBase64url } from '@svault/shared';
import { parseAddress, parseInvitation, TargetRefused, type WebhookToTest } from '../target.ts';

const PAGE = '/vault/webhook-bind';

/**
 * Reads the link that a webhook's bind page, or its command, ends with (BND-08).
 * @param text the link alone, or a text with the link in it, as a command prints it
 * @param options.serviceUrl where it is not the part of the link before `/vault/webhook-bind`
 * @throws TargetRefused that names the part that is wrong
 */
export function parseRegistrationLink(
  text: string,
  options: { readonly timeoutMs: number; readonly serviceUrl?: string | undefined },
): WebhookToTest {
  const link = /https?:\/\/\S+/.exec(text)?.[0];
  const at = link?.indexOf(PAGE) ?? -1;
  if (link === undefined || at === -1) throw new TargetRefused(`the link has no ${PAGE}`);
  const parameters = new URL(link).searchParams;
  const [code, webhookUrl64, hmacHash] = ['code', 'webhook_url', 'hmac_hash'].map((name) => {
    const value = parameters.get(name);
    if (value === null) throw new TargetRefused(`the link has no ${name}`);
    return value;
  }) as [string, string, string];
  return {
    address: parseAddress({
      webhookUrl: decodedUrl(webhookUrl64),
      serviceUrl: options.serviceUrl ?? link.slice(0, at),
      timeoutMs: options.timeoutMs,
    }),
    invitation: parseInvitation({ code, hmacHash }),
  };
}

/** A service reads plain base64 too, and a space in it as `+` (BND-09). */
function decodedUrl(text: string): string {
  const plain = text.replaceAll(' ', '+').replace(/=+$/, '');
  const bytes = fromBase64url(plain) ?? fromBase64(plain.padEnd(Math.ceil(plain.length / 4) * 4, '='));
  if (bytes === undefined) throw new TargetRefused('webhook_url of the link is no base64url');
  return Buffer.from(bytes).toString('utf8');
}
