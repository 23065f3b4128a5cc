import { canonicalJson } from '@svault/shared/audit-chain';
import { type Clock, Secret, parseTime } from '@svault/shared';
import { ApiError } from '../errors.ts';
import type { Mint } from '../mint/mint.ts';
import type { Minted } from '../mint/minter.ts';
import { type Refresh, isRefreshable, mustBeRefreshedHere, refreshRefusal } from '../refresh/refresh.ts';
import type { RefreshMarks } from '../vault/record-store.ts';
import type { SealedSettings } from '../vault/record.ts';
import type { OpenRecord, Vault } from '../vault/vault.ts';

/** What a record gives at this moment: refreshed, minted, or as it was stored. */
export interface CurrentCredential extends Minted {
  /** Has a later version than the given one if it was refreshed. */
  readonly record: OpenRecord;
}

/** PROTOCOL.md section 5.4: a token is expired if its expiry is at most this far away. */
const EXPIRY_MARGIN_MS = 30_000;
/** Each round after the first finds a record that was just changed. */
const ROUNDS = 3;

/** The credential that an open record gives now (PROTOCOL.md sections 5.4 and 5.6). */
export function createCurrentCredentials(deps: {
  readonly vault: Pick<Vault, 'open'>;
  readonly marks: Pick<RefreshMarks, 'get'>;
  readonly refresh: Pick<Refresh, 'own'>;
  readonly mint: Pick<Mint, 'makes' | 'atHand' | 'obtain'>;
  readonly clock: Pick<Clock, 'now'>;
}) {
  const { vault, marks, refresh, mint, clock } = deps;

  /** PROTOCOL.md section 5.4: an expired token is delivered only if nothing could refresh it. */
  const isStale = (record: OpenRecord): boolean => {
    const { expiryTime } = record.settings;
    const expiryMs = expiryTime === undefined ? undefined : parseTime(expiryTime);
    return expiryMs !== undefined && expiryMs - clock.now() <= EXPIRY_MARGIN_MS && isRefreshable(record);
  };

  /** @param asked the record that the caller decided on: the decision does not hold for other restrictions */
  const refreshed = async (asked: OpenRecord): Promise<CurrentCredential> => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const live = vault.open(asked.serviceName);
      if (live === undefined || !hasSameRestrictions(live.settings, asked.settings)) throw changedMeanwhile();
      mustNotBeEmpty(live);
      if (!isStale(live)) return asStored(live);
      mustBeRefreshedHere(live, marks);
      const result = await refresh.own(live.serviceName, live.version, 'use');
      if (result.outcome === 'refreshed') {
        if (!hasSameRestrictions(result.record.settings, asked.settings)) throw changedMeanwhile();
        return asStored(result.record);
      }
      if (result.outcome !== 'changed') throw refreshRefusal(result);
    }
    throw changedMeanwhile();
  };

  return {
    /**
     * Without a call: undefined if a provider or minter must be called.
     *
     * @throws ApiError EMPTY_TOKEN, REFRESH_NEEDED (with `retryAfter`), REAUTH_NEEDED
     */
    atHand: (record: OpenRecord, caller: string): CurrentCredential | undefined => {
      mustNotBeEmpty(record);
      if (mint.makes(record)) {
        const cached = mint.atHand(record, caller);
        return cached && { record, ...cached };
      }
      if (!isStale(record)) return asStored(record);
      mustBeRefreshedHere(record, marks);
      return undefined;
    },
    /**
     * Calls the provider or minter if needed, once for all callers that wait.
     *
     * @param caller the ticket's `sub`: minted credentials are cached for each
     * @returns for the record that is live by then; of its sealed settings only the expiry may differ from the given
     *   one's
     * @throws ApiError EMPTY_TOKEN, REFRESH_NEEDED (with `retryAfter`), REAUTH_NEEDED, PROVIDER_ERROR,
     *   PROVIDER_TIMEOUT, MINT_FAILED, RATE_LIMITED (with `retryAfter`), VERSION_CONFLICT if the record was replaced or
     *   deleted meanwhile
     */
    obtain: async (record: OpenRecord, caller: string): Promise<CurrentCredential> => {
      mustNotBeEmpty(record);
      if (!mint.makes(record)) return refreshed(record);
      const minted = await mint.obtain(record, caller);
      // Minting takes seconds, in which the owner may have deleted the record or changed its restrictions.
      if (vault.open(record.serviceName)?.version !== record.version) throw changedMeanwhile();
      return { record, ...minted };
    },
  };
}

export type CurrentCredentials = ReturnType<typeof createCurrentCredentials>;

function asStored(record: OpenRecord): CurrentCredential {
  const { expiryTime } = record.settings;
  return {
    record,
    accessToken: new Secret(record.secret.reveal().accessToken),
    ...(expiryTime !== undefined && { expiryTime }),
  };
}

function mustNotBeEmpty({ settings }: OpenRecord): void {
  if (settings.empty) throw new ApiError('EMPTY_TOKEN', 'the credential is empty');
}

const changedMeanwhile = (): Error =>
  new ApiError('VERSION_CONFLICT', 'the credential was replaced at this moment; ask again');

/** Whether two versions may go to the same places: compares all that is sealed, except what a refresh changes. */
function hasSameRestrictions(one: SealedSettings, other: SealedSettings): boolean {
  return one === other || restrictionsOf(one) === restrictionsOf(other);
}

function restrictionsOf(settings: SealedSettings): string {
  const { expiryTime: _expiryTime, empty: _empty, hasRefreshToken: _has, ...restrictions } = settings;
  return canonicalJson(restrictions);
}
