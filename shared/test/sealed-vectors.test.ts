import { recipientSchema } from '@svault/shared/schemas';
import {
  SEALED_REFUSAL_REASONS,
  SealedRefused,
  isUsableRecipient,
  jwkThumbprint,
  openSealed,
  readSealingKey,
} from '@svault/shared/sealed';
import { describe, expect, it } from 'vitest';
import { recipientVectors, sealedVectors } from './vector-files.ts';

describe('vectors made with Python’s cryptography', () => {
  describe('sealed deliveries', () => {
    it.each(sealedVectors.map((vector) => [vector.name, vector] as const))('%s', async (_name, vector) => {
      const key = readSealingKey(vector.privateJwk);
      expect(key.thumbprint).toBe(vector.thumbprint);
      const outcome = await openSealed(vector.jwe, key).then(
        (opened) => JSON.stringify(opened.reveal()),
        (error: unknown) => (error instanceof SealedRefused ? error.reason : error),
      );
      expect(outcome).toBe(vector.expect === 'accept' ? vector.plaintext : vector.reason);
    });

    it('have one for each reason to reject a header or a key', () => {
      const reasons = new Set(sealedVectors.map(({ reason }) => reason));
      for (const reason of SEALED_REFUSAL_REASONS.filter(
        (each) => each !== 'too_large' && each !== 'not_a_credential',
      ))
        expect(reasons).toContain(reason);
    });
  });

  describe('recipients', () => {
    it.each(recipientVectors.map((vector) => [vector.name, vector] as const))('%s', (_name, vector) => {
      const { data } = recipientSchema.safeParse(vector.jwk);
      const isTaken = data !== undefined && isUsableRecipient(data);
      expect(isTaken).toBe(vector.expect === 'accept');
      if (isTaken) expect(jwkThumbprint(data)).toBe(vector.thumbprint);
    });
  });
});
