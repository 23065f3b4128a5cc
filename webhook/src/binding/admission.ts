import type { GroupCommit } from '@svault/server-kit/group-commit';
import { type ClaimStore, nonceClaimId, ticketClaimId } from '../replay/claim-store.ts';
import type { TimeFloor } from '../replay/time-floor.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { BindingStore, KeyState } from './binding-store.ts';

/** Protocol section 5.1: so long the key before the current one still holds. */
const FORMER_KEY_MS = 10 * 60_000;
/** The floor is written with a claim when it rose by this much: a second's worth may be lost by a kill. */
const FLOOR_SAVE_MS = 1_000;

/**
 * `replayed`: claimed before. `key_gone`: the key was erased or changed its state since it was looked up.
 * `below_time_floor`: its time ended since it was looked at, so that a former claim of its id may be forgotten by now.
 */
export type Admission = 'admitted' | 'replayed' | 'key_gone' | 'below_time_floor';

/** Takes in what was verified: durably once, and only under a key that still stands at that moment. */
export interface AdmissionDesk {
  /**
   * Claims the nonce of a verified request and makes its key current if it was pending, in one commit.
   * Resolves after the fsync.
   */
  admitRequest(request: VerifiedRequest): Promise<Admission>;
  /** As {@link AdmissionDesk.admitRequest}, inside an open transaction. It never throws on a refusal. */
  admitRequestNow(request: VerifiedRequest): Admission;
  /**
   * Uses a verified ticket up, inside an open transaction, so that the claim and what the ticket is for become
   * durable together. It never throws on a refusal: other works share the transaction.
   */
  admitTicketNow(ticket: VerifiedTicketId): Admission;
  /** As {@link AdmissionDesk.admitTicketNow}, in the next group commit. Resolves after the fsync. */
  admitTicket(ticket: VerifiedTicketId): Promise<Admission>;
}

export interface VerifiedRequest {
  readonly keyId: string;
  /** In which the key was when the MAC was checked. */
  readonly keyState: KeyState;
  readonly nonce: string;
  /** What it proves of the time (see TimeFloor.confirm), milliseconds since 1970. */
  readonly confirmedMs: number;
  /** How long the nonce is remembered, milliseconds since 1970. */
  readonly untilMs: number;
}

export interface VerifiedTicketId {
  readonly keyId: string;
  readonly jti: string;
  /** How long the id is remembered, milliseconds since 1970. */
  readonly untilMs: number;
}

export function createAdmissionDesk(deps: {
  readonly bindings: Pick<BindingStore, 'keyState' | 'binding' | 'activatePendingKey'>;
  readonly claims: Pick<ClaimStore, 'claim'>;
  readonly floor: TimeFloor;
  readonly commit: GroupCommit;
  readonly audit: Pick<AuditLog, 'appendNow'>;
}): AdmissionDesk {
  const { bindings, claims, floor, commit, audit } = deps;

  const activatePendingKey = (keyId: string): void => {
    const rotated = bindings.binding()?.complete === true;
    bindings.activatePendingKey(floor.latestMs() + FORMER_KEY_MS);
    const eventType = rotated ? 'WEBHOOK_SECRET_ROTATED' : 'WEBHOOK_BOUND';
    audit.appendNow({ eventType, outcome: 'success', detail: { keyId } });
  };

  /** In the transaction that claims, since the sweep may have run between the look at the floor and this commit. */
  const claimNow = (id: string, untilMs: number): Admission => {
    if (untilMs < floor.nowMs()) return 'below_time_floor';
    return claims.claim(id, untilMs) ? 'admitted' : 'replayed';
  };

  const admitRequestNow = ({ keyId, keyState, nonce, untilMs, confirmedMs }: VerifiedRequest): Admission => {
    const stateNow = bindings.keyState(keyId);
    if (!leadsTo(keyState, stateNow)) return 'key_gone';
    const admission = claimNow(nonceClaimId(keyId, nonce), untilMs);
    if (admission !== 'admitted') return admission;
    if (stateNow === 'pending') activatePendingKey(keyId);
    floor.confirm(confirmedMs);
    floor.saveIfRisen(FLOOR_SAVE_MS);
    return 'admitted';
  };

  const admitTicketNow = ({ keyId, jti, untilMs }: VerifiedTicketId): Admission => {
    const stateNow = bindings.keyState(keyId);
    if (stateNow !== 'current' && stateNow !== 'former') return 'key_gone';
    const admission = claimNow(ticketClaimId(jti), untilMs);
    if (admission !== 'admitted') return admission;
    floor.saveIfRisen(FLOOR_SAVE_MS);
    return 'admitted';
  };

  return {
    admitRequest: (request) => commit.run(() => admitRequestNow(request)),
    admitRequestNow,
    admitTicketNow,
    admitTicket: (ticket) => commit.run(() => admitTicketNow(ticket)),
  };
}

/** Between the look-up and the commit another request may have activated the key, or a rotation retired it. */
function leadsTo(before: KeyState, now: KeyState | undefined): boolean {
  if (now === undefined) return false;
  return (
    now === before ||
    (before === 'pending' && now === 'current') ||
    (before === 'current' && now === 'former')
  );
}
