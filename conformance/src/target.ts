import { fromBase64url, parseWebhookUrl, type HmacKey } from '@svault/shared';

/** Where the webhook is and how it is to be spoken with. */
export interface Address {
  /** As bound: no trailing slash. Requests go there, and its authority and path are what signatures cover. */
  readonly webhookUrl: string;
  /** Base URL of the service that the webhook is configured for: the `iss` of every ticket. */
  readonly serviceUrl: string;
  /** How long one answer may take. */
  readonly timeoutMs: number;
}

/** What makes a webhook the suite's: who it is, and the key that both have. */
export interface Binding {
  readonly webhookId: string;
  /** The key that the webhook takes now; another one after a rotation. */
  readonly key: HmacKey;
}

/** A webhook that is bound to the suite. */
export type Target = Address & Binding;

/** What a webhook hands out for being bound (protocol section 5.1). */
export interface Invitation {
  /** A UUID in lower case. */
  readonly code: string;
  /** Hex of the SHA-256 of the key that the exchange will answer. */
  readonly hmacHash: string;
  /** The link that it came by, if it did. */
  readonly link?: string;
}

/** A webhook that is to be tested: bound before, or to be bound first. */
export type WebhookToTest =
  | { readonly address: Address; readonly binding: Binding }
  | { readonly address: Address; readonly invitation: Invitation };

/** A webhook that cannot be tested as it was given. */
export class TargetRefused extends Error {
  override readonly name = 'TargetRefused';
}

/** @throws TargetRefused that names the part that is wrong */
export function parseAddress(input: Address): Address {
  const webhook = parseWebhookUrl(input.webhookUrl);
  if (!webhook.ok)
    throw new TargetRefused(`the webhook's URL is not one a binding accepts: ${webhook.reason}`);
  if (!URL.canParse(input.serviceUrl) || input.serviceUrl.endsWith('/'))
    throw new TargetRefused('the service URL is a base URL without trailing slash');
  return { ...input, webhookUrl: webhook.url };
}

/**
 * @param input.secret base64url of the 32 bytes that `/v1/exchange` answered as `hmacSecret`
 * @throws TargetRefused that names the part that is wrong
 */
export function parseBinding(input: { webhookId: string; keyId: string; secret: string }): Binding {
  const secret = fromBase64url(input.secret.trim());
  if (secret?.byteLength !== 32)
    throw new TargetRefused('the secret is base64url of 32 bytes, without padding');
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(input.keyId))
    throw new TargetRefused('the key id is 1 to 64 of A-Z a-z 0-9 _ -');
  if (input.webhookId === '') throw new TargetRefused('the webhook id is missing');
  return { webhookId: input.webhookId, key: { id: input.keyId, secret } };
}

/** @throws TargetRefused that names the part that is wrong */
export function parseInvitation(input: Invitation): Invitation {
  if (!/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(input.code))
    throw new TargetRefused('the code is a UUID in lower case');
  if (!/^[0-9a-f]{64}$/.test(input.hmacHash))
    throw new TargetRefused('the hash is 64 hex digits in lower case');
  return input;
}
