import type { Logger } from '@svault/server-kit/logger';
import { type Clock, type Id, fromBase64url } from '@svault/shared';
import { rotateAnswerSchema } from '@svault/shared/schemas';
import type { NewAuditEvent } from '../core/audit-event.ts';
import { ApiError } from '../core/errors.ts';
import type { Transaction, UnitOfWork } from '../core/stores.ts';
import type { WebhookLink, WebhookLinkStore, WrappedHmacKey } from '../core/webhook-link.ts';
import { createAccountTasks, loggedReports } from './account-tasks.ts';
import { WebhookCallFailed } from './call-failed.ts';
import type { WebhookClient } from './retrying-client.ts';
import type { WebhookKeys } from './webhook-keys.ts';

/** Replaces the key that is shared with a webhook (PROTOCOL.md section 5.1, "Rotation"). */
export type KeyRotation = ReturnType<typeof createKeyRotation>;

export function createKeyRotation(options: {
  readonly links: Pick<WebhookLinkStore, 'find'>;
  readonly unitOfWork: UnitOfWork;
  readonly webhook: WebhookClient;
  readonly keys: WebhookKeys;
}) {
  const { links, unitOfWork, webhook, keys } = options;

  const activate = async (
    link: WebhookLink,
    key: WrappedHmacKey,
    { by, retry }: { readonly by?: Id<'usr'>; readonly retry: boolean },
  ): Promise<boolean> => {
    await webhook.call({ ...link, key }, { path: '/v1/health', retry });
    const { vaultId, webhookId } = link;
    const event: NewAuditEvent = {
      vaultId,
      eventType: 'WEBHOOK_SECRET_ROTATED',
      outcome: 'success',
      ...(by !== undefined && { userId: by }),
      detail: { webhookId, keyId: key.id, formerKeyId: link.key.id },
    };
    return unitOfWork.run(vaultId, async ({ webhookLinks, audit }) => {
      if (!(await webhookLinks.activatePendingKey(vaultId, key.id))) return false;
      await audit.append(event);
      return true;
    });
  };

  const complete = async (link: WebhookLink, retry: boolean): Promise<boolean> =>
    link.pendingKey !== undefined && activate(link, link.pendingKey, { retry });

  /** Ends an interrupted rotation first: its key may be the only one that the webhook still accepts. */
  const completeInterrupted = async (link: WebhookLink): Promise<WebhookLink> => {
    const completed = await complete(link, true).catch((error: unknown) => {
      if (error instanceof WebhookCallFailed && error.failure === 'refused') return false;
      throw error;
    });
    return completed ? ((await links.find(link.vaultId)) ?? link) : link;
  };

  const requestKey = async (link: WebhookLink, transaction: Transaction): Promise<WrappedHmacKey> => {
    const { body } = await webhook.call(link, { path: '/v1/exchange', body: { op: 'rotate' } });
    const { data } = rotateAnswerSchema.safeParse(body);
    const secret = fromBase64url(data?.hmacSecret ?? '');
    if (data === undefined || secret === undefined)
      throw new ApiError('WEBHOOK_REFUSED', 'The webhook did not send a usable key. The one in use stays.');
    const key = keys.wrap(link.vaultId, { id: data.keyId, secret });
    if (!(await transaction(({ webhookLinks }) => webhookLinks.setPendingKey(link, key))))
      throw changedMeanwhile();
    return key;
  };

  return {
    /**
     * Requests a new key, stores it as pending, and activates it by the first answered health call that is signed by it.
     * Until then the current key signs everything. Of two concurrent rotations one is denied: if both stored their key, the
     * link could end with the one that the webhook has discarded.
     *
     * @param transaction checks the vault's lock: a key that arrives after the vault was locked is not stored. A stored one
     *   is activated all the same, since the webhook may use it already
     * @returns the id of the key in use now
     * @throws WebhookCallFailed; a received key stays pending and is activated later. ApiError CONFLICT where the link
     *   changed meanwhile
     */
    rotate: async (found: WebhookLink, by: Id<'usr'>, transaction: Transaction): Promise<string> => {
      const link = await completeInterrupted(found);
      const key = await requestKey(link, transaction);
      if (await activate(link, key, { by, retry: true })) return key.id;
      // The background job may have activated it first.
      if ((await links.find(link.vaultId))?.key.wrapped === key.wrapped) return key.id;
      throw changedMeanwhile();
    },
    /**
     * Activates a pending key if the webhook knows it. The webhook may use it already: then the answer to the health call
     * was lost, and the former key expires in ten minutes.
     *
     * @returns whether a key was activated
     */
    complete: (link: WebhookLink): Promise<boolean> => complete(link, false),
  };
}

const changedMeanwhile = () =>
  new ApiError(
    'CONFLICT',
    'Another rotation or an unbinding came in between. Look at the webhook, then try again.',
  );

const PAGE = 100;
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 5 * 60_000;

/**
 * The background job that ends interrupted rotations. Where only the answer was lost, the webhook uses the new key
 * already and accepts the former one for no more than ten minutes.
 */
export function createRotationCompletion(options: {
  readonly links: Pick<WebhookLinkStore, 'withPendingKey'>;
  readonly rotation: Pick<KeyRotation, 'complete'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
}): { run(): Promise<void> } {
  const { links, rotation, clock, logger } = options;
  const tasks = createAccountTasks({ clock, firstPauseMs: FIRST_PAUSE_MS, maxPauseMs: MAX_PAUSE_MS });
  return {
    run: async () => {
      let after: Id<'vlt'> | undefined;
      do {
        const page = await links.withPendingKey({ after, limit: PAGE });
        for (const link of page) {
          const { vaultId } = link;
          tasks.start(
            vaultId,
            async () => void (await rotation.complete(link)),
            loggedReports(logger, vaultId, { failed: 'a new webhook key is not in use yet' }),
          );
        }
        after = page.length === PAGE ? page.at(-1)?.vaultId : undefined;
      } while (after !== undefined);
      await tasks.settled();
    },
  };
}
