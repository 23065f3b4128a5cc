import { fromBase64, fromBase64url } from '@svault/shared';
import {
  parseAddress,
  parseInvitation,
  TargetRefused,
  type Invitation,
  type WebhookToTest,
} from '../target.ts';

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
  if (text.trim() === '')
    throw new TargetRefused(
      'the bind link is empty: is the webhook still bound? Erase its keys first (BND-11)',
    );
  const links = [...text.matchAll(/https?:\/\/[^\s"'<>]+/g)].map(([each]) => each);
  const link = links.find((each) => each.includes(PAGE));
  if (link === undefined || !URL.canParse(link)) throw new TargetRefused(`the link has no ${PAGE}`);
  const at = link.indexOf(PAGE);
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
    invitation: invitationOf(code, hmacHash, link),
  };
}

/** Letters in the wrong case are a fault of the webhook's, which a check names; anything else is one of the copy. */
function invitationOf(code: string, hmacHash: string, link: string): Invitation {
  parseInvitation({ code: code.toLowerCase(), hmacHash: hmacHash.toLowerCase() });
  return { code, hmacHash, link };
}

/** A service reads plain base64 too, and a space in it as `+` (BND-09). */
function decodedUrl(text: string): string {
  const plain = text.replaceAll(' ', '+').replace(/=+$/, '');
  const bytes = fromBase64url(plain) ?? fromBase64(plain.padEnd(Math.ceil(plain.length / 4) * 4, '='));
  if (bytes === undefined) throw new TargetRefused('webhook_url of the link is no base64url');
  return Buffer.from(bytes).toString('utf8');
}
