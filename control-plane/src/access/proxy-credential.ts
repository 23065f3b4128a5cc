import { hashKey, isWellFormedKey } from '@svault/shared';

/**
 * What a proxy is known by, as it is kept and looked up: never the key itself.
 *
 * @returns undefined where the text has not the form of a proxy's key, `mcp_…`
 */
export const proxyKeyHash = (text: string): string | undefined =>
  isWellFormedKey('mcp', text) ? hashKey(text) : undefined;
