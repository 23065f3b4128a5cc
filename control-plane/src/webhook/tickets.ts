import { CONTROL_PLANE_ERRORS } from '@svault/shared/error-catalog';
import {
  type Clock,
  type Id,
  type TicketClaims,
  formatTime,
  issueTicket,
  newTimeOrderedId,
} from '@svault/shared';
import type { AgentSubject, BoundWebhook } from '../access/subject.ts';
import { type Actor, eventBy } from '../core/actor.ts';
import { ApiError } from '../core/errors.ts';
import type { Stores } from '../core/stores.ts';
import type { WebhookLink } from '../core/webhook-link.ts';
import type { WebhookKeys } from './webhook-keys.ts';

/** PROTOCOL.md section 4: the longest life of each kind. */
const LIFETIME_SECONDS = { credential: 60, proxy: 60, store: 300 } as const;

/** Signs the tickets that agents and owners show to the webhook (PROTOCOL.md section 4). Each works once. */
export type Tickets = ReturnType<typeof createTickets>;

/** @param options.baseUrl the control plane's address, byte for byte: `iss` */
export function createTickets(options: {
  readonly baseUrl: string;
  readonly keys: WebhookKeys;
  readonly clock: Clock;
}) {
  const { baseUrl, keys, clock } = options;

  /** @param jti the id of the request, so that both logs have the same id; it issues one ticket at most */
  const claimsFor = <Op extends TicketClaims['op']>(
    op: Op,
    [aud, sub, svc]: readonly [aud: string, sub: string, svc: string],
    jti: string,
  ) => {
    const iat = Math.floor(clock.now() / 1000);
    const exp = iat + LIFETIME_SECONDS[op];
    return { iss: baseUrl, aud, sub, op, svc, jti, iat, exp };
  };
  const sign = (vaultId: Id<'vlt'>, { keyId, keyWrapped }: SigningKey, claims: TicketClaims): string =>
    issueTicket(claims, keys.open(vaultId, { id: keyId, wrapped: keyWrapped }));

  const ticketIdFor = ({ origin }: Actor): string =>
    origin?.requestId ?? newTimeOrderedId('req', clock.now());

  return {
    /** For an agent whose request passed every check. @returns `expiresAt` in epoch ms */
    agentCredentialUrl: (
      subject: AgentSubject,
      webhook: BoundWebhook,
      serviceName: string,
      requestId: string,
    ) => {
      const about = [webhook.webhookId, subject.agentId, serviceName] as const;
      const claims = claimsFor('credential', about, requestId);
      const ticket = sign(subject.vaultId, webhook, {
        ...claims,
        rfp: subject.refreshPolicy ?? 'none',
        ...(subject.grantId !== null && { gnt: subject.grantId }),
        ...(subject.sealingKeyThumbprint !== null && { cnf: { jkt: subject.sealingKeyThumbprint } }),
      });
      return { url: credentialUrl(webhook.url, ticket), expiresAt: claims.exp * 1000 };
    },

    /** For one call of `/v1/proxy`. */
    proxy: (
      vaultId: Id<'vlt'>,
      webhook: BoundWebhook,
      use: {
        readonly proxyId: Id<'prx'>;
        readonly serviceName: string;
        readonly method: string;
        readonly ticketId: string;
      },
    ): string =>
      sign(vaultId, webhook, {
        ...claimsFor('proxy', [webhook.webhookId, use.proxyId, use.serviceName], use.ticketId),
        htm: use.method,
        prx: use.proxyId,
      }),

    /** @param jkt RFC 7638 thumbprint of the recipient's key, for a sealed record */
    ownerCredentialUrl: (link: WebhookLink, actor: Actor, serviceName: string, jkt: string | undefined) => {
      const about = [link.webhookId, actor.userId, serviceName] as const;
      const claims = claimsFor('credential', about, ticketIdFor(actor));
      const ticket = sign(link.vaultId, signingKeyOf(link), {
        ...claims,
        rfp: 'none',
        ...(jkt !== undefined && { cnf: { jkt } }),
      });
      return { url: credentialUrl(link.url, ticket), expiresAt: formatTime(claims.exp * 1000) };
    },

    /**
     * @param replaces the version that may be replaced, 0 for none; undefined for any
     * @returns where the owner posts the secret, which the control plane never sees, with `ticket` as bearer token
     */
    store: (link: WebhookLink, actor: Actor, serviceName: string, replaces: number | undefined) => {
      const claims = claimsFor('store', [link.webhookId, actor.userId, serviceName], ticketIdFor(actor));
      const ticket = sign(link.vaultId, signingKeyOf(link), {
        ...claims,
        ...(replaces !== undefined && { ifv: replaces }),
      });
      return { url: `${link.url}/v1/store`, ticket, expiresAt: formatTime(claims.exp * 1000) };
    },
  };
}

type SigningKey = Pick<BoundWebhook, 'keyId' | 'keyWrapped'>;

const signingKeyOf = ({ key }: WebhookLink): SigningKey => ({ keyId: key.id, keyWrapped: key.wrapped });

/** A ticket is base64url and dots: nothing in it needs escaping. */
const credentialUrl = (webhookUrl: string, ticket: string): string =>
  `${webhookUrl}/v1/credential?ticket=${ticket}`;

/**
 * The webhook that tickets may be signed for: one that has answered under its key (PROTOCOL.md section 5.1).
 *
 * @throws ApiError WEBHOOK_NOT_CONFIGURED where the vault has none
 */
export async function boundWebhookOf(
  stores: Pick<Stores, 'webhookLinks'>,
  vaultId: Id<'vlt'>,
): Promise<WebhookLink> {
  const link = await stores.webhookLinks.find(vaultId);
  if (link === undefined)
    throw new ApiError('WEBHOOK_NOT_CONFIGURED', CONTROL_PLANE_ERRORS.WEBHOOK_NOT_CONFIGURED.message);
  if (link.lastSeenAt === undefined)
    throw new ApiError(
      'WEBHOOK_NOT_CONFIGURED',
      'The webhook of this vault has not answered since it was bound. Start it, then look with svault webhook status.',
    );
  return link;
}

export type StoreTickets = ReturnType<typeof createStoreTickets>;

export function createStoreTickets(tickets: Pick<Tickets, 'store'>) {
  return {
    /**
     * Signs a ticket to store a token's secret at the webhook, and writes its event in the same transaction.
     *
     * @param replaces the version that may be replaced, 0 for none; undefined for any
     * @throws ApiError WEBHOOK_NOT_CONFIGURED
     */
    issue: async (
      stores: Pick<Stores, 'audit' | 'webhookLinks'>,
      actor: Actor,
      serviceName: string,
      replaces: number | undefined,
    ) => {
      const link = await boundWebhookOf(stores, actor.vaultId);
      const about = replaces === undefined ? { serviceName } : { serviceName, detail: { replaces } };
      await stores.audit.append(eventBy(actor, 'TOKEN_STORE_TICKET', about));
      return tickets.store(link, actor, serviceName, replaces);
    },
  };
}
