import { createHmac } from 'node:crypto';
import { randomToken, toBase64url, utf8 } from '@svault/shared';
import type { Target } from '../target.ts';

/** Where a ticket departs from protocol section 4. `undefined` as a value leaves the member out. */
export interface TicketDeviation {
  readonly header?: Readonly<Record<string, unknown>>;
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly secret?: Uint8Array;
}

const CREDENTIAL_LIFETIME_SECONDS = 60;
const STORE_LIFETIME_SECONDS = 300;

/** Issues a ticket for a record, rightly or with a deviation; the MAC always fits header and claims. */
export function forgeTicket(
  target: Target,
  op: 'credential' | 'store',
  serviceName: string,
  deviation: TicketDeviation = {},
): string {
  const now = Math.floor(Date.now() / 1000);
  const lifetime = op === 'store' ? STORE_LIFETIME_SECONDS : CREDENTIAL_LIFETIME_SECONDS;
  const header = { alg: 'HS256', typ: 'sv-ticket+jwt', kid: target.key.id, ...deviation.header };
  const claims = {
    iss: target.serviceUrl,
    aud: target.webhookId,
    sub: op === 'store' ? 'usr_conformance' : 'agt_conformance',
    op,
    svc: serviceName,
    jti: randomToken(),
    iat: now,
    exp: now + lifetime,
    ...(op === 'credential' && { gnt: 'grt_conformance', rfp: 'none' }),
    ...deviation.claims,
  };
  const signingInput = [header, claims].map((part) => toBase64url(utf8(JSON.stringify(part)))).join('.');
  const mac = createHmac('sha256', deviation.secret ?? target.key.secret)
    .update(utf8(signingInput))
    .digest();
  return `${signingInput}.${toBase64url(mac)}`;
}
