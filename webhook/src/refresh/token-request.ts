import { type Secret, toBase64, utf8 } from '@svault/shared';
import type { SealedProvider } from '../vault/record.ts';

/** By what the client authenticates, beside its id; which of them is used says the provider's `authMethod`. */
export interface ClientAuthentication {
  readonly clientSecret?: Secret | undefined;
  /** A signed JWT (RFC 7523 section 2.2). */
  readonly clientAssertion?: Secret | undefined;
}

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/**
 * The form that asks for a new pair (RFC 6749 section 6), with the client authentication of RFC 6749 section 2.3.1 or
 * RFC 7523 section 2.2. Pure.
 */
export function refreshRequest(
  provider: SealedProvider,
  refreshToken: Secret,
  { clientSecret, clientAssertion }: ClientAuthentication,
): { readonly headers: Readonly<Record<string, string>>; readonly body: string } {
  const form = new URLSearchParams({
    grant_type: 'refresh_token',
    refresh_token: refreshToken.reveal(),
    ...(provider.scope !== undefined && { scope: provider.scope }),
  });
  const headers: Record<string, string> = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'svault-webhook',
  };
  const secret = clientSecret?.reveal() ?? '';
  switch (provider.authMethod) {
    case 'client_secret_basic':
      headers['authorization'] =
        `Basic ${toBase64(utf8(`${formEncoded(provider.clientId)}:${formEncoded(secret)}`))}`;
      break;
    case 'client_secret_post':
      form.set('client_id', provider.clientId);
      form.set('client_secret', secret);
      break;
    case 'private_key_jwt':
      form.set('client_id', provider.clientId);
      form.set('client_assertion_type', ASSERTION_TYPE);
      form.set('client_assertion', clientAssertion?.reveal() ?? '');
      break;
    case 'none':
      form.set('client_id', provider.clientId);
      break;
  }
  return { headers, body: form.toString() };
}

/** RFC 6749 appendix B, as section 2.3.1 asks for both halves. */
const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1);
