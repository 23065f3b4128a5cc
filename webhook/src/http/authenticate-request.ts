import type { IncomingMessage } from 'node:http';
import {
  type Clock,
  type ParsedSignature,
  SignatureRefused,
  type SignedMessage,
  nonceClaimUntil,
  parseSignature,
  verifySignature,
  verifySignatureHead,
} from '@svault/shared';
import type { Logger } from '@svault/server-kit/logger';
import type { Admission, AdmissionDesk, VerifiedRequest } from '../binding/admission.ts';
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

/** A request whose signature holds, and whose nonce is not claimed yet. */
export interface VerifiedSignature {
  /**
   * Claims the nonce inside an open transaction, so that the claim is durable together with what the request is for.
   * Anything but `admitted` must be answered by {@link RequestAuthentication.refuse}.
   */
  useNow(): Admission;
  /** Claims it in the next group commit. @throws AppError SIGNATURE_INVALID */
  use(): Promise<void>;
}

/** Authenticates signed requests, at once or by halves. */
export interface RequestAuthentication {
  readonly authenticate: RequestAuthenticator;
  /** The first half of {@link RequestAuthenticator}: all but the nonce. @throws AppError SIGNATURE_INVALID */
  verify(req: IncomingMessage, rawBody: Uint8Array): VerifiedSignature;
  /** Key, MAC and times, while the body is still on its way. @throws AppError SIGNATURE_INVALID */
  verifyHead(req: IncomingMessage): void;
  /** Logs why, and returns the one error for it. */
  refuse(req: IncomingMessage, reason: string, cause?: unknown): Error;
}

/** Protocol section 3: how far the clocks may differ. */
const SKEW_SECONDS = 30;
const NO_BODY = new Uint8Array();

/** What a broken or hostile message is refused with; thrown inside this file only. */
class Unauthenticated extends Error {}

export function createRequestAuthentication(deps: {
  readonly binding: BindingReader;
  readonly desk: Pick<AdmissionDesk, 'admitRequest' | 'admitRequestNow'>;
  readonly isFresh: FreshnessCheck;
  readonly clock: Clock;
  readonly webhookUrl: string;
  readonly logger: Pick<Logger, 'warn'>;
}): RequestAuthentication {
  const { desk } = deps;
  const readMessage = createSignedMessageReader(deps.webhookUrl);

  const verify = (
    message: SignedMessage,
    { refuseFormerKey = false, by = verifySignature } = {},
  ): VerifiedRequest => {
    const parsed: ParsedSignature = parseSignature(message);
    const key = deps.binding()?.keyFor(parsed.keyId);
    if (key === undefined) throw new Unauthenticated('key_unknown');
    if (refuseFormerKey && key.state === 'former') throw new Unauthenticated('key_former');
    const nowMs = deps.clock.now();
    by(message, parsed, { key: key.secret, nowMs, skewSeconds: SKEW_SECONDS, maxLifetimeSeconds: 60 });
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

  const refuse = (req: IncomingMessage, reason: string, cause?: unknown): Error => {
    deps.logger.warn({ reason, method: req.method, path: pathOf(req) }, 'a signed request was refused');
    return signatureInvalid(reason, cause);
  };
  const verifyOrRefuse = (req: IncomingMessage, ...how: Parameters<typeof verify>): VerifiedRequest => {
    try {
      return verify(...how);
    } catch (error) {
      const reason = reasonOf(error);
      throw reason === undefined ? error : refuse(req, reason, error);
    }
  };
  const admit = async (req: IncomingMessage, verified: VerifiedRequest): Promise<void> => {
    const admission = await desk.admitRequest(verified);
    if (admission !== 'admitted') throw refuse(req, admission);
  };

  return {
    authenticate: async (req, rawBody, options) => {
      const verified = verifyOrRefuse(req, readMessage(req, rawBody), options);
      await admit(req, verified);
      return { keyId: verified.keyId };
    },
    verify: (req, rawBody) => {
      const verified = verifyOrRefuse(req, readMessage(req, rawBody));
      return { useNow: () => desk.admitRequestNow(verified), use: () => admit(req, verified) };
    },
    verifyHead: (req) => {
      verifyOrRefuse(req, readMessage(req, NO_BODY), { by: verifySignatureHead });
    },
    refuse,
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
