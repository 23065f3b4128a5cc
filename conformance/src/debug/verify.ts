import { createHmac } from 'node:crypto';
import {
  contentDigest,
  fromBase64url,
  parseSignature,
  signatureBase,
  SignatureRefused,
  toBase64,
  utf8,
  verifySignature,
  type HmacKey,
  type ParsedSignature,
  type SignedMessage,
} from '@svault/shared';
import { baseLines, indent } from '../report/failure-text.ts';
import { shownTickets } from '../report/shown-tickets.ts';
import { receivedAt } from './received-at.ts';
import { REFUSED_BY } from './refused-by.ts';
import type { HttpMessage } from './http-message.ts';

/** What a webhook at an address makes of a request. */
export interface Examination {
  /** The requirement that refuses it; nothing: it is accepted. */
  readonly refusedBy: string | undefined;
  readonly lines: readonly string[];
}

const SKEW_SECONDS = 30;
const MAX_LIFETIME_SECONDS = 60;

/**
 * Verifies a request as protocol section 3 says, and shows each step. Whether the nonce was used before is not looked at.
 * @param options.webhookUrl one that `parseWebhookUrl` takes
 * @param options.nowMs the webhook's clock, milliseconds since 1970
 */
export function examine(
  request: HttpMessage,
  options: { readonly key: HmacKey; readonly webhookUrl: string; readonly nowMs: number },
): Examination {
  const { key, nowMs } = options;
  const { message, notes } = receivedAt(options.webhookUrl, request);
  const lines = [...notes.map((note) => `note: ${note}`)];
  let refused: SignatureRefused | 'key' | undefined;
  try {
    const parsed = parseSignature(message);
    lines.push(...macLines(message, parsed, key), ...timeLines(parsed, nowMs), ...digestLines(message));
    if (parsed.keyId === key.id) {
      verifySignature(message, parsed, {
        key: key.secret,
        nowMs,
        skewSeconds: SKEW_SECONDS,
        maxLifetimeSeconds: MAX_LIFETIME_SECONDS,
      });
    } else {
      lines.push(`keyid is ${parsed.keyId}, and the key that was given is ${key.id}`);
      refused = 'key';
    }
  } catch (error) {
    if (!(error instanceof SignatureRefused)) throw error;
    refused = error;
  }
  lines.push(...ticketLines(request, key));
  const [refusedBy, meaning] = reasonOf(refused, message);
  lines.push(
    refusedBy === undefined
      ? 'accepted, unless the nonce was used before'
      : `refused by ${refusedBy}: ${meaning}`,
  );
  return { refusedBy, lines };
}

function reasonOf(
  refused: SignatureRefused | 'key' | undefined,
  { headers }: SignedMessage,
): readonly [refusedBy: string | undefined, meaning: string] {
  if (refused === undefined) return [undefined, ''];
  if (refused === 'key') return ['SIG-44', 'keyid names no key that is known'];
  const [requirement, meaning] = REFUSED_BY[refused.reason];
  const list = headers.find(([name]) => name.toLowerCase() === 'signature-input')?.[1] ?? '';
  // The list says which of two requirements it is.
  if (refused.reason === 'component_unknown' && /^sv=\([^)]*[A-Z]/.test(list))
    return ['SIG-24', 'a component is not in lower case'];
  if (refused.reason === 'label' && /(^|[,\s])sv($|[=;,])/.test(list))
    return ['SIG-27', 'Signature-Input has one member, sv=(…)…'];
  const mac = headers.find(([name]) => name.toLowerCase() === 'signature')?.[1] ?? '';
  if (refused.reason === 'signature_malformed' && !/^sv=:[^:]*:$/.test(mac))
    return ['SIG-27', 'Signature has one member, sv=:…:'];
  return [requirement, meaning];
}

function macLines(message: SignedMessage, parsed: ParsedSignature, key: HmacKey): readonly string[] {
  const base = signatureBase(message, parsed.covered, parsed.signatureParams);
  const right = createHmac('sha256', key.secret).update(utf8(base)).digest();
  return [
    ...baseLines(base),
    `expected MAC: ${toBase64(right)}`,
    `received MAC: ${toBase64(parsed.mac)}${right.equals(parsed.mac) ? ' (equal)' : ' (not equal)'}`,
  ];
}

function timeLines({ created, expires }: ParsedSignature, nowMs: number): readonly string[] {
  const now = nowMs / 1000;
  return [
    `created: ${shownTime(created)}, ${relative(created - now)}`,
    `expires: ${shownTime(expires)}, ${relative(expires - now)}, ${expires - created} seconds after created`,
    `now:     ${shownTime(now)}; ${SKEW_SECONDS} seconds of difference are allowed either way`,
  ];
}

/** ISO, where the number is a time at all. */
function shownTime(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? String(seconds) : `${seconds} (${date.toISOString()})`;
}

function relative(seconds: number): string {
  const whole = Math.round(Math.abs(seconds));
  return seconds >= 0 ? `in ${whole} seconds` : `${whole} seconds ago`;
}

function digestLines({ headers, body }: SignedMessage): readonly string[] {
  const received = headers.filter(([name]) => name.toLowerCase() === 'content-digest');
  if (body.byteLength === 0 && received.length === 0) return ['no body, no digest'];
  return [
    `body: ${body.byteLength} bytes`,
    `expected digest: ${contentDigest(body)}`,
    ...received.map(([, value]) => `received digest: ${value}`),
  ];
}

function ticketLines(request: HttpMessage, key: HmacKey): readonly string[] {
  return shownTickets({ path: request.target, headers: request.headers }).flatMap(
    ({ where, header, claims, token }) => {
      const [signingInput, mac = ''] = [token.slice(0, token.lastIndexOf('.')), token.split('.')[2]];
      const right = createHmac('sha256', key.secret).update(utf8(signingInput)).digest();
      const received = fromBase64url(mac);
      const holds = received !== undefined && right.equals(received);
      return [
        `the ticket (${where}):`,
        ...indent([header, claims, `its MAC ${holds ? 'holds' : 'does not hold (TIX-29)'} under this key`]),
      ];
    },
  );
}
