import type { Answer } from '../http/client.ts';
import { jsonObject } from '../http/read-answer.ts';
import type { Binding } from '../target.ts';

/**
 * The binding that an exchange was answered with, read more generously than it has to be written, so that a fault of
 * form fails the check for it and not the whole run.
 */
export function bindingOf(exchange: Answer): Binding | undefined {
  const body = exchange.status >= 200 && exchange.status < 300 ? jsonObject(exchange) : undefined;
  const { webhookId, keyId, hmacSecret } = body ?? {};
  if (typeof webhookId !== 'string' || typeof keyId !== 'string' || typeof hmacSecret !== 'string')
    return undefined;
  // Takes both alphabets, padded or not.
  const secret = Buffer.from(hmacSecret, 'base64url');
  return secret.byteLength === 0 ? undefined : { webhookId, key: { id: keyId, secret } };
}
