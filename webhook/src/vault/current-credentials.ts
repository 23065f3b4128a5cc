import { canonicalJson } from '@svault/server-kit/hash-chain';
import { type Clock, Secret, parseTime } from '@svault/shared';
import { refusal } from '../errors.ts';
import type { RefreshMarks } from './refresh-marks.ts';
import { type Refresh, refreshNeeded, refreshRefusal } from '../refresh/refresh.ts';
import { isRefreshable } from '../refresh/grant.ts';
import type { CurrentCredential, CurrentCredentials, Mint } from './current-credential.ts';
import type { SealedSettings } from './record.ts';
import type { OpenRecord, Vault } from './vault.ts';

/** Protocol section 5.4: expired means that the expiry is at most this far away. */
const EXPIRY_MARGIN_MS = 30_000;
/** Each round after the first finds a record that somebody else has just changed. */
const ROUNDS = 3;

/** Current credentials over the webhook's own refreshes and its minters. */
export function createCurrentCredentials(deps: {
  readonly vault: Pick<Vault, 'open'>;
  readonly marks: Pick<RefreshMarks, 'get'>;
  readonly refresh: Pick<Refresh, 'own'>;
  readonly mint?: Mint | undefined;
  readonly clock: Pick<Clock, 'now'>;
}): CurrentCredentials {
  const { vault, marks, refresh, mint, clock } = deps;

  /** Protocol section 5.4: an expired token goes out only where nothing could refresh it. */
  const isStale = (record: OpenRecord): boolean => {
    const { expiryTime } = record.settings;
    const expiryMs = expiryTime === undefined ? undefined : parseTime(expiryTime);
    return expiryMs !== undefined && expiryMs - clock.now() <= EXPIRY_MARGIN_MS && isRefreshable(record);
  };
  /** What is known without a call: such a token is not refreshed here. */
  const refuseUnrefreshable = ({ serviceName, version, settings }: OpenRecord): void => {
    if (marks.get(serviceName, version) === 'reauth_needed')
      throw refreshRefusal({ outcome: 'reauth_needed' });
    if (settings.provider?.mediated === true) throw refreshNeeded();
  };

  /** @param asked what the caller decided on: a record with other restrictions is not for that decision */
  const refreshed = async (asked: OpenRecord): Promise<CurrentCredential> => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const live = vault.open(asked.serviceName);
      if (live === undefined || !hasSameRestrictions(live.settings, asked.settings)) throw changedMeanwhile();
      refuseEmpty(live);
      if (!isStale(live)) return asStored(live);
      refuseUnrefreshable(live);
      const result = await refresh.own(live.serviceName, live.version, 'use');
      if (result.outcome === 'refreshed') {
        if (!hasSameRestrictions(result.record.settings, asked.settings)) throw changedMeanwhile();
        return asStored(result.record);
      }
      if (result.outcome !== 'changed') throw refreshRefusal(result);
    }
    throw changedMeanwhile();
  };

  /** Minting takes seconds, in which an owner may have deleted the record, or stored one with other restrictions. */
  const minted = async (by: Mint, record: OpenRecord, caller: string): Promise<CurrentCredential> => {
    const made = await by.obtain(record, caller);
    if (vault.open(record.serviceName)?.version !== record.version) throw changedMeanwhile();
    return { record, ...made };
  };

  return {
    atHand: (record, caller) => {
      refuseEmpty(record);
      if (mint?.makes(record) === true) {
        const kept = mint.atHand(record, caller);
        return kept && { record, ...kept };
      }
      if (!isStale(record)) return asStored(record);
      refuseUnrefreshable(record);
      return undefined;
    },
    obtain: async (record, caller) => {
      refuseEmpty(record);
      return mint?.makes(record) === true ? minted(mint, record, caller) : refreshed(record);
    },
  };
}

function asStored(record: OpenRecord): CurrentCredential {
  const { expiryTime } = record.settings;
  return {
    record,
    accessToken: new Secret(record.secret.reveal().accessToken),
    ...(expiryTime !== undefined && { expiryTime }),
  };
}

function refuseEmpty({ settings }: OpenRecord): void {
  if (settings.empty) throw refusal('EMPTY_TOKEN', 'the credential is empty');
}

const changedMeanwhile = (): Error =>
  refusal('VERSION_CONFLICT', 'the credential was replaced at this moment; ask again');

/** Whether two versions may go to the same places: all that is sealed, but for what a refresh changes. */
function hasSameRestrictions(one: SealedSettings, other: SealedSettings): boolean {
  return one === other || restrictionsOf(one) === restrictionsOf(other);
}

function restrictionsOf(settings: SealedSettings): string {
  const { expiryTime: _expiryTime, empty: _empty, hasRefreshToken: _has, ...restrictions } = settings;
  return canonicalJson(restrictions);
}
