import type { GroupCommit } from '@svault/server-kit/group-commit';
import type { AuditLog } from '../audit/audit-log.ts';
import type { BindingStore, KeyState } from '../binding/binding-store.ts';
import type { TimeFloor } from './time-floor.ts';

/** Where nonces and ticket ids are claimed. Calls are synchronous and take part in an open transaction. */
export interface ClaimStore {
  /**
   * True at most once per id, over all processes that share the store and over restarts, once the transaction is
   * committed; then false until the claim is forgotten.
   *
   * @param untilMs no message with this id is accepted after it, milliseconds since 1970
   */
  claim(id: string, untilMs: number): boolean;
  /** Forgets at most `limit` claims whose `untilMs` lies before a moment; returns how many. */
  forget(beforeMs: number, limit: number): number;
}

/** PROTOCOL.md section 5.1: how long the former key remains valid. */
const FORMER_KEY_MS = 10 * 60_000;
/** A claim writes the time floor that rose by this much: a kill loses a second at most. */
const FLOOR_SAVE_MS = 1_000;
/** Claims forgotten per transaction: about a millisecond in which no request is served. */
const FORGET_BATCH = 500;
/** How often an idle webhook writes its time floor. */
const IDLE_SAVE_MS = 60_000;

/**
 * `replayed`: claimed before. `key_gone`: the key was erased or changed its state since it was looked up.
 * `below_time_floor`: the message expired since it was verified, so an earlier claim of its id may be forgotten.
 */
export type ClaimOutcome = 'claimed' | 'replayed' | 'key_gone' | 'below_time_floor';

export interface VerifiedRequest {
  readonly keyId: string;
  /** The state of the key when the MAC was checked. */
  readonly keyState: KeyState;
  readonly nonce: string;
  /** See {@link TimeFloor.confirm}, milliseconds since 1970. */
  readonly confirmedMs: number;
  /** How long the nonce is remembered, milliseconds since 1970. */
  readonly untilMs: number;
}

/**
 * Accepts a verified message once, under a key that is still valid. Calls take part in an open transaction, so that
 * the claim and what the message is for become durable together. They do not throw on a rejection, since other work
 * shares the transaction.
 */
export function createClaimOnce(deps: {
  readonly bindings: Pick<BindingStore, 'keyState' | 'binding' | 'activatePendingKey'>;
  readonly claims: Pick<ClaimStore, 'claim'>;
  readonly floor: TimeFloor;
  readonly audit: Pick<AuditLog, 'appendNow'>;
}) {
  const { bindings, claims, floor, audit } = deps;

  /** Compares with the floor in the transaction that claims: claims may be forgotten after the first comparison. */
  const claim = (id: string, untilMs: number): ClaimOutcome => {
    if (untilMs < floor.nowMs()) return 'below_time_floor';
    return claims.claim(id, untilMs) ? 'claimed' : 'replayed';
  };
  const activatePendingKey = (keyId: string): void => {
    const rotated = bindings.binding()?.complete === true;
    bindings.activatePendingKey(floor.latestMs() + FORMER_KEY_MS);
    const eventType = rotated ? 'WEBHOOK_SECRET_ROTATED' : 'WEBHOOK_BOUND';
    audit.appendNow({ eventType, outcome: 'success', detail: { keyId } });
  };

  return {
    /** Claims a request's nonce and makes its key current if it was pending. */
    request: ({ keyId, keyState, nonce, untilMs, confirmedMs }: VerifiedRequest): ClaimOutcome => {
      const stateNow = bindings.keyState(keyId);
      if (!leadsTo(keyState, stateNow)) return 'key_gone';
      // A nonce counts per key (PROTOCOL.md section 3).
      const outcome = claim(`nonce ${keyId} ${nonce}`, untilMs);
      if (outcome !== 'claimed') return outcome;
      if (stateNow === 'pending') activatePendingKey(keyId);
      floor.confirm(confirmedMs);
      floor.saveIfRisen(FLOOR_SAVE_MS);
      return outcome;
    },
    /** Claims a ticket's id, which is remembered until then (milliseconds since 1970). */
    ticket: ({
      keyId,
      jti,
      untilMs,
    }: Pick<VerifiedRequest, 'keyId' | 'untilMs'> & { readonly jti: string }) => {
      const stateNow = bindings.keyState(keyId);
      if (stateNow !== 'current' && stateNow !== 'former') return 'key_gone';
      // A ticket id counts for the webhook as a whole (PROTOCOL.md section 4).
      const outcome = claim(`ticket ${jti}`, untilMs);
      if (outcome === 'claimed') floor.saveIfRisen(FLOOR_SAVE_MS);
      return outcome;
    },
  };
}

export type ClaimOnce = ReturnType<typeof createClaimOnce>;

/** Between the look-up and the commit another request may have activated the key, or a rotation retired it. */
function leadsTo(before: KeyState, now: KeyState | undefined): boolean {
  if (now === undefined) return false;
  return (
    now === before ||
    (before === 'pending' && now === 'current') ||
    (before === 'current' && now === 'former')
  );
}

/**
 * Forgets every claim below the time floor. The same transaction writes the floor, so a forgotten claim stays rejected
 * after a restart and when the clock is set back.
 */
export async function forgetExpiredClaims(deps: {
  readonly claims: Pick<ClaimStore, 'forget'>;
  readonly floor: TimeFloor;
  readonly commit: GroupCommit;
}): Promise<void> {
  const { claims, floor, commit } = deps;
  const forgetBatch = (): boolean => {
    const forgotten = claims.forget(floor.nowMs(), FORGET_BATCH);
    if (forgotten > 0) floor.save();
    else floor.saveIfRisen(IDLE_SAVE_MS);
    return forgotten === FORGET_BATCH;
  };
  while (await commit.run(forgetBatch));
}
