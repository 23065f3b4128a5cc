import type { Logger } from '@svault/server-kit/logger';
import { AppError, type Clock, Secret } from '@svault/shared';
import type { Egress } from '@svault/shared/egress';
import { PROVIDER_CALL_MS } from '../provider/provider-bounds.ts';
import type { Mint } from '../vault/current-credential.ts';
import type { SealedMinter } from '../vault/record.ts';
import type { OpenRecord } from '../vault/vault.ts';
import { mintAwsCredentials } from './aws-sts.ts';
import { mintGcpToken } from './gcp-service-account.ts';
import { mintGithubToken } from './github-app.ts';
import { type MintedFor, createMintedCache } from './minted-cache.ts';
import type { NewCredential } from './minting.ts';
import type { StsEndpoint } from './sts-endpoint.ts';
import { totpCode } from './totp.ts';

/** Mints, and keeps for a while what was minted. */
export interface KeptMint extends Mint {
  /** Drops what nobody can ask for any more; to be called now and then. */
  tidy(liveVersion: (serviceName: string) => number | undefined): void;
}

/**
 * Every kind of credential that is made on demand (protocol section 5.5).
 *
 * @param deps.sts unless the region's public endpoint is to be used
 * @param deps.timeoutMs for one call, 8 s unless given
 */
export function createMint(deps: {
  readonly egress: Pick<Egress, 'request'>;
  readonly sts?: StsEndpoint | undefined;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
  readonly timeoutMs?: number;
}): KeptMint {
  const { egress, sts, clock, logger, timeoutMs = PROVIDER_CALL_MS } = deps;
  const tools = { egress, clock, timeoutMs };
  const cache = createMintedCache({ clock });

  const mint = (minter: SealedMinter, key: Secret, caller: string): Promise<NewCredential> => {
    switch (minter.type) {
      case 'aws-sts':
        return mintAwsCredentials(
          { ...tools, ...(sts !== undefined && { egress: sts.egress }) },
          minter,
          key,
          {
            endpoint: sts?.url,
            caller,
          },
        );
      case 'gcp-service-account':
        return mintGcpToken(tools, minter, key);
      case 'github-app':
        return mintGithubToken(tools, minter, key);
    }
  };

  /** The caller is not told why; the operator, whose provider it is, has to be. */
  const logFailure = (serviceName: string, minter: SealedMinter['type'], error: unknown): void => {
    if (!(error instanceof AppError)) return;
    const { reason } = error;
    logger.warn({ serviceName, minter, reason }, 'a credential could not be minted');
  };

  const atHand: Mint['atHand'] = (record, caller) => {
    const { totp, expiryTime } = record.settings;
    if (totp === undefined) return cache.atHand(mintedFor(record, caller));
    const { code, expiresIn } = totpCode(clock, totp, seedOf(record));
    return { accessToken: code, expiresIn, expiryTime };
  };

  return {
    makes: ({ settings }) => settings.totp !== undefined || settings.minter !== undefined,
    atHand,
    obtain: async (record, caller) => {
      const { minter } = record.settings;
      const found = atHand(record, caller);
      if (found !== undefined) return found;
      if (minter === undefined) throw new RangeError('this record is not made on demand');
      return cache.obtain(mintedFor(record, caller), () =>
        mint(minter, seedOf(record), caller).catch((error: unknown) => {
          logFailure(record.serviceName, minter.type, error);
          throw error;
        }),
      );
    },
    tidy: (liveVersion) => cache.tidy(liveVersion),
  };
}

const mintedFor = ({ serviceName, version }: OpenRecord, caller: string): MintedFor => ({
  serviceName,
  version,
  caller,
});

const seedOf = ({ secret }: OpenRecord): Secret => new Secret(secret.reveal().seed ?? '');
