import type { MasterKeys } from '@svault/server-kit/master-keys';
import { type HmacKey, fromBase64url, toBase64url } from '@svault/shared';
import { type WrappedHmacKey, webhookKeyPurpose } from '../core/webhook-link.ts';

/** Cached keys; the oldest is evicted first. */
const MAX_OPENED = 1_000;

export type WebhookKeys = ReturnType<typeof createWebhookKeys>;

/**
 * Wraps and unwraps the keys shared with webhooks. Caches unwrapped ones, since unwrapping costs more than the rest of a
 * ticket. No entry goes stale: it is found by the wrapped bytes, which the caller has just read and which unwrap to one key.
 */
export function createWebhookKeys(masterKeys: MasterKeys) {
  const opened = new Map<string, HmacKey>();
  return {
    wrap: (vaultId: string, { id, secret }: HmacKey): WrappedHmacKey => ({
      id,
      wrapped: toBase64url(masterKeys.wrap(secret, webhookKeyPurpose(vaultId, id))),
    }),
    /** @throws AeadFailed when it was wrapped under another root key or for another vault */
    open: (vaultId: string, { id, wrapped }: WrappedHmacKey): HmacKey => {
      const known = opened.get(wrapped);
      if (known?.id === id) return known;
      const bytes = fromBase64url(wrapped);
      if (bytes === undefined) throw new TypeError(`the wrapped webhook key ${id} is not base64url`);
      const key = { id, secret: masterKeys.unwrap(bytes, webhookKeyPurpose(vaultId, id)) };
      const oldest = opened.keys().next();
      if (opened.size >= MAX_OPENED && !oldest.done) opened.delete(oldest.value);
      opened.set(wrapped, key);
      return key;
    },
  };
}
