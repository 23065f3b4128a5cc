import type { MasterKeys } from '@svault/server-kit/master-keys';
import { type HmacKey, fromBase64url, toBase64url } from '@svault/shared';
import { type WrappedHmacKey, webhookKeyPurpose } from '../core/webhook-link.ts';

/** Wraps and unwraps the keys shared with webhooks. */
export interface WebhookKeys {
  wrap(vaultId: string, key: HmacKey): WrappedHmacKey;
  /** @throws AeadFailed when it was wrapped under another master key or for another vault */
  open(vaultId: string, key: WrappedHmacKey): HmacKey;
}

/** Cached keys; the oldest is evicted first. */
const MAX_OPENED = 1_000;

/**
 * Caches unwrapped keys, since unwrapping costs more than the rest of a ticket. No entry goes stale: it is found by the
 * wrapped bytes, which the caller has just read from the database and which unwrap to one key only.
 */
export function createWebhookKeys(masterKeys: MasterKeys): WebhookKeys {
  const opened = new Map<string, HmacKey>();
  return {
    wrap: (vaultId, key) => ({
      id: key.id,
      wrapped: toBase64url(masterKeys.wrap(key.secret, webhookKeyPurpose(vaultId, key.id))),
    }),
    open: (vaultId, { id, wrapped }) => {
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
