import { toBase64url } from '@svault/shared';
import type { RotateAnswer } from '@svault/shared/schemas';
import type { GroupCommit } from '@svault/server-kit/group-commit';
import { signatureInvalid } from '../errors.ts';
import {
  type BindingStore,
  type SecretWrapper,
  keyPurpose,
  newHmacSecret,
  newKeyId,
} from './binding-store.ts';

/**
 * Makes a pending key (PROTOCOL.md section 5.1). It replaces a pending one, never the current one, so a lost answer
 * does no harm: the control plane asks again.
 *
 * @param signedBy the key that signed the request
 * @throws ApiError SIGNATURE_INVALID if that key is no longer the current one
 */
export type RotateKey = (signedBy: string) => Promise<RotateAnswer>;

export function createKeyRotation(deps: {
  readonly bindings: Pick<BindingStore, 'keyState' | 'putPendingKey'>;
  readonly secrets: Pick<SecretWrapper, 'wrap'>;
  readonly commit: GroupCommit;
}): RotateKey {
  const { bindings, secrets, commit } = deps;
  return async (signedBy) => {
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
