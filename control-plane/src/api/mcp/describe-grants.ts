import type { Id } from '@svault/shared';
import type { ListedGrant } from '../../access/subject.ts';
import type { TokenMetadata, TokenStore } from '../../core/token.ts';
import type { WebhookRecords, WebhookToken } from '../../webhook/token-metadata.ts';

/** A grant with its token's metadata and the webhook's record. */
export interface DescribedGrant {
  readonly grant: ListedGrant;
  /** Undefined where the account has no token of that name. */
  readonly token: TokenMetadata | undefined;
  /** Undefined where the webhook holds none, or did not respond in time. */
  readonly record: WebhookToken | undefined;
}

/** In the order given. Never waits for the webhook longer than `WebhookRecords` does. */
export type DescribeGrants = (
  vaultId: Id<'vlt'>,
  grants: readonly ListedGrant[],
) => Promise<readonly DescribedGrant[]>;

/** The longest batch that the webhook takes (PROTOCOL.md section 5.3); of a longer list only these are looked up. */
const MAX_RECORDS = 100;

/** Specification, "Grant list entry enriched by MCP tools": one call to the webhook for all, which may fail. */
export function createDescribeGrants(options: {
  readonly tokens: Pick<TokenStore, 'ofServices'>;
  readonly records: Pick<WebhookRecords, 'lookUp'>;
}): DescribeGrants {
  const { tokens, records } = options;
  return async (vaultId, grants) => {
    const names = grants.map(({ serviceName }) => serviceName);
    const [known, held] = await Promise.all([
      tokens.ofServices(vaultId, names),
      records.lookUp(vaultId, names.slice(0, MAX_RECORDS)),
    ]);
    const byName = new Map(known.map((token) => [token.serviceName, token]));
    return grants.map((grant) => ({
      grant,
      token: byName.get(grant.serviceName),
      record: held.get(grant.serviceName),
    }));
  };
}
