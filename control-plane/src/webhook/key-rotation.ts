import type { Logger } from '@svault/server-kit/logger';
import { type Clock, type Id, fromBase64url } from '@svault/shared';
import { rotateAnswerSchema } from '@svault/shared/schemas';
import type { NewAuditEvent } from '../core/audit-event.ts';
import { refusal } from '../core/errors.ts';
import type { Transaction, UnitOfWork } from '../core/stores.ts';
import type { WebhookLink, WebhookLinkStore, WrappedHmacKey } from '../core/webhook-link.ts';
import { createWebhookTurns } from './account-tasks.ts';
import { WebhookCallFailed } from './call-failed.ts';
import type { LinkedWebhook } from './retrying-client.ts';
import type { WebhookKeys } from './webhook-keys.ts';

/** Replaces the key that is shared with a webhook (protocol.md 5.1, "Rotation"). */
export interface KeyRotation {
  /**
   * Asks for a new key, keeps it as pending, and takes it into use with the first health call under it that is
   * answered. Until then everything is signed with the former one.
   *
   * Of two rotations at once, one is refused: were both to keep their key, the one that the webhook makes void could be
   * kept in place of the one that it has taken into use, and the link would end with the former key.
   *
   * @param transaction one transaction, which looks at the vault's lock: a key that came after it is not kept. One that was
   *   kept is taken into use all the same, since the webhook may have changed over already
   * @returns the id of the key in use now
   * @throws WebhookCallFailed; a key that was received stays pending and is taken into use later. AppError CONFLICT
   *   where the link changed meanwhile
   */
  rotate(link: WebhookLink, by: Id<'usr'>, transaction: Transaction): Promise<string>;

  /**
   * Takes a pending key into use if the webhook knows it. It may have done so already: then the answer to the health
   * call was lost, and the former key ends in ten minutes.
   *
   * @returns whether a key was taken into use
   */
  complete(link: WebhookLink): Promise<boolean>;
}

export function createKeyRotation(options: {
  readonly links: Pick<WebhookLinkStore, 'find'>;
  readonly unitOfWork: UnitOfWork;
  readonly webhook: LinkedWebhook;
  readonly keys: WebhookKeys;
}): KeyRotation {
  const { links, unitOfWork, webhook, keys } = options;

  const activate = async (
    link: WebhookLink,
    key: WrappedHmacKey,
    by: Id<'usr'> | undefined,
    repeat = true,
  ): Promise<boolean> => {
    await webhook.healthUnder(link, key, repeat);
    const { vaultId, webhookId } = link;
    const detail = { webhookId, keyId: key.id, formerKeyId: link.key.id };
    const event: NewAuditEvent = {
      vaultId,
      eventType: 'WEBHOOK_SECRET_ROTATED',
      outcome: 'success',
      ...(by !== undefined && { userId: by }),
      detail,
    };
    return unitOfWork.run(vaultId, async ({ webhookLinks, audit }) => {
      if (!(await webhookLinks.activatePendingKey(vaultId, key.id))) return false;
      await audit.append(event);
      return true;
    });
  };

  const receive = async (link: WebhookLink, transaction: Transaction): Promise<WrappedHmacKey> => {
    const { body } = await webhook.requestNewKey(link);
    const parsed = rotateAnswerSchema.safeParse(body);
    const secret = parsed.success ? fromBase64url(parsed.data.hmacSecret) : undefined;
    if (!parsed.success || secret === undefined)
      throw refusal('WEBHOOK_REFUSED', 'The webhook did not send a usable key. The one in use stays.');
    const key = keys.wrap(link.vaultId, { id: parsed.data.keyId, secret });
    const kept = await transaction(({ webhookLinks }) => webhookLinks.setPendingKey(link, key));
    if (!kept) throw changedMeanwhile();
    return key;
  };

  const complete = async (link: WebhookLink, repeat = false): Promise<boolean> =>
    link.pendingKey !== undefined && activate(link, link.pendingKey, undefined, repeat);

  /** What an earlier rotation left behind comes first: its key may be the only one that the webhook still takes. */
  const settle = async (link: WebhookLink): Promise<WebhookLink> => {
    const completed = await complete(link, true).catch((error: unknown) => {
      if (error instanceof WebhookCallFailed && error.failure === 'refused') return false;
      throw error;
    });
    return completed ? ((await links.find(link.vaultId)) ?? link) : link;
  };

  return {
    rotate: async (found, by, transaction) => {
      const link = await settle(found);
      const key = await receive(link, transaction);
      if (await activate(link, key, by)) return key.id;
      // The background job may have been faster; what counts is that the key is in use.
      if ((await links.find(link.vaultId))?.key.wrapped === key.wrapped) return key.id;
      throw changedMeanwhile();
    },
    complete: (link) => complete(link),
  };
}

const changedMeanwhile = () =>
  refusal(
    'CONFLICT',
    'Another rotation or an unbinding came in between. Look at the webhook, then try again.',
  );

const PAGE = 100;
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 5 * 60_000;

/**
 * Takes keys into use whose rotation was interrupted. It must not wait for somebody to ask: where only the answer was
 * lost, the webhook has already changed over, and takes the former key for ten minutes more.
 */
export function createRotationCompletion(options: {
  readonly links: Pick<WebhookLinkStore, 'withPendingKey'>;
  readonly rotation: Pick<KeyRotation, 'complete'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
}): { run(): Promise<void> } {
  const { links, rotation, clock, logger } = options;
  const turns = createWebhookTurns({ clock, firstPauseMs: FIRST_PAUSE_MS, maxPauseMs: MAX_PAUSE_MS });
  return {
    run: async () => {
      let after: Id<'vlt'> | undefined;
      do {
        const page = await links.withPendingKey({ after, limit: PAGE });
        for (const link of page)
          turns.begin(
            link.vaultId,
            async () => void (await rotation.complete(link)),
            (error, retryInMs) =>
              logger.warn(
                { err: error, vaultId: link.vaultId, retryInMs },
                'a new webhook key is not in use yet',
              ),
          );
        after = page.length === PAGE ? page.at(-1)?.vaultId : undefined;
      } while (after !== undefined);
      await turns.settled();
    },
  };
}
