import { toBase64url } from '@svault/shared';
import type { RotateAnswer } from '@svault/shared/schemas';
import type { GroupCommit } from '@svault/server-kit/group-commit';
import { type BindingStore, type SecretWrapper, keyPurpose } from './binding-store.ts';
import { newHmacSecret, newKeyId } from './fresh-key.ts';
import { signatureInvalid } from './signature-invalid.ts';

/**
 * Makes a pending key (protocol section 5.1). It replaces a pending one, never the current one, so an answer that is
 * lost costs nothing: the service asks again.
 *
 * @param signedBy the key that the request was signed with; refused unless it is still the current one
 */
export type RotateKey = (signedBy: string) => Promise<RotateAnswer>;

export function createKeyRotation(deps: {
  readonly store: Pick<BindingStore, 'keyState' | 'putPendingKey'>;
  readonly secrets: Pick<SecretWrapper, 'wrap'>;
  readonly commit: GroupCommit;
}): RotateKey {
  const { store, secrets, commit } = deps;
  return async (signedBy) => {
    const keyId = newKeyId();
    const secret = newHmacSecret();
    const done = await commit.run(() => {
      if (store.keyState(signedBy) !== 'current') return false;
      store.putPendingKey({ id: keyId, wrappedSecret: secrets.wrap(secret, keyPurpose(keyId)) });
      return true;
    });
    if (!done) throw signatureInvalid('key_gone');
    return { keyId, hmacSecret: toBase64url(secret) };
  };
}
