import {
  type Clock,
  type CredentialTicket,
  type Id,
  type ProxyMethod,
  type TicketClaims,
  formatTime,
  issueTicket,
  timeOrderedToken,
} from '@svault/shared';
import type { AgentSubject, BoundWebhook } from '../access/subject.ts';
import { type Actor, changeBy } from '../core/actor.ts';
import { refusal } from '../core/errors.ts';
import type { Stores } from '../core/stores.ts';
import type { WebhookLink } from '../core/webhook-link.ts';
import type { WebhookKeys } from './webhook-keys.ts';

/**
 * The webhook that tickets may be signed for: one that has answered under its key (protocol.md 5.1).
 *
 * @throws AppError WEBHOOK_NOT_CONFIGURED where the vault has none
 */
export async function boundWebhookOf(
  stores: Pick<Stores, 'webhookLinks'>,
  vaultId: Id<'vlt'>,
): Promise<WebhookLink> {
  const link = await stores.webhookLinks.find(vaultId);
  if (link === undefined)
    throw refusal('WEBHOOK_NOT_CONFIGURED', 'No webhook is bound to this vault. Bind one first.');
  if (link.lastSeenAt === undefined)
    throw refusal('WEBHOOK_NOT_CONFIGURED', 'The webhook of this vault has not answered since it was bound.');
  return link;
}

/** protocol.md section 4: the longest life of each kind, in seconds. */
const CREDENTIAL_SECONDS = 60;
const PROXY_SECONDS = 60;
const STORE_SECONDS = 300;

export interface StoreAddress {
  /** Where the secret is to be posted; it never comes here. */
  readonly url: string;
  /** For `Authorization: Bearer`. */
  readonly ticket: string;
  readonly expiresAt: string;
}

/** Issues what the webhook lets agents and owners in by. Each ticket works once. */
export interface Tickets {
  /** For an agent whose request has passed every check. @returns `expiresAt` in epoch ms */
  agentCredentialUrl(
    subject: AgentSubject,
    webhook: BoundWebhook,
    serviceName: string,
  ): { readonly url: string; readonly expiresAt: number };

  /** For one call of `/v1/proxy`: the webhook does not record it, so it is used once and thrown away. */
  proxy(
    vaultId: Id<'vlt'>,
    webhook: BoundWebhook,
    use: { readonly proxyId: Id<'prx'>; readonly serviceName: string; readonly method: ProxyMethod },
  ): string;

  /** @param jkt thumbprint of the recipient's key, for a sealed record */
  ownerCredentialUrl(
    link: WebhookLink,
    userId: Id<'usr'>,
    serviceName: string,
    jkt: string | undefined,
  ): { readonly url: string; readonly expiresAt: string };

  /** @param replaces the version that may be replaced, 0 for none; undefined for any */
  store(
    link: WebhookLink,
    userId: Id<'usr'>,
    serviceName: string,
    replaces: number | undefined,
  ): StoreAddress;
}

/** @param baseUrl the service's own address, byte for byte: `iss` */
export function createTickets(options: {
  readonly baseUrl: string;
  readonly keys: WebhookKeys;
  readonly clock: Clock;
}): Tickets {
  const { baseUrl, keys, clock } = options;

  const sign = (link: LinkKey, claims: TicketClaims): string =>
    issueTicket(claims, keys.open(link.vaultId, { id: link.keyId, wrapped: link.keyWrapped }));

  const nowSeconds = (): number => Math.floor(clock.now() / 1000);

  return {
    agentCredentialUrl: (subject, webhook, serviceName) => {
      const iat = nowSeconds();
      const exp = iat + CREDENTIAL_SECONDS;
      const claims: CredentialTicket = {
        iss: baseUrl,
        aud: webhook.webhookId,
        sub: subject.agentId,
        op: 'credential',
        svc: serviceName,
        jti: timeOrderedToken(iat * 1000),
        iat,
        exp,
        rfp: subject.refreshPolicy ?? 'none',
        ...(subject.grantId !== null && { gnt: subject.grantId }),
        ...(subject.sealingKeyThumbprint !== null && { cnf: { jkt: subject.sealingKeyThumbprint } }),
      };
      const { keyId, keyWrapped } = webhook;
      const ticket = sign({ vaultId: subject.vaultId, keyId, keyWrapped }, claims);
      return { url: credentialUrl(webhook.url, ticket), expiresAt: exp * 1000 };
    },

    proxy: (vaultId, { webhookId, keyId, keyWrapped }, { proxyId, serviceName, method }) => {
      const iat = nowSeconds();
      return sign(
        { vaultId, keyId, keyWrapped },
        {
          iss: baseUrl,
          aud: webhookId,
          sub: proxyId,
          op: 'proxy',
          svc: serviceName,
          jti: timeOrderedToken(iat * 1000),
          iat,
          exp: iat + PROXY_SECONDS,
          htm: method,
          prx: proxyId,
        },
      );
    },

    ownerCredentialUrl: (link, userId, serviceName, jkt) => {
      const iat = nowSeconds();
      const exp = iat + CREDENTIAL_SECONDS;
      const ticket = sign(linkKey(link), {
        iss: baseUrl,
        aud: link.webhookId,
        sub: userId,
        op: 'credential',
        svc: serviceName,
        jti: timeOrderedToken(iat * 1000),
        iat,
        exp,
        rfp: 'none',
        ...(jkt !== undefined && { cnf: { jkt } }),
      });
      return { url: credentialUrl(link.url, ticket), expiresAt: formatTime(exp * 1000) };
    },

    store: (link, userId, serviceName, replaces) => {
      const iat = nowSeconds();
      const exp = iat + STORE_SECONDS;
      const ticket = sign(linkKey(link), {
        iss: baseUrl,
        aud: link.webhookId,
        sub: userId,
        op: 'store',
        svc: serviceName,
        jti: timeOrderedToken(iat * 1000),
        iat,
        exp,
        ...(replaces !== undefined && { ifv: replaces }),
      });
      return { url: `${link.url}/v1/store`, ticket, expiresAt: formatTime(exp * 1000) };
    },
  };
}

interface LinkKey {
  readonly vaultId: string;
  readonly keyId: string;
  readonly keyWrapped: string;
}

const linkKey = ({ vaultId, key }: WebhookLink): LinkKey => ({
  vaultId,
  keyId: key.id,
  keyWrapped: key.wrapped,
});

/** A ticket is base64url and dots: nothing in it needs escaping. */
const credentialUrl = (webhookUrl: string, ticket: string): string =>
  `${webhookUrl}/v1/credential?ticket=${ticket}`;

export interface StoreTickets {
  /**
   * A ticket to store a token's secret at the webhook, with its event in the same transaction.
   *
   * @param replaces the version that may be replaced, 0 for none; undefined for any
   * @throws AppError WEBHOOK_NOT_CONFIGURED
   */
  issue(
    stores: Pick<Stores, 'audit' | 'webhookLinks'>,
    actor: Actor,
    serviceName: string,
    replaces: number | undefined,
  ): Promise<StoreAddress>;
}

export function createStoreTickets(tickets: Pick<Tickets, 'store'>): StoreTickets {
  return {
    issue: async (stores, actor, serviceName, replaces) => {
      const link = await boundWebhookOf(stores, actor.vaultId);
      const detail = replaces === undefined ? undefined : { replaces };
      await stores.audit.append(
        changeBy(actor, 'TOKEN_STORE_TICKET', { serviceName, ...(detail && { detail }) }),
      );
      return tickets.store(link, actor.userId, serviceName, replaces);
    },
  };
}
