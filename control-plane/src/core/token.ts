import type { Id } from '@svault/shared';
import type { TokenType } from '@svault/shared/schemas';

/** What the service knows of a stored credential: how its owner describes it. The credential is the webhook's. */
export interface TokenMetadata {
  readonly vaultId: Id<'vlt'>;
  readonly serviceName: string;
  readonly tokenType: TokenType;
  readonly displayName: string;
  readonly description: string;
  readonly notes: string;
  readonly tags: readonly string[];
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Since when upstreams of proxies answer 401 to it; undefined where the last use that was answered was fine. */
  readonly upstreamRejectedAt?: string | undefined;
}

/** What an owner may change; undefined members stay as they are. */
export interface TokenChanges {
  readonly displayName?: string | undefined;
  readonly description?: string | undefined;
  readonly notes?: string | undefined;
  readonly tags?: readonly string[] | undefined;
}
