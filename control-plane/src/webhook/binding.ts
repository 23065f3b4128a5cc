import {
  type Clock,
  type HmacKey,
  constantTimeEqual,
  formatTime,
  fromBase64url,
  sha256,
  utf8,
} from '@svault/shared';
import { exchangeAnswerSchema, signedHealthSchema } from '@svault/shared/schemas';
import { type Actor, changeBy } from '../core/actor.ts';
import { invalidArgument, refusal } from '../core/errors.ts';
import type { Transaction } from '../core/stores.ts';
import type { WebhookLink, WebhookLinkStore } from '../core/webhook-link.ts';
import { WebhookCallFailed } from './call-failed.ts';
import type { SignedClient } from './client.ts';
import type { LinkedWebhook } from './retrying-client.ts';
import type { BindOffer } from './registration-link.ts';
import type { WebhookKeys } from './webhook-keys.ts';

/** Makes a webhook the one that holds a vault's credentials (protocol.md 5.1). */
export interface WebhookBinder {
  /**
   * Exchanges the code for a secret, checks it against the fingerprint that the owner saw, stores the link, and has
   * the webhook answer under the new key, which seals its side.
   *
   * The link is stored before that last call: a kill in between must not leave a webhook that is sealed to a key
   * nobody has. For the same reason it stays when the call got no answer; the next signed call then seals.
   *
   * @param transaction one transaction, which looks at the vault's lock
   * @returns the link, and whether the webhook answered under its key already
   * @throws AppError CONFLICT where one is bound, INVALID_ARGUMENT for an address that must not be called,
   *   WEBHOOK_REFUSED or WEBHOOK_UNAVAILABLE with what to do next; nothing is stored then
   */
  bind(
    actor: Actor,
    offer: BindOffer,
    transaction: Transaction,
  ): Promise<{ link: WebhookLink; reachable: boolean }>;
}

export function createWebhookBinder(options: {
  readonly links: Pick<WebhookLinkStore, 'find' | 'noteSeen'>;
  readonly client: SignedClient;
  readonly webhook: LinkedWebhook;
  readonly keys: WebhookKeys;
  readonly clock: Clock;
  /** Our own address, which the webhook compares with the one it is set up for. */
  readonly baseUrl: string;
}): WebhookBinder {
  const { links, client, webhook, keys, clock, baseUrl } = options;
  /** Vaults with a binding under way: a second one would use up another code for nothing. */
  const underWay = new Set<string>();

  const exchange = async ({ vaultId, userId }: Actor, offer: BindOffer): Promise<WebhookLink> => {
    const { body } = await client.call({
      url: offer.webhookUrl,
      path: '/v1/exchange',
      key: { id: 'bind', secret: utf8(offer.code) },
      body: { code: offer.code, service: { baseUrl, vaultId } },
    });
    const parsed = exchangeAnswerSchema.safeParse(body);
    if (!parsed.success) throw notTheProtocol();
    const { webhookId, keyId, hmacSecret, capabilities } = parsed.data;
    const key: HmacKey = { id: keyId, secret: checkedSecret(hmacSecret, offer.hmacHash) };
    return {
      vaultId,
      webhookId,
      url: offer.webhookUrl,
      key: keys.wrap(vaultId, key),
      pendingKey: undefined,
      capabilities,
      boundAt: formatTime(clock.now()),
      boundBy: userId,
      lastSeenAt: undefined,
      latencyMs: undefined,
    };
  };

  const explain = (error: unknown): never => {
    throw explainBindFailure(error, baseUrl);
  };

  const confirm = async (link: WebhookLink): Promise<{ link: WebhookLink; reachable: true }> => {
    const { body, latencyMs } = await webhook.healthUnder(link, link.key);
    const health = signedHealthSchema.safeParse(body);
    if (!health.success || health.data.webhookId !== link.webhookId) throw notTheProtocol();
    const { capabilities } = health.data;
    const at = formatTime(clock.now());
    await links.noteSeen(link, { at, latencyMs, capabilities });
    return { link: { ...link, capabilities, lastSeenAt: at, latencyMs }, reachable: true };
  };

  return {
    bind: async (actor, offer, transaction) => {
      if (underWay.has(actor.vaultId)) throw boundAlready('Another binding is under way; wait for it.');
      underWay.add(actor.vaultId);
      try {
        if ((await links.find(actor.vaultId)) !== undefined) throw boundAlready();
        const link = await exchange(actor, offer).catch(explain);
        await transaction(async (stores) => {
          if (!(await stores.webhookLinks.insert(link))) throw boundAlready();
          await stores.audit.append(changeBy(actor, 'WEBHOOK_BOUND', { detail: detailOf(link) }));
        });
        return await confirm(link).catch(async (error: unknown) => {
          if (error instanceof WebhookCallFailed && error.failure === 'unreachable')
            return { link, reachable: false };
          await transaction(async (stores) => {
            await stores.webhookLinks.delete(link.vaultId);
            await stores.audit.append(changeBy(actor, 'WEBHOOK_UNBOUND', { detail: detailOf(link) }));
          });
          return explain(error);
        });
      } finally {
        underWay.delete(actor.vaultId);
      }
    },
  };
}

