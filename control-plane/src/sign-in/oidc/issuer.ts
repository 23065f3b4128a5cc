import { parseJsonObject } from '@svault/shared';
import type { Egress } from '@svault/shared/egress';

/** Metadata are a few KiB. */
const MAX_BYTES = 256 * 1024;
const SHOWN_CHARACTERS = 200;

/**
 * OpenID Connect Discovery 1.0 section 4.3: the issuer in the metadata is exactly the configured one. The library compares
 * parsed URLs and makes exceptions, such as Microsoft's `…/common/v2.0`, which authenticates users of every tenant.
 * @param stated by the provider
 * @returns a message for the operator; undefined where the two are the same
 */
export function issuerProblem(configured: string, stated: string): string | undefined {
  if (stated === configured) return undefined;
  const shown = JSON.stringify(stated.slice(0, SHOWN_CHARACTERS));
  return `SV_OIDC_ISSUER is ${JSON.stringify(configured)}, and the identity provider says that its issuer is ${shown}; they must be the same, a slash at the end included`;
}

/** The issuer in the provider's metadata, without the library, which takes 8 MiB. @throws Error where there is none */
export async function statedIssuer(
  egress: Pick<Egress, 'request'>,
  issuer: string,
  timeoutMs: number,
): Promise<string> {
  // Section 4.1: a terminating slash is removed first.
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const { status, body } = await egress.request({
    method: 'GET',
    url,
    headers: { accept: 'application/json' },
    timeoutMs,
    maxBytes: MAX_BYTES,
  });
  if (status !== 200) throw new Error(`the identity provider answers ${status} for its metadata`);
  const { issuer: stated } = parseJsonObject(body, { numbers: 'any' });
  if (typeof stated !== 'string') throw new Error('the metadata of the identity provider name no issuer');
  return stated;
}
