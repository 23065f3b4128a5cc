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
import type { GroupCommit } from '@svault/server-kit/group-commit';
import { type BodyBounds, readBody, rejectByHead } from '@svault/server-kit/raw-body';
import { followSampling } from '@svault/server-kit/tracing';
import type { BindingReader } from '../binding/binding.ts';
import { signatureInvalid } from '../errors.ts';
import type { Metrics } from '../metrics.ts';
import type { ClaimOnce, ClaimOutcome, VerifiedRequest } from '../replay/claim-once.ts';
import type { FreshnessCheck } from '../replay/freshness.ts';
import { createSignedMessageReader } from './signed-message.ts';

interface ReceiveOptions extends Pick<BodyBounds, 'coding' | 'maxBytes'> {
  /** Rejects the former key, for a rotation: it must be signed with the current one. */
  readonly refuseFormerKey?: boolean;
}

/** PROTOCOL.md section 3: how far the clocks may differ. */
const SKEW_SECONDS = 30;
const NO_BODY = new Uint8Array();

/** Why a message is rejected after its own checks; thrown in this file only. */
class Unauthenticated extends Error {}

/** Authenticates signed requests (PROTOCOL.md section 3), whole or in two halves. */
export function createRequestAuthentication(deps: {
  readonly binding: BindingReader;
  readonly claimOnce: Pick<ClaimOnce, 'request'>;
  readonly isFresh: FreshnessCheck;
  readonly commit: GroupCommit;
  readonly clock: Clock;
  readonly webhookUrl: string;
  readonly logger: Pick<CountedLog, 'warn'>;
  readonly metrics: Pick<Metrics, 'refusedRequests'>;
}) {
  const { claimOnce, commit } = deps;
  const readMessage = createSignedMessageReader(deps.webhookUrl);

  const verifyHead = (
    head: SignedMessage,
    refuseFormerKey: boolean,
  ): { readonly parsed: ParsedSignature; readonly request: VerifiedRequest } => {
    const parsed = parseSignature(head);
    const { keyId, nonce, created } = parsed;
    const key = deps.binding()?.keyFor(keyId);
    if (key === undefined) throw new Unauthenticated('unknown_key');
    if (refuseFormerKey && key.state === 'former') throw new Unauthenticated('key_former');
    const nowMs = deps.clock.now();
    const policy = { nowMs, skewSeconds: SKEW_SECONDS, maxLifetimeSeconds: 60 } as const;
    verifySignatureHead(head, parsed, { key: key.secret, ...policy });
    const untilMs = nonceClaimUntil(parsed) * 1000;
    const stale = deps.isFresh(created, untilMs);
    if (stale !== undefined) throw new Unauthenticated(stale);
    const confirmedMs = Math.min(nowMs, (created + SKEW_SECONDS) * 1000);
    return { parsed, request: { keyId, keyState: key.state, nonce, confirmedMs, untilMs } };
  };

  const refuse = (req: IncomingMessage, reason: string, cause?: unknown): Error => {
    // Without the query, which may hold a ticket.
    const path = (req.url ?? '').split('?', 1)[0] ?? '';
    deps.metrics.refusedRequests({ reason });
    deps.logger.warn({ reason, method: req.method, path }, 'a signed request was refused');
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

  const verify = async (req: IncomingMessage, options: ReceiveOptions) => {
    const { refuseFormerKey = false, ...bounds } = options;
    rejectByHead(req, bounds);
    const head = readMessage(req, NO_BODY);
    const { parsed, request } = orRefuse(req, () => verifyHead(head, refuseFormerKey));
    const body = await readBody(req, { ...bounds, sender: 'known' });
    orRefuse(req, () => verifySignatureBody({ ...head, body }, parsed));
    /** In an open transaction, so that the claim is durable with what the request is for. */
    const claimNow = (): ClaimOutcome => claimOnce.request(request);
    /** In the next group commit. @throws ApiError SIGNATURE_INVALID */
    const claim = async (): Promise<void> => {
      const outcome = await commit.run(claimNow);
      if (outcome !== 'claimed') throw refuse(req, outcome);
    };
    return { keyId: request.keyId, fields: head.headers, covered: parsed.covered, body, claimNow, claim };
  };

  return {
    /**
     * Checks headers, key, MAC and times first, from the head alone, so it reads no byte of an unauthenticated body. Then
     * come the body up to its cap, its digest, and the nonce, whose claim is durable when this resolves. Parse the body
     * only after that.
     *
     * @returns the key that signed it (current by now, if it was pending), and the body
     * @throws ApiError SIGNATURE_INVALID, the same bytes for every reason, which only the log has; as `readBody`
     */
    receive: async (req: IncomingMessage, options: ReceiveOptions) => {
      const { keyId, body, claim } = await verify(req, options);
      await claim();
      followSampling(req);
      return { keyId, body };
    },
    /** As `receive`, all but the nonce. A claim that is not `claimed` must be answered by `refuse`. */
    verify,
    /** Logs why, and returns the one error for it. */
    refuse,
  };
}

export type RequestAuthentication = ReturnType<typeof createRequestAuthentication>;
export type RequestReceiver = RequestAuthentication['receive'];

/** undefined for an error that is no rejection, such as a database that takes no writes. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof SignatureRefused) return error.reason;
  return error instanceof Unauthenticated ? error.message : undefined;
}