const detailOf = ({ webhookId, url, key }: WebhookLink) => ({ webhookId, url, keyId: key.id });

/** The secret, if it is the one whose fingerprint the owner confirmed. */
function checkedSecret(hmacSecret: string, hmacHash: string): Uint8Array {
  const secret = fromBase64url(hmacSecret);
  if (secret !== undefined && constantTimeEqual(sha256(secret), Buffer.from(hmacHash, 'hex'))) return secret;
  throw refusal(
    'WEBHOOK_REFUSED',
    'The webhook sent a secret with another fingerprint than the link, so something may stand between us and it. ' +
      'Nothing is stored. Check the address, then make a new link.',
    { reason: 'SHA-256 of the exchanged secret differs from hmac_hash' },
  );
}

const notTheProtocol = () =>
  refusal(
    'WEBHOOK_REFUSED',
    'What answers at this address is no webhook of this protocol. Nothing is stored. Check the address, then make a new link.',
  );

const boundAlready = (message = 'A webhook is bound to this vault. Unbind it first.') =>
  refusal('CONFLICT', message);

const NEW_LINK = "Make a new link: press connect on the webhook's /bind page, or run its bind-link.";

/** What the owner can do about a binding that failed. Other errors pass unchanged. */
export function explainBindFailure(error: unknown, baseUrl: string): unknown {
  if (!(error instanceof WebhookCallFailed)) return error;
  const about = { cause: error, reason: error.message };
  switch (error.failure) {
    case 'held_back':
    case 'unreachable':
      return refusal(
        'WEBHOOK_UNAVAILABLE',
        `The webhook cannot be reached from here. Nothing is stored. Check that it runs and that its address is right. ${NEW_LINK}`,
        about,
      );
    case 'address':
      return invalidArgument([
        {
          path: 'webhookUrl',
          message:
            'is an address that this service must not call: https and a public address, or one that the operator names in SV_EGRESS_ALLOW or SV_CONNECT_TO',
        },
      ]);
    case 'garbage':
      return refusal(
        'WEBHOOK_REFUSED',
        `What answers at this address is no webhook of this protocol. Nothing is stored. Check the address and what stands before it. ${NEW_LINK}`,
        about,
      );
    case 'refused':
      return refusal('WEBHOOK_REFUSED', `${explainCode(error.code, baseUrl)} Nothing is stored.`, {
        ...about,
        details: { webhookCode: error.code },
      });
  }
}

function explainCode(code: string | undefined, baseUrl: string): string {
  switch (code) {
    case 'CODE_USED':
      return `This link has been used. ${NEW_LINK}`;
    case 'CODE_EXPIRED':
      return `This link is older than five minutes. ${NEW_LINK}`;
    case 'SIGNATURE_INVALID':
      return `The webhook does not know this link, or its clock differs from ours by more than 30 seconds. ${NEW_LINK}`;
    case 'INVALID_REQUEST':
      return `The webhook is set up for another service. Set its SV_WEBHOOK_SERVICE_URL to ${baseUrl}. ${NEW_LINK}`;
    case 'RATE_LIMITED':
      return 'The webhook has had too many attempts. Wait a minute, then open the link again.';
    default:
      return `The webhook refused (${code}). ${NEW_LINK}`;
  }
}
