import type { HeaderPairs } from '@svault/shared';

/** A client as a token endpoint has it registered: it authenticates by its own method, and by no other. */
export type ProviderClient = { readonly id: string } & (
  | { readonly method: 'client_secret_basic' | 'client_secret_post'; readonly secret: string }
  /** Compared as text: what is in the assertion is between the service and the provider. */
  | { readonly method: 'private_key_jwt'; readonly assertion: string }
  | { readonly method: 'none' }
);

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/**
 * What a strict token endpoint finds wrong with how a call authenticates the client (RFC 6749 section 2.3.1, RFC 7523
 * section 2.2): another method than the registered one, or two at once.
 * @returns undefined where nothing is wrong
 */
export function authenticationFault(
  client: ProviderClient,
  headers: HeaderPairs,
  form: URLSearchParams,
): string | undefined {
  const authorization = headers.find(([name]) => name === 'authorization')?.[1];
  const { method } = client;
  if (method !== 'client_secret_basic' && authorization !== undefined)
    return `there is an Authorization header, though authMethod is ${method}`;
  if (method !== 'client_secret_post' && form.has('client_secret'))
    return `client_secret is in the form, though authMethod is ${method}`;
  if (method !== 'private_key_jwt' && (form.has('client_assertion') || form.has('client_assertion_type')))
    return `client_assertion is in the form, though authMethod is ${method}`;
  const returned = form.get('client_id');
  if (returned !== client.id && (method !== 'client_secret_basic' || returned !== null))
    return returned === null ? 'client_id is missing in the form' : 'client_id is not the sealed one';
  switch (method) {
    case 'client_secret_basic':
      return basicFault(client, authorization);
    case 'client_secret_post':
      return form.get('client_secret') === client.secret
        ? undefined
        : 'client_secret in the form is not the one that was given';
    case 'private_key_jwt':
      if (form.get('client_assertion_type') !== ASSERTION_TYPE)
        return `client_assertion_type is not ${ASSERTION_TYPE}`;
      return form.get('client_assertion') === client.assertion
        ? undefined
        : 'client_assertion is not the one that was given';
    case 'none':
      return undefined;
  }
}

function basicFault(
  client: { readonly id: string; readonly secret: string },
  authorization: string | undefined,
): string | undefined {
  const [, encoded] = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization ?? '') ?? [];
  if (encoded === undefined) return 'there is no Authorization header with Basic and base64';
  const [id = '', secret, ...more] = Buffer.from(encoded, 'base64').toString('utf8').split(':');
  if (secret === undefined || more.length > 0)
    return 'Basic does not hold two parts with one colon between them, both form-encoded (RFC 6749 section 2.3.1)';
  return formDecoded(id) === client.id && formDecoded(secret) === client.secret
    ? undefined
    : 'Basic does not hold client id and secret, both form-encoded (RFC 6749 section 2.3.1)';
}

const formDecoded = (text: string): string => new URLSearchParams(`v=${text}`).get('v') ?? '';
