import type { IncomingMessage } from 'node:http';
import {
  type Clock,
  type ParsedSignature,
  SignatureRefused,
  type SignedMessage,
  nonceClaimUntil,
  parseSignature,
  verifySignature,
} from '@svault/shared';
import type { Logger } from '@svault/server-kit/logger';
import type { AdmissionDesk, VerifiedRequest } from '../binding/admission.ts';
import type { BindingReader } from '../binding/binding.ts';
import { signatureInvalid } from '../binding/signature-invalid.ts';
import type { FreshnessCheck } from '../replay/freshness.ts';
import { createSignedMessageReader } from './signed-message.ts';

export interface AuthenticatedRequest {
  /** The key it was signed with; current now, if it was pending. */
  readonly keyId: string;
}

/**
 * Authenticates a signed request (protocol section 3): headers, key, MAC, times, digest, and then the nonce, which is
 * durably claimed when this resolves. Only after it may the body be read.
 *
 * @param rawBody as received, its size already capped
 * @throws AppError SIGNATURE_INVALID, the same bytes for every reason; the reason stands in the log
 */
export type RequestAuthenticator = (
  req: IncomingMessage,
  rawBody: Uint8Array,
  options?: {
    /** Refuse the key that was rotated away, as rotation does: it has to be signed with the current one. */
    readonly refuseFormerKey?: boolean;
  },
) => Promise<AuthenticatedRequest>;

/** Protocol section 3: how far the clocks may differ. */
const SKEW_SECONDS = 30;

/** What a broken or hostile message is refused with; thrown inside this file only. */
class Unauthenticated extends Error {}

export function createRequestAuthenticator(deps: {
  readonly binding: BindingReader;
  readonly desk: Pick<AdmissionDesk, 'admitRequest'>;
  readonly isFresh: FreshnessCheck;
  readonly clock: Clock;
  readonly webhookUrl: string;
  readonly logger: Pick<Logger, 'warn'>;
}): RequestAuthenticator {
  const readMessage = createSignedMessageReader(deps.webhookUrl);

  const verify = (message: SignedMessage, refuseFormerKey: boolean): VerifiedRequest => {
    const parsed: ParsedSignature = parseSignature(message);
    const key = deps.binding()?.keyFor(parsed.keyId);
    if (key === undefined) throw new Unauthenticated('key_unknown');
    if (refuseFormerKey && key.state === 'former') throw new Unauthenticated('key_former');
    const nowMs = deps.clock.now();
    verifySignature(message, parsed, {
      key: key.secret,
      nowMs,
      skewSeconds: SKEW_SECONDS,
      maxLifetimeSeconds: 60,
    });
    const untilMs = nonceClaimUntil(parsed) * 1000;
    const stale = deps.isFresh(parsed.created, untilMs);
    if (stale !== undefined) throw new Unauthenticated(stale);
    return {
      keyId: parsed.keyId,
      keyState: key.state,
      nonce: parsed.nonce,
      confirmedMs: confirmedMs(parsed, nowMs),
      untilMs,
    };
  };

  return async (req, rawBody, { refuseFormerKey = false } = {}) => {
    try {
      const verified = verify(readMessage(req, rawBody), refuseFormerKey);
      const admission = await deps.desk.admitRequest(verified);
      if (admission !== 'admitted') throw new Unauthenticated(admission);
      return { keyId: verified.keyId };
    } catch (error) {
      const reason = reasonOf(error);
      if (reason === undefined) throw error;
      deps.logger.warn({ reason, method: req.method, path: pathOf(req) }, 'a signed request was refused');
      throw signatureInvalid(reason, error);
    }
  };
}

/** The wall clock, as far as the service bears it out: not more than the allowed skew after it signed. */
const confirmedMs = ({ created }: ParsedSignature, nowMs: number): number =>
  Math.min(nowMs, (created + SKEW_SECONDS) * 1000);

/** undefined for an error that is no refusal, such as a database that takes no writes. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof SignatureRefused) return error.reason;
  return error instanceof Unauthenticated ? error.message : undefined;
}

/** Without the query, which is none of a log's business. */
const pathOf = (req: IncomingMessage): string => (req.url ?? '').split('?', 1)[0] ?? '';
