import { fromBase64url, parseWebhookUrl, type HmacKey } from '@svault/shared';

/** The webhook under test, and the binding that the suite plays the service of. */
export interface Target {
  /** As bound: no trailing slash. Requests go there, and its authority and path are what signatures cover. */
  readonly webhookUrl: string;
  readonly webhookId: string;
  /** Base URL of the service it is bound to: the `iss` of every ticket. */
  readonly serviceUrl: string;
  readonly key: HmacKey;
  /** How long one answer may take. */
  readonly timeoutMs: number;
}

/** A target as it is typed. */
export interface TargetInput {
  readonly webhookUrl: string;
  readonly webhookId: string;
  readonly serviceUrl: string;
  readonly keyId: string;
  /** base64url of the 32 bytes that `/v1/exchange` answered as `hmacSecret`. */
  readonly secret: string;
  readonly timeoutMs: number;
}

/** A target that cannot be tested as it was given. */
export class TargetRefused extends Error {
  override readonly name = 'TargetRefused';
}

/** @throws TargetRefused that names the part that is wrong */
export function parseTarget(input: TargetInput): Target {
  const address = parseWebhookUrl(input.webhookUrl);
  if (!address.ok)
    throw new TargetRefused(`the webhook's URL is not one a binding accepts: ${address.reason}`);
  if (!URL.canParse(input.serviceUrl) || input.serviceUrl.endsWith('/'))
    throw new TargetRefused('the service URL is a base URL without trailing slash');
  const secret = fromBase64url(input.secret.trim());
  if (secret?.byteLength !== 32)
    throw new TargetRefused('the secret is base64url of 32 bytes, without padding');
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(input.keyId))
    throw new TargetRefused('the key id is 1 to 64 of A-Z a-z 0-9 _ -');
  if (input.webhookId === '') throw new TargetRefused('the webhook id is missing');
  return {
    webhookUrl: address.url,
    webhookId: input.webhookId,
    serviceUrl: input.serviceUrl,
    key: { id: input.keyId, secret },
    timeoutMs: input.timeoutMs,
  };
}
