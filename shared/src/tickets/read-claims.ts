import { isObject } from '../json.ts';
import { isServiceName } from '../service-name.ts';
import { MAX_LIFETIME_SECONDS, TICKET_SKEW_SECONDS, isHttpMethod } from './claims.ts';
import type { TicketFor, TicketOp, ProxyTicket, StoreTicket, CredentialTicket } from './claims.ts';
import { type TicketRefusalReason, TicketRefused } from './ticket-refused.ts';

type Claims = Readonly<Record<string, unknown>>;
type Common = Omit<StoreTicket, 'op' | 'ifv'>;

/** The expectations for the claims of a ticket. */
export interface ClaimsPolicy<Op extends TicketOp> {
  readonly op: Op;
  readonly issuer: string;
  readonly audience: string;
  readonly nowMs: number;
}

const SUBJECT = /^(?:agt|prx|usr)_[A-Za-z0-9_-]{1,124}$/;
const TICKET_ID = /^[A-Za-z0-9_-]{22,64}$/;
/** RFC 7638: SHA-256 in base64url. */
const THUMBPRINT = /^[A-Za-z0-9_-]{43}$/;
const MAX_ID_CHARACTERS = 128;

/**
 * The claims of a ticket whose MAC holds, as PROTOCOL.md section 4 lists them. Optional claims may be null, which reads
 * as absent (section 2); unknown claims are dropped.
 * @throws TicketRefused
 */
export function readClaims<Op extends TicketOp>(claims: Claims, policy: ClaimsPolicy<Op>): TicketFor<Op>;
export function readClaims(
  claims: Claims,
  policy: ClaimsPolicy<TicketOp>,
): CredentialTicket | StoreTicket | ProxyTicket {
  if (claims['iss'] !== policy.issuer) refuse('issuer');
  if (claims['aud'] !== policy.audience) refuse('audience');
  if (claims['op'] !== policy.op) refuse('operation');
  const common: Common = {
    iss: policy.issuer,
    aud: policy.audience,
    sub: text(claims['sub'], (sub) => SUBJECT.test(sub), 'subject'),
    svc: text(claims['svc'], isServiceName, 'service'),
    jti: text(claims['jti'], (jti) => TICKET_ID.test(jti), 'ticket_id'),
    iat: integer(claims['iat'], 'issued_at'),
    exp: integer(claims['exp'], 'expires_at'),
  };
  checkTimes(common, policy);
  switch (policy.op) {
    case 'credential':
      return readCredential(common, claims);
    case 'store':
      return readStore(common, claims);
    case 'proxy':
      return readProxy(common, claims);
  }
}

function checkTimes({ iat, exp }: Common, policy: ClaimsPolicy<TicketOp>): void {
  const nowSeconds = policy.nowMs / 1000;
  if (exp <= iat || exp - iat > MAX_LIFETIME_SECONDS[policy.op]) refuse('lifetime');
  if (iat > nowSeconds + TICKET_SKEW_SECONDS) refuse('not_yet_valid');
  if (nowSeconds > exp + TICKET_SKEW_SECONDS) refuse('expired');
}

function readCredential(common: Common, claims: Claims): CredentialTicket {
  const gnt = optional(claims['gnt'], (value) => text(value, isIdLike, 'grant'));
  if (gnt === undefined && !common.sub.startsWith('usr_')) refuse('grant');
  const rfp = claims['rfp'];
  if (rfp !== 'none' && rfp !== 'auto') return refuse('refresh_policy');
  const jkt = optional(claims['cnf'], readThumbprint);
  return {
    ...common,
    op: 'credential',
    rfp,
    ...(gnt !== undefined && { gnt }),
    ...(jkt !== undefined && { cnf: { jkt } }),
  };
}

/** A `cnf` may confirm by other means (RFC 7800); without `jkt` it names no recipient, which is like none. */
function readThumbprint(cnf: unknown): string | undefined {
  if (!isObject(cnf)) return refuse('confirmation');
  return optional(cnf['jkt'], (jkt) => text(jkt, (value) => THUMBPRINT.test(value), 'confirmation'));
}

function readStore(common: Common, claims: Claims): StoreTicket {
  const ifv = optional(claims['ifv'], (value) => integer(value, 'if_version'));
  return { ...common, op: 'store', ...(ifv !== undefined && { ifv }) };
}

function readProxy(common: Common, claims: Claims): ProxyTicket {
  return {
    ...common,
    op: 'proxy',
    htm: text(claims['htm'], isHttpMethod, 'method'),
    prx: text(claims['prx'], isIdLike, 'proxy'),
  };
}

function isIdLike(value: string): boolean {
  return value.length > 0 && value.length <= MAX_ID_CHARACTERS;
}

function text(value: unknown, isValid: (text: string) => boolean, reason: TicketRefusalReason): string {
  return typeof value === 'string' && isValid(value) ? value : refuse(reason);
}

function integer(value: unknown, reason: TicketRefusalReason): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : refuse(reason);
}

function optional<T>(value: unknown, read: (value: unknown) => T): T | undefined {
  return value === undefined || value === null ? undefined : read(value);
}

function refuse(reason: TicketRefusalReason): never {
  throw new TicketRefused(reason);
}
