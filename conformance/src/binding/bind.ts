import { fromBase64url, utf8 } from '@svault/shared';
import { NotTestable } from '../check-outcome.ts';
import { forgeSignature } from '../forge/signature.ts';
import type { Answer, Client } from '../http/client.ts';
import { jsonObject } from '../http/read-answer.ts';
import type { Address, Binding, Invitation } from '../target.ts';
import type { BindingTranscript } from './transcript.ts';

/** How a binding ended, and what was answered on the way. */
export interface Bound {
  readonly transcript: BindingTranscript;
  /** Why there is none, where the webhook could not be bound. */
  readonly binding: Binding | NotTestable;
}

/**
 * Binds the webhook to the suite as a service does (protocol section 5.1): exchanges the code, then completes the
 * binding with a first signed request.
 * @throws NoAnswer
 */
export async function bind(client: Client, address: Address, invitation: Invitation): Promise<Bound> {
  const post = (path: string, json: object, binding: Binding): Promise<Answer> => {
    const request = { method: 'POST', path, body: utf8(JSON.stringify(json)) };
    const { headers, base } = forgeSignature({ ...address, ...binding }, request);
    return client.send({ ...request, headers, signatureBase: base });
  };
  const exchange = await post(
    '/v1/exchange',
    { code: invitation.code, service: { baseUrl: address.serviceUrl, vaultId: 'vlt_conformance' } },
    { webhookId: '', key: { id: 'bind', secret: utf8(invitation.code) } },
  );
  const binding = bindingOf(exchange);
  if (binding === undefined)
    return { transcript: { exchange }, binding: new NotTestable('the webhook was not bound', exchange) };
  const firstHealth = await post('/v1/health', {}, binding);
  return {
    transcript: { exchange, firstHealth },
    binding:
      firstHealth.status === 200
        ? binding
        : new NotTestable('the first request under the new key was refused', firstHealth),
  };
}

function bindingOf(exchange: Answer): Binding | undefined {
  const body = exchange.status === 200 ? jsonObject(exchange) : undefined;
  const { webhookId, keyId, hmacSecret } = body ?? {};
  const secret = typeof hmacSecret === 'string' ? fromBase64url(hmacSecret) : undefined;
  if (typeof webhookId !== 'string' || typeof keyId !== 'string' || secret?.byteLength !== 32)
    return undefined;
  return { webhookId, key: { id: keyId, secret } };
}
