import {
  type Clock,
  SignatureRefused,
  type SignedMessage,
  type ParsedSignature,
  constantTimeEqual,
  newId,
  toBase64url,
  utf8,
  verifySignature,
} from '@svault/shared';
import { type ExchangeAnswer, exchangeRequestSchema } from '@svault/shared/schemas';
import type { GroupCommit } from '@svault/server-kit/group-commit';
import type { Logger } from '@svault/server-kit/logger';
import { refusal } from '../errors.ts';
import { type AttemptLimit, createAttemptLimit } from './attempt-limit.ts';
import { type BindingCodes, codeHashOf } from './binding-codes.ts';
import {
  type BindingStore,
  type SecretWrapper,
  type StoredCode,
  codePurpose,
  keyPurpose,
} from './binding-store.ts';
import { newKeyId } from './fresh-key.ts';
import { signatureInvalid } from './signature-invalid.ts';

/** Protocol section 5.1: wrong codes a minute, for the endpoint as a whole. */
const WRONG_CODES_PER_MINUTE = 30;

/**
 * Exchanges a one-time code for the binding's secret (protocol section 5.1). It has its own order of work, since the
 * key it is signed with, the code, stands in the body: nothing proves who sends one before it is read.
 */
export interface Exchange {
  /**
   * To be asked before the body is read: most of the time there is no code that it could be about.
   *
   * @throws AppError SIGNATURE_INVALID where there is none, RATE_LIMITED beyond 30 of these and of wrong codes a minute
   */
  mustHaveCode(): void;
  /**
   * SHA-256 of the code in constant time, MAC, times, digest; then what is asked for.
   *
   * @param message size capped, its signature parsed with `keyid="bind"`
   * @param body the JSON of that message
   * @throws AppError SIGNATURE_INVALID for any code but the latest (RATE_LIMITED beyond 30 a minute: such requests
   *   never burn the live code, nor keep the right one out); CODE_USED, CODE_EXPIRED for the latest;
   *   INVALID_REQUEST for another service's address, the code stays
   */
  redeem(
    message: SignedMessage,
    parsed: ParsedSignature,
    body: Readonly<Record<string, unknown>>,
  ): Promise<ExchangeAnswer>;
}

export function createExchange(deps: {
  readonly store: BindingStore;
  readonly secrets: SecretWrapper;
  readonly codes: Pick<BindingCodes, 'isLate' | 'isForgotten'>;
  readonly commit: GroupCommit;
  readonly clock: Clock;
  /** The service that this webhook is configured for, byte for byte. */
  readonly serviceUrl: string;
  readonly capabilities: readonly string[];
  readonly logger: Pick<Logger, 'warn'>;
}): Exchange {
  const { store, secrets, codes, commit, clock, logger } = deps;
  const wrongCodes: AttemptLimit = createAttemptLimit({
    clock,
    limit: WRONG_CODES_PER_MINUTE,
    windowMs: 60_000,
  });

  const refuseWrongCode = (reason: string, cause?: unknown): never => {
    const retryAfter = wrongCodes.take();
    if (retryAfter !== undefined) {
      throw refusal('RATE_LIMITED', 'too many wrong codes', { details: { retryAfter }, reason });
    }
    logger.warn({ reason }, 'an exchange was refused');
    throw signatureInvalid(reason, cause);
  };

  /** The latest code, where anybody can still be told of it. */
  const latestCode = (): StoredCode => {
    const latest = store.code();
    return latest === undefined || codes.isForgotten(latest) ? refuseWrongCode('no_code') : latest;
  };

  /** The latest code, if this request proves that its sender holds it. */
  const authenticate = (
    message: SignedMessage,
    parsed: ParsedSignature,
    body: Readonly<Record<string, unknown>>,
  ): StoredCode => {
    const sent = body['code'];
    if (typeof sent !== 'string') throw refusal('INVALID_REQUEST', 'code is missing');
    const latest = latestCode();
    if (!constantTimeEqual(codeHashOf(sent), latest.codeHash)) return refuseWrongCode('code_wrong');
    try {
      const policy = { nowMs: clock.now(), skewSeconds: 30, maxLifetimeSeconds: 60 } as const;
      verifySignature(message, parsed, { key: utf8(sent), ...policy });
    } catch (error) {
      if (error instanceof SignatureRefused) return refuseWrongCode(error.reason, error);
      throw error;
    }
    return latest;
  };

  const redeem: Exchange['redeem'] = async (message, parsed, body) => {
    const code = authenticate(message, parsed, body);
    if (code.state === 'used') throw codeUsed();
    if (code.state === 'expired' || codes.isLate(code)) {
      // Written down, so that a clock that is set back does not open it again.
      await commit.run(() => isSame(store.code(), code) && store.endCode('expired'));
      throw codeExpired();
    }
    const request = exchangeRequestSchema.safeParse(body);
    if (!request.success) throw refusal('INVALID_REQUEST', 'service needs baseUrl and vaultId');
    const { baseUrl: serviceBaseUrl, vaultId } = request.data.service;
    if (serviceBaseUrl !== deps.serviceUrl) {
      throw refusal('INVALID_REQUEST', 'this webhook is configured for another service address');
    }

    const keyId = newKeyId();
    const webhookId = newId('whk');
    const secret = await commit.run(() => {
      // Looked at again in the transaction that uses it up: of two exchanges one wins.
      const live = store.code();
      if (live?.wrappedSecret === undefined || !isSame(live, code)) return undefined;
      const plain = secrets.unwrap(live.wrappedSecret, codePurpose(live.codeHash));
      store.endCode('used');
      const key = { id: keyId, wrappedSecret: secrets.wrap(plain, keyPurpose(keyId)) };
      store.startBinding({ webhookId, serviceBaseUrl, vaultId }, key);
      return plain;
    });
    if (secret === undefined) throw codeUsed();
    const hmacSecret = toBase64url(secret);
    return { webhookId, keyId, hmacSecret, protocol: 'v1', capabilities: [...deps.capabilities] };
  };

  return { mustHaveCode: () => void latestCode(), redeem };
}

const isSame = (latest: StoredCode | undefined, code: StoredCode): boolean =>
  latest !== undefined && constantTimeEqual(latest.codeHash, code.codeHash);
const codeUsed = (): Error => refusal('CODE_USED', 'this code was used already');
const codeExpired = (): Error => refusal('CODE_EXPIRED', 'this code has expired; make a new one');
