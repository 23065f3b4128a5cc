import {
  type Clock,
  type ParsedSignature,
  SignatureRefused,
  type SignedMessage,
  constantTimeEqual,
  newId,
  toBase64url,
  utf8,
  verifySignature,
} from '@svault/shared';
import { type ExchangeAnswer, type RotateAnswer, exchangeRequestSchema } from '@svault/shared/schemas';
import type { GroupCommit } from '@svault/server-kit/group-commit';
import type { Logger } from '@svault/server-kit/logger';
import { ApiError, signatureInvalid } from '../errors.ts';
import { createSlidingWindow } from '../sliding-window.ts';
import { type BindingCodes, codeHashOf } from './binding-codes.ts';
import {
  type BindingStore,
  type SecretWrapper,
  type StoredCode,
  codePurpose,
  keyPurpose,
  newHmacSecret,
  newKeyId,
} from './binding-store.ts';

/** PROTOCOL.md section 5.1: wrong codes a minute, for the endpoint as a whole. */
const WRONG_CODES_PER_MINUTE = 30;

type JsonBody = Readonly<Record<string, unknown>>;

/**
 * Exchanges a one-time code for the binding's secret (PROTOCOL.md section 5.1). Its checks have another order than
 * those of signed requests: the body holds the code, which is the key of the signature, so the body is read first.
 */
export function createExchange(deps: {
  readonly bindings: BindingStore;
  readonly secrets: SecretWrapper;
  readonly codes: Pick<BindingCodes, 'isExpired' | 'isForgotten'>;
  readonly commit: GroupCommit;
  readonly clock: Clock;
  /** The control plane that this webhook is configured for, byte for byte. */
  readonly serviceUrl: string;
  readonly capabilities: readonly string[];
  readonly logger: Pick<Logger, 'warn'>;
}) {
  const { bindings, secrets, codes, commit, clock, logger } = deps;
  const wrongCodes = createSlidingWindow({ clock, limit: WRONG_CODES_PER_MINUTE, windowMs: 60_000 });

  const refuseWrongCode = (reason: string, cause?: unknown): never => {
    const retryAfter = wrongCodes.take('');
    if (retryAfter !== undefined)
      throw new ApiError('RATE_LIMITED', 'too many wrong codes', { details: { retryAfter }, reason });
    logger.warn({ reason }, 'an exchange was refused');
    throw signatureInvalid(reason, cause);
  };

  const latestCode = (): StoredCode => {
    const latest = bindings.code();
    return latest === undefined || codes.isForgotten(latest) ? refuseWrongCode('no_code') : latest;
  };

  /** The latest code, if this request proves that its sender has it. */
  const authenticate = (message: SignedMessage, parsed: ParsedSignature, body: JsonBody): StoredCode => {
    const sent = body['code'];
    if (typeof sent !== 'string') throw new ApiError('INVALID_REQUEST', 'code is missing');
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

  /**
   * Checks the code's SHA-256 in constant time, MAC, times and digest, and then the request.
   *
   * @param message size capped, its signature parsed with `keyid="bind"`
   * @param body the JSON of that message
   * @throws ApiError SIGNATURE_INVALID for any code but the latest (RATE_LIMITED beyond 30 a minute: such requests
   *   neither consume the open code nor block the right one); CODE_USED, CODE_EXPIRED for the latest;
   *   INVALID_REQUEST for another control plane's address, which leaves the code open
   */
  const redeem = async (
    message: SignedMessage,
    parsed: ParsedSignature,
    body: JsonBody,
  ): Promise<ExchangeAnswer> => {
    const code = authenticate(message, parsed, body);
    if (code.state === 'used') throw codeUsed();
    if (code.state === 'expired' || codes.isExpired(code)) {
      // Stored, so that the code stays expired when the clock is set back.
      await commit.run(() => isSame(bindings.code(), code) && bindings.endCode('expired'));
      throw new ApiError('CODE_EXPIRED', 'this code has expired; make a new one');
    }
    const request = exchangeRequestSchema.safeParse(body);
    if (!request.success) throw new ApiError('INVALID_REQUEST', 'service needs baseUrl and vaultId');
    const { baseUrl: serviceBaseUrl, vaultId } = request.data.service;
    if (serviceBaseUrl !== deps.serviceUrl)
      throw new ApiError('INVALID_REQUEST', 'this webhook is configured for another service address');

    const keyId = newKeyId();
    const webhookId = newId('whk');
    const secret = await commit.run(() => {
      // Read again in the transaction that consumes it: of two exchanges one succeeds.
      const live = bindings.code();
      if (!live?.wrappedSecret || !isSame(live, code)) return undefined;
      const plain = secrets.unwrap(live.wrappedSecret, codePurpose(live.codeHash));
      bindings.endCode('used');
      const key = { id: keyId, wrappedSecret: secrets.wrap(plain, keyPurpose(keyId)) };
      bindings.startBinding({ webhookId, serviceBaseUrl, vaultId }, key);
      return plain;
    });
    if (secret === undefined) throw codeUsed();
    const hmacSecret = toBase64url(secret);
    return { webhookId, keyId, hmacSecret, protocol: 'v1', capabilities: [...deps.capabilities] };
  };

  return {
    /**
     * Call it before reading the body: most of the time no code is open.
     *
     * @throws ApiError SIGNATURE_INVALID if there is none, RATE_LIMITED beyond 30 of these and of wrong codes a minute
     */
    mustHaveCode: (): void => void latestCode(),
    redeem,
  };
}

export type Exchange = ReturnType<typeof createExchange>;

const isSame = (latest: StoredCode | undefined, code: StoredCode): boolean =>
  latest !== undefined && constantTimeEqual(latest.codeHash, code.codeHash);
const codeUsed = (): Error => new ApiError('CODE_USED', 'this code was used already');

/**
 * Makes a pending key (PROTOCOL.md section 5.1). It replaces a pending one, never the current one, so a lost answer
 * does no harm: the control plane asks again.
 */
export function createKeyRotation(deps: {
  readonly bindings: Pick<BindingStore, 'keyState' | 'putPendingKey'>;
  readonly secrets: Pick<SecretWrapper, 'wrap'>;
  readonly commit: GroupCommit;
}) {
  const { bindings, secrets, commit } = deps;
  /** @throws ApiError SIGNATURE_INVALID if the key that signed the request is no longer the current one */
  return async (signedBy: string): Promise<RotateAnswer> => {
    const keyId = newKeyId();
    const secret = newHmacSecret();
    const done = await commit.run(() => {
      if (bindings.keyState(signedBy) !== 'current') return false;
      bindings.putPendingKey({ id: keyId, wrappedSecret: secrets.wrap(secret, keyPurpose(keyId)) });
      return true;
    });
    if (!done) throw signatureInvalid('key_gone');
    return { keyId, hmacSecret: toBase64url(secret) };
  };
}

export type RotateKey = ReturnType<typeof createKeyRotation>;
