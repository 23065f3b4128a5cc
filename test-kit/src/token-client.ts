import type { IncomingHttpHeaders } from 'node:http';
import { type KeyObject, timingSafeEqual } from 'node:crypto';
import { jwtVerify } from 'jose';

/** A client of a token endpoint: it authenticates by its own method, and by no other. */
export type TokenClient = { readonly id: string } & (
  | { readonly method: 'client_secret_basic' | 'client_secret_post'; readonly secret: string }
  | { readonly method: 'private_key_jwt'; readonly publicKey: KeyObject; readonly algorithm: string }
  | { readonly method: 'none' }
);

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** What an endpoint knows. */
export interface TokenClients {
  readonly clients: ReadonlyMap<string, TokenClient>;
  /** By client and `jti`: each is taken once (RFC 7523 section 3). */
  readonly assertionsSeen: Set<string>;
  readonly tokenUrl: string;
}

/**
 * The client that a call authenticates as (RFC 6749 section 2.3.1, RFC 7523 section 2.2), strictly: by the method that it
 * is registered with, and with nothing of another method.
 */
export async function authenticates(
  call: { readonly headers: IncomingHttpHeaders; readonly form: URLSearchParams },
  known: TokenClients,
): Promise<TokenClient | undefined> {
  const { form } = call;
  const { clients } = known;
  const basic = basicOf(call.headers.authorization);
  const client = clients.get(basic?.id ?? form.get('client_id') ?? '');
  if (client === undefined) return undefined;
  const inForm = form.has('client_secret');
  const asserted = form.has('client_assertion') || form.has('client_assertion_type');
  const clean = (used: 'basic' | 'post' | 'assertion' | 'nothing'): boolean =>
    (call.headers.authorization !== undefined) === (used === 'basic') &&
    inForm === (used === 'post') &&
    asserted === (used === 'assertion');
  switch (client.method) {
    case 'client_secret_basic':
      return clean('basic') && basic !== undefined && isSame(basic.secret, client.secret)
        ? client
        : undefined;
    case 'client_secret_post':
      return clean('post') && isSame(form.get('client_secret') ?? '', client.secret) ? client : undefined;
    case 'private_key_jwt':
      return clean('assertion') && (await asserts(form, client, known)) ? client : undefined;
    case 'none':
      return clean('nothing') ? client : undefined;
  }
}

/** RFC 6749 section 2.3.1: both halves are form-encoded before they are joined. */
function basicOf(header: string | undefined): { readonly id: string; readonly secret: string } | undefined {
  const [, encoded] = /^Basic ([A-Za-z0-9+/]+={0,2})$/.exec(header ?? '') ?? [];
  if (encoded === undefined) return undefined;
  const [id, secret, ...more] = Buffer.from(encoded, 'base64').toString().split(':');
  if (id === undefined || secret === undefined || more.length > 0) return undefined;
  return { id: formDecoded(id), secret: formDecoded(secret) };
}

const formDecoded = (text: string): string => new URLSearchParams(`v=${text}`).get('v') ?? '';

async function asserts(
  form: URLSearchParams,
  client: Extract<TokenClient, { method: 'private_key_jwt' }>,
  { assertionsSeen, tokenUrl }: TokenClients,
): Promise<boolean> {
  if (form.get('client_assertion_type') !== ASSERTION_TYPE) return false;
  try {
    const { payload } = await jwtVerify(form.get('client_assertion') ?? '', client.publicKey, {
      algorithms: [client.algorithm],
      issuer: client.id,
      subject: client.id,
      audience: tokenUrl,
      requiredClaims: ['exp', 'jti'],
    });
    const id = `${client.id} ${payload.jti}`;
    if (assertionsSeen.has(id)) return false;
    assertionsSeen.add(id);
    return true;
  } catch {
    return false;
  }
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
