import type { Logger } from '@svault/server-kit/logger';
import { AppError, type Clock, Secret } from '@svault/shared';
import type { Egress } from '@svault/shared/egress';
import { PROVIDER_CALL_MS } from '../refresh/provider-call.ts';
import { ApiError } from '../errors.ts';
import type { Metrics } from '../metrics.ts';
import type { SealedMinter } from '../vault/record.ts';
import type { OpenRecord } from '../vault/vault.ts';
import { type StsEndpoint, mintAwsCredentials } from './aws-sts.ts';
import { mintGcpToken } from './gcp-service-account.ts';
import { mintGithubToken } from './github-app.ts';
import { type MintedFor, createMintedCache } from './minted-cache.ts';
import type { Minted, NewCredential } from './minter.ts';
import { totpCode } from './totp.ts';

/**
 * Credentials that are made on demand (PROTOCOL.md section 5.5).
 *
 * @param deps.sts undefined for the region's public endpoint
 */
export function createMint(deps: {
  readonly egress: Pick<Egress, 'request'>;
  readonly sts?: StsEndpoint | undefined;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
  readonly metrics: Pick<Metrics, 'mints'>;
}) {
  const { egress, sts, clock, logger, metrics } = deps;
  const tools = { egress, clock, timeoutMs: PROVIDER_CALL_MS };
  const cache = createMintedCache({ clock });

  const mint = (minter: SealedMinter, key: Secret, caller: string): Promise<NewCredential> => {
    switch (minter.type) {
      case 'aws-sts':
        return mintAwsCredentials({ ...tools, egress: sts?.egress ?? egress }, minter, key, {
          endpoint: sts?.url,
          caller,
        });
      case 'gcp-service-account':
        return mintGcpToken(tools, minter, key);
      case 'github-app':
        return mintGithubToken(tools, minter, key);
    }
  };

  /** A TOTP code, or what was minted for this caller and has more than a third of its lifetime left. */
  const atHand = (record: OpenRecord, caller: string): Minted | undefined => {
    const { totp, expiryTime } = record.settings;
    if (totp === undefined) return cache.atHand(mintedFor(record, caller));
    const { code, expiresIn } = totpCode(clock, totp, mintingSecretOf(record));
    return { accessToken: code, expiresIn, expiryTime };
  };

  return {
    /** Whether this record's `accessToken` is made, and not stored. */
    makes: ({ settings }: OpenRecord): boolean =>
      settings.totp !== undefined || settings.minter !== undefined,
    atHand,
    /** @throws ApiError MINT_FAILED, PROVIDER_TIMEOUT */
    obtain: async (record: OpenRecord, caller: string): Promise<Minted> => {
      const { minter } = record.settings;
      const found = atHand(record, caller);
      if (found !== undefined) return found;
      if (minter === undefined) throw new RangeError('this record is not made on demand');
      const count = (outcome: string): void => metrics.mints({ minter: minter.type, outcome });
      return cache.obtain(mintedFor(record, caller), async () => {
        try {
          const minted = await mint(minter, mintingSecretOf(record), caller);
          count('minted');
          return minted;
        } catch (error) {
          count(error instanceof ApiError ? error.code : 'other');
          // The caller is not told the reason; the operator, whose provider it is, needs it.
          if (error instanceof AppError) {
            const { serviceName } = record;
            const reason = error.reason;
            logger.warn({ serviceName, minter: minter.type, reason }, 'a credential could not be minted');
          }
          throw error;
        }
      });
    },
    tidy: cache.tidy,
  };
}

export type Mint = ReturnType<typeof createMint>;

const mintedFor = ({ serviceName, version }: OpenRecord, caller: string): MintedFor => ({
  serviceName,
  version,
  caller,
});

const mintingSecretOf = ({ secret }: OpenRecord): Secret => new Secret(secret.reveal().seed ?? '');
