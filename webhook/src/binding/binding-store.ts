import { randomToken, toHex } from '@svault/shared';
import { randomBytes } from 'node:crypto';
import { ApiError } from '../errors.ts';

/**
 * A key signs requests and tickets once it is `current`. A `pending` key becomes that by the first valid request
 * under it; the one it replaces is `former` for a while (PROTOCOL.md section 5.1).
 */
export type KeyState = 'current' | 'pending' | 'former';

export interface StoredKey {
  readonly id: string;
  readonly state: KeyState;
  /** 32 bytes, wrapped under the root key for {@link keyPurpose}. */
  readonly wrappedSecret: Uint8Array;
  /** Of a former key alone, milliseconds since 1970. */
  readonly validUntilMs: number | null;
}

type NewKey = Pick<StoredKey, 'id' | 'wrappedSecret'>;

export interface StoredBinding {
  /** What tickets name as their audience: `whk_…`. */
  readonly webhookId: string;
  /** What tickets name as their issuer, byte for byte. */
  readonly serviceBaseUrl: string;
  readonly vaultId: string;
  /** False until the first valid request under the exchanged key; then the bind page is sealed. */
  readonly complete: boolean;
}

export interface StoredCode {
  /** SHA-256 of the code's 36 ASCII bytes; the code itself is not stored. */
  readonly codeHash: Uint8Array;
  /** Milliseconds since 1970. */
  readonly expiresAtMs: number;
  readonly state: 'live' | 'used' | 'expired';
  /** The secret this code is exchanged for, wrapped for {@link codePurpose}; only while it is live. */
  readonly wrappedSecret: Uint8Array | null;
}

type NewCode = Pick<StoredCode, 'codeHash' | 'expiresAtMs'> & { readonly wrappedSecret: Uint8Array };

/**
 * The binding at rest. Calls are synchronous and take part in an open transaction; a caller that looks and then
 * writes does both in one.
 *
 * All of it is authenticated together under the root key. Every call but `isAuthentic`, `reset` and `markRestored`
 * throws {@link bindingChanged} if something else than this program changed it.
 */
export interface BindingStore {
  /** Differs from every former value after a change of anything here, by whatever process. Reads no page. */
  changeMark(): number;
  /** Whether all of it is as this program wrote it last. */
  isAuthentic(): boolean;
  binding(): StoredBinding | undefined;
  /** At most one per state. */
  keys(): readonly StoredKey[];
  keyState(keyId: string): KeyState | undefined;
  /** The latest code, in whatever state. */
  code(): StoredCode | undefined;
  setupTokenHash(): Uint8Array | undefined;
  /** Whether this vault came from a backup and `unseal-bind` has not run since: nothing new is bound until then. */
  needsUnseal(): boolean;

  /** A live code in place of any former one. */
  putCode(code: NewCode): void;
  /** Ends the live code and erases the secret it stood for. */
  endCode(state: 'used' | 'expired'): void;
  /** A binding that is not complete, and its pending key, in place of any former binding and keys. */
  startBinding(binding: Omit<StoredBinding, 'complete'>, key: NewKey): void;
  /** A pending key in place of any former pending one. */
  putPendingKey(key: NewKey): void;
  /** Pending becomes current, current becomes former until then (milliseconds since 1970); completes the binding. */
  activatePendingKey(formerUntilMs: number): void;
  eraseFormerKey(): void;
  /** Erases binding, keys and code. */
  erase(): void;
  putSetupTokenHash(hash: Uint8Array): void;
  /** Erases binding, keys, code, set-up token and the mark of a restore, whatever is there. */
  reset(): void;
  /** Erases code and set-up token, and a binding that is not complete or not authentic; sets the mark of a restore. */
  markRestored(): void;
}

/** The answer, and the failed start, of a webhook whose binding was changed in its database by something else. */
export function bindingChanged(): ApiError {
  return new ApiError(
    'UNAVAILABLE',
    "the binding in this webhook's database was changed outside this program, or put back to an earlier state; " +
      'run unseal-bind on its machine and bind again, or restore a backup',
    { reason: 'binding_changed' },
  );
}

/** Wraps small secrets under the root key; the purpose is authenticated, so values cannot change places. */
export interface SecretWrapper {
  /** Call it in the transaction that stores the result, so that a rotation of the root key includes the value. */
  wrap(plaintext: Uint8Array, purpose: string): Uint8Array;
  /** @throws AeadFailed for bytes that were not wrapped for this purpose */
  unwrap(wrapped: Uint8Array, purpose: string): Uint8Array;
}

export const keyPurpose = (keyId: string): string => `binding-key:${keyId}`;
export const codePurpose = (codeHash: Uint8Array): string => `binding-code:${toHex(codeHash)}`;

/** 128 random bits: 22 characters, and so never `bind`. */
export const newKeyId = (): string => randomToken();

/** The binding's key (PROTOCOL.md section 5.1): 32 random bytes. */
export const newHmacSecret = (): Buffer => randomBytes(32);
