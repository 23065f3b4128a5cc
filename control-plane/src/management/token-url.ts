import { isIP } from 'node:net';
import { parseAllowList } from '@svault/shared/egress';

/** As for a proxy's upstream (contract.md, "Proxy"): what is named so in a query would be a secret kept in the open. */
const SECRET_NAME = /key|token|secret|password|sig/i;

/** What is wrong with a provider's address, as the end of a sentence; undefined where nothing is. */
export type TokenUrlRule = (tokenUrl: string) => string | undefined;

/**
 * The address is compared byte for byte and called by nobody here; but a client secret goes out for it.
 *
 * @param allow entries of `SV_EGRESS_ALLOW`: `http:` is for what they name alone (protocol.md section 6). Where a name leads
 *   is looked at by the webhook when it calls
 * @returns a rule for http(s) addresses without userinfo and fragment (`outgoingUrlSchema`)
 */
export function createTokenUrlRule(allow: readonly string[]): TokenUrlRule {
  const named = parseAllowList(allow);
  return (tokenUrl) => {
    const url = new URL(tokenUrl);
    const host = url.hostname.replaceAll(/^\[|\]$/g, '');
    const mayBePlain = isIP(host) === 0 ? allow.length > 0 : named.namesHost(host);
    if (url.protocol !== 'https:' && !mayBePlain) return 'must start with https://';
    if ([...url.searchParams.keys()].some((name) => SECRET_NAME.test(name)))
      return 'must have no secret in its query';
    return undefined;
  };
}
