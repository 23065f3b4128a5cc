import type { IncomingMessage } from 'node:http';
import {
  type Clock,
  type ParsedSignature,
  SignatureRefused,
  type SignedMessage,
  nonceClaimUntil,
  parseSignature,
  verifySignatureBody,
  verifySignatureHead,
} from '@svault/shared';
import type { CountedLog } from '@svault/server-kit/counted-log';
import { readBody, refuseByHead } from '@svault/server-kit/raw-body';
import type { Admission, AdmissionDesk, VerifiedRequest } from '../binding/admission.ts';
import type { BindingReader } from '../binding/binding.ts';
import { signatureInvalid } from '../binding/signature-invalid.ts';
import type { FreshnessCheck } from '../replay/freshness.ts';
import { createSignedMessageReader } from './signed-message.ts';

/** A signed request whose signature and body hold, and whose nonce is not claimed yet. */
export interface VerifiedRequestBody {
  readonly body: Buffer;
  /**
   * Claims the nonce inside an open transaction, so that the claim is durable together with what the request is for.
   * Anything but `admitted` must be answered by {@link RequestAuthentication.refuse}.
   */
  useNow(): Admission;
  /** Claims it in the next group commit. @throws AppError SIGNATURE_INVALID */
  use(): Promise<void>;
}

/**
 * Receives a signed request (protocol section 3). Headers, key, MAC and times come first, from the head alone: no byte of a
 * stranger's body is read. Then the body up to its cap, its digest, and the nonce, which is durably claimed when this
 * resolves. Only after it may the body be parsed.
 *
 * @throws AppError SIGNATURE_INVALID, the same bytes for every reason; the reason stands in the log; as `readBody`
 */
export type RequestReceiver = (
  req: IncomingMessage,
  options: {
    readonly maxBytes: number;
    /** Refuse the key that was rotated away, as rotation does: it has to be signed with the current one. */
    readonly refuseFormerKey?: boolean;
  },
) => Promise<AuthenticatedRequest>;

export interface AuthenticatedRequest {
  /** The key it was signed with; current now, if it was pending. */
  readonly keyId: string;
  readonly body: Buffer;
}

/** Authenticates signed requests, at once or by halves. */
export interface RequestAuthentication {
  readonly receive: RequestReceiver;
  /** As {@link RequestReceiver}, all but the nonce. */
  verify(req: IncomingMessage, options: Parameters<RequestReceiver>[1]): Promise<VerifiedRequestBody>;
  /** Logs why, and returns the one error for it. */
  refuse(req: IncomingMessage, reason: string, cause?: unknown): Error;
}

/** Protocol section 3: how far the clocks may differ. */
const SKEW_SECONDS = 30;
const NO_BODY = new Uint8Array();

/** Of a request whose body may still be on its way. */
interface VerifiedHead {
  readonly parsed: ParsedSignature;
  readonly request: VerifiedRequest;
}

/** What a broken or hostile message is refused with; thrown inside this file only. */
class Unauthenticated extends Error {}

export function createRequestAuthentication(deps: {
  readonly binding: BindingReader;
  readonly desk: Pick<AdmissionDesk, 'admitRequest' | 'admitRequestNow'>;
  readonly isFresh: FreshnessCheck;
  readonly clock: Clock;
  readonly webhookUrl: string;
  readonly logger: Pick<CountedLog, 'warn'>;
}): RequestAuthentication {
  const { desk } = deps;
  const readMessage = createSignedMessageReader(deps.webhookUrl);

  const verifyHead = (head: SignedMessage, refuseFormerKey: boolean): VerifiedHead => {
    const parsed = parseSignature(head);
    const key = deps.binding()?.keyFor(parsed.keyId);
    if (key === undefined) throw new Unauthenticated('key_unknown');
    if (refuseFormerKey && key.state === 'former') throw new Unauthenticated('key_former');
    const nowMs = deps.clock.now();
    const policy = { nowMs, skewSeconds: SKEW_SECONDS, maxLifetimeSeconds: 60 } as const;
    verifySignatureHead(head, parsed, { key: key.secret, ...policy });
    const untilMs = nonceClaimUntil(parsed) * 1000;
    const stale = deps.isFresh(parsed.created, untilMs);
    if (stale !== undefined) throw new Unauthenticated(stale);
    const request = {
      keyId: parsed.keyId,
      keyState: key.state,
      nonce: parsed.nonce,
      confirmedMs: confirmedMs(parsed, nowMs),
      untilMs,
    };
    return { parsed, request };
  };

  const refuse = (req: IncomingMessage, reason: string, cause?: unknown): Error => {
    deps.logger.warn({ reason, method: req.method, path: pathOf(req) }, 'a signed request was refused');
    return signatureInvalid(reason, cause);
  };
  const orRefuse = <T>(req: IncomingMessage, verify: () => T): T => {
    try {
      return verify();
    } catch (error) {
      const reason = reasonOf(error);
      throw reason === undefined ? error : refuse(req, reason, error);
    }
  };
  const admit = async (req: IncomingMessage, verified: VerifiedRequest): Promise<void> => {
    const admission = await desk.admitRequest(verified);
    if (admission !== 'admitted') throw refuse(req, admission);
  };
  const receive = async (
    req: IncomingMessage,
    { maxBytes, refuseFormerKey = false }: Parameters<RequestReceiver>[1],
  ): Promise<{ readonly request: VerifiedRequest; readonly body: Buffer }> => {
    refuseByHead(req, { maxBytes });
    const head = readMessage(req, NO_BODY);
    const { parsed, request } = orRefuse(req, () => verifyHead(head, refuseFormerKey));
    const body = await readBody(req, { maxBytes, sender: 'known' });
    orRefuse(req, () => verifySignatureBody({ ...head, body }, parsed));
    return { request, body };
  };

  return {
    receive: async (req, options) => {
      const { request, body } = await receive(req, options);
      await admit(req, request);
      return { keyId: request.keyId, body };
    },
    verify: async (req, options) => {
      const { request, body } = await receive(req, options);
      return { body, useNow: () => desk.admitRequestNow(request), use: () => admit(req, request) };
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
