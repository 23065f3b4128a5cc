import { createHmac } from 'node:crypto';
import { randomToken, toBase64url, utf8, type TicketOp } from '@svault/shared';
import type { Target } from '../target.ts';

/** Where a ticket departs from protocol section 4. `undefined` as a value leaves the member out. */
export interface TicketDeviation {
  readonly header?: Readonly<Record<string, unknown>>;
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly secret?: Uint8Array;
  /** Of the MAC; SHA-256 where it is absent. */
  readonly hash?: 'sha256' | 'sha512';
  /** Rewrites the text of the header or of the claims; the MAC covers what comes out. */
  readonly headerText?: (json: string) => string;
  readonly claimsText?: (json: string) => string | Uint8Array;
  /** Rewrites a part once it is encoded; the MAC covers what comes out. */
  readonly part?: (encoded: string) => string;
}

/** Protocol section 4: how long a ticket may live. */
const LIFETIME_SECONDS = { credential: 60, proxy: 60, store: 300 } as const;
const SUBJECT = {
  credential: 'agt_conformance',
  proxy: 'prx_conformance',
  store: 'usr_conformance',
} as const;

const same = (text: string): string => text;

/** Issues a ticket for a record, rightly or with a deviation; the MAC always fits header and claims. */
export function forgeTicket(
  target: Target,
  op: TicketOp,
  serviceName: string,
  deviation: TicketDeviation = {},
): string {
  const { headerText = same, claimsText = same, part = same, hash = 'sha256' } = deviation;
  const now = Math.floor(Date.now() / 1000);
  const header = { alg: 'HS256', typ: 'sv-ticket+jwt', kid: target.key.id, ...deviation.header };
  const claims = {
    iss: target.serviceUrl,
    aud: target.webhookId,
    sub: SUBJECT[op],
    op,
    svc: serviceName,
    jti: randomToken(),
    iat: now,
    exp: now + LIFETIME_SECONDS[op],
    ...(op === 'credential' && { gnt: 'grt_conformance', rfp: 'none' }),
    ...deviation.claims,
  };
  const written = [headerText(JSON.stringify(header)), claimsText(JSON.stringify(claims))];
  const signingInput = written
    .map((text) => part(toBase64url(typeof text === 'string' ? utf8(text) : text)))
    .join('.');
  const mac = createHmac(hash, deviation.secret ?? target.key.secret)
    .update(utf8(signingInput))
    .digest();
  return `${signingInput}.${part(toBase64url(mac))}`;
}
