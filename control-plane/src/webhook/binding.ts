import {
  type Clock,
  type HmacKey,
  constantTimeEqual,
  formatTime,
  fromBase64url,
  sha256,
  utf8,
} from '@svault/shared';
import { exchangeAnswerSchema } from '@svault/shared/schemas';
import { type Actor, eventBy } from '../core/actor.ts';
import { invalidArgument, ApiError } from '../core/errors.ts';
import type { Transaction } from '../core/stores.ts';
import type { WebhookLink, WebhookLinkStore } from '../core/webhook-link.ts';
import { WebhookCallFailed } from './call-failed.ts';
import type { SignedClient } from './client.ts';
import { type WebhookClient, type WebhookStatus, callHealth } from './retrying-client.ts';
import type { BindOffer } from './registration-link.ts';
import type { WebhookKeys } from './webhook-keys.ts';
import { whyUnreachable } from './why-unreachable.ts';

/** Binds a vault to its webhook (PROTOCOL.md section 5.1). */
export type WebhookBinder = ReturnType<typeof createWebhookBinder>;

export function createWebhookBinder(options: {
  readonly links: Pick<WebhookLinkStore, 'find' | 'noteSeen'>;
  readonly client: SignedClient;
  readonly webhook: WebhookClient;
  readonly keys: WebhookKeys;
  readonly clock: Clock;
  /** The control plane's address, which the webhook compares with its setting. */
  readonly baseUrl: string;
}) {
  const { links, client, keys, clock, baseUrl } = options;
  /** Vaults with a binding in flight: a second one would only spend another code. */
  const inFlight = new Set<string>();

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

  const confirm = async (link: WebhookLink): Promise<WebhookStatus> => {
    const seen = await callHealth(options, link, { retry: true });
    if (seen.webhookId !== link.webhookId) throw notTheProtocol();
    await seen.note();
    return { link: seen.link, reachable: true };
  };

  return {
    /**
     * Exchanges the code for a secret, checks it against the fingerprint that the owner confirmed, stores the link, and
     * makes a health call under the new key, which completes the binding at the webhook.
     *
     * The link is stored before the health call, and kept where that gets no answer: else a webhook could be bound to a key
     * that is lost. The next signed call then completes the binding.
     *
     * @param transaction checks the vault's lock
     * @returns the link, and whether the webhook has answered under its key
     * @throws ApiError CONFLICT where a webhook is bound, INVALID_ARGUMENT for an address that egress denies,
     *   WEBHOOK_REFUSED or WEBHOOK_UNAVAILABLE with the next step; nothing is stored then
     */
    bind: async (actor: Actor, offer: BindOffer, transaction: Transaction): Promise<WebhookStatus> => {
      if (inFlight.has(actor.vaultId)) throw conflict('Another binding is under way; wait for it.');
      inFlight.add(actor.vaultId);
      try {
        if ((await links.find(actor.vaultId)) !== undefined) throw conflict();
        const link = await exchange(actor, offer).catch(explain);
        await transaction(async (stores) => {
          if (!(await stores.webhookLinks.insert(link))) throw conflict();
          await stores.audit.append(eventBy(actor, 'WEBHOOK_BOUND', { detail: detailOf(link) }));
        });
        return await confirm(link).catch(async (error: unknown) => {
          if (error instanceof WebhookCallFailed && error.failure === 'unreachable')
            return { link, reachable: false };
          await transaction(async (stores) => {
            await stores.webhookLinks.delete(link.vaultId);
            await stores.audit.append(eventBy(actor, 'WEBHOOK_UNBOUND', { detail: detailOf(link) }));
          });
          return explain(error);
        });
      } finally {
        inFlight.delete(actor.vaultId);
      }
    },
  };
}

const detailOf = ({ webhookId, url, key }: WebhookLink) => ({ webhookId, url, keyId: key.id });

/** @returns the secret @throws ApiError WEBHOOK_REFUSED where it does not have the fingerprint that the owner confirmed */
function checkedSecret(hmacSecret: string, hmacHash: string): Uint8Array {
  const secret = fromBase64url(hmacSecret);
  if (secret !== undefined && constantTimeEqual(sha256(secret), Buffer.from(hmacHash, 'hex'))) return secret;
  throw new ApiError(
    'WEBHOOK_REFUSED',
    'The webhook sent a secret with another fingerprint than the link, so another server may be intercepting the call. ' +
      'Nothing is stored. Check the address, then make a new link.',
    { reason: 'SHA-256 of the exchanged secret differs from hmac_hash' },
  );
}

const notTheProtocol = () =>
  new ApiError(
    'WEBHOOK_REFUSED',
    'The answer from this address does not follow the webhook protocol. Nothing is stored. Check the address, then make a new link.',
  );

const conflict = (message = 'A webhook is bound to this vault. Unbind it first.') =>
  new ApiError('CONFLICT', message);

const NEW_LINK = "Make a new link: press connect on the webhook's /bind page, or run its bind-link.";

/** The denial of a binding, with the owner's next step. Errors other than failed calls pass unchanged. */
function explainBindFailure(error: unknown, baseUrl: string): unknown {
  if (!(error instanceof WebhookCallFailed)) return error;
  const about = { cause: error, reason: error.message };
  switch (error.failure) {
    case 'held_back':
    case 'unreachable':
      return new ApiError(
        'WEBHOOK_UNAVAILABLE',
        `The webhook cannot be reached from the control plane: ${whyUnreachable(error)} Nothing is stored. ${NEW_LINK}`,
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
      return new ApiError(
        'WEBHOOK_REFUSED',
        `The answer from this address does not follow the webhook protocol. Nothing is stored. Check the address and any proxy in front of it. ${NEW_LINK}`,
        about,
      );
    case 'refused':
      return new ApiError('WEBHOOK_REFUSED', `${explainCode(error.code, baseUrl)} Nothing is stored.`, {
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
      return `The webhook does not know this link, or its clock differs from ours by more than 30 seconds, or it was restored less than 30 seconds ago, or it checks signatures against another address than the link's webhook_url. ${NEW_LINK}`;
    case 'INVALID_REQUEST':
      return `The webhook is set up for another service. Set its SV_WEBHOOK_SERVICE_URL to ${baseUrl}. ${NEW_LINK}`;
    case 'RATE_LIMITED':
      return 'The webhook has had too many attempts. Wait a minute, then open the link again.';
    default:
      return `The webhook refused (${code}). ${NEW_LINK}`;
  }
}
