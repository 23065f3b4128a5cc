import type { ConcurrencyLimit } from '@svault/server-kit/concurrency-limit';
import type { GroupCommit } from '@svault/server-kit/group-commit';
import {
  AppError,
  type Clock,
  type EndSignal,
  type ProxyTicket,
  createScrub,
  markedNames,
} from '@svault/shared';
import type { TakeAnswer } from '@svault/shared/egress';
import { type ProxyConfig, credentialHeaders } from '@svault/shared/schemas';
import { type Approval, type ApprovedUses, needsApproval } from '../approvals/use-approval.ts';
import { type AuditLog, type OwnEvent, subjectOf } from '../audit/audit-log.ts';
import type { CurrentCredentials } from '../delivery/current-credential.ts';
import { ApiError } from '../errors.ts';
import type { OpenRecord, Vault } from '../vault/vault.ts';
import { REJECTIONS } from './follow-redirects.ts';
import type { Forward, UpstreamCall } from './forward.ts';
import { type AllowedCall, type RequestedCall, destinationNotAllowed, mustAllowCall } from './allow-call.ts';
import { approvedOperation } from './approved-operation.ts';
import { type PreparedCall, prepareInjection, upstreamCall } from './inject.ts';
import type { ProxyConfigs } from './proxy-configs.ts';
import { withoutHiddenTools } from './tool-list-filter.ts';

type TicketedCall = RequestedCall & { readonly ticket: ProxyTicket };

/** A verified call of an agent, as the control plane sent it. */
interface ProxiedRequest<Rejection extends string> extends TicketedCall {
  /** Claims the request's nonce in an open transaction. */
  claimNow(): 'claimed' | Rejection;
  /** Aborted when the caller has disconnected. */
  readonly signal: EndSignal;
}

/**
 * Calls a proxy's upstream with the credential injected, and streams the answer back (PROTOCOL.md section 5.6).
 *
 * The log has the use before the upstream is called, in one commit with the claim of the nonce, unless a provider or
 * minter must be called for the credential first. A rejection is logged alike. Where the call then fails, or the upstream
 * rejects the credential, a second entry of the same ticket says so.
 *
 * @param take gets the head of the upstream's answer, without the fields that end here
 * @returns undefined once the answer was streamed or broken off; otherwise why the nonce could not be claimed
 * @throws ApiError NOT_FOUND, DESTINATION_NOT_ALLOWED, REQUEST_NOT_ALLOWED, APPROVAL_REQUIRED, NOT_INJECTABLE,
 *   RATE_LIMITED, UPSTREAM_ERROR, UPSTREAM_TIMEOUT and those of {@link CurrentCredentials}, all before `take` was called
 */
export type CallThroughProxy = <Rejection extends string>(
  request: ProxiedRequest<Rejection>,
  take: TakeAnswer,
) => Promise<{ readonly unclaimable: Rejection } | undefined>;

/** What may be sent, or why nothing is. */
type Decision =
  | { readonly prepared: PreparedCall; readonly allowed: AllowedCall; readonly approval: Approval }
  | { readonly error: unknown };
/** Or a record whose credential a provider or minter must be called for. */
type FirstDecision = Decision | { readonly record: OpenRecord; readonly approval: Approval };

/** When another call of a proxy at its limit may be tried. */
const RETRY_SECONDS = 1;

export function createCallThroughProxy(deps: {
  readonly proxyConfigs: Pick<ProxyConfigs, 'get'>;
  readonly vault: Pick<Vault, 'open'>;
  readonly credentials: CurrentCredentials;
  readonly approvedUses: ApprovedUses;
  readonly forward: Forward;
  readonly openStreams: ConcurrencyLimit;
  readonly audit: Pick<AuditLog, 'append' | 'appendNow'>;
  readonly commit: GroupCommit;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
}): CallThroughProxy {
  const { proxyConfigs, vault, credentials, approvedUses, forward, openStreams, audit, commit, clock } = deps;

  const configOf = ({ prx, svc }: ProxyTicket): ProxyConfig => {
    const config = proxyConfigs.get(prx);
    if (config === undefined) throw new ApiError('NOT_FOUND', 'there is no proxy of that id');
    if (config.serviceName !== svc) throw destinationNotAllowed({ cause: 'service' }, config);
    return config;
  };
  const recordOf = (config: ProxyConfig): OpenRecord => {
    const record = vault.open(config.serviceName);
    if (record === undefined) throw new ApiError('NOT_FOUND', 'there is no credential of that name');
    return record;
  };

  const mustBeApprovedNow = (
    request: TicketedCall,
    config: ProxyConfig,
    record: OpenRecord,
    { sent, isMcp }: AllowedCall,
  ): Approval => {
    const use = approvedOperation({ ...request, ...sent }, config, isMcp);
    return use && approvedUses.mustBeApprovedNow(record, request.ticket.sub, use);
  };

  /** In an open transaction: what a call comes to, which the log then has. */
  const decideNow = (request: TicketedCall): FirstDecision => {
    const { ticket } = request;
    try {
      const config = configOf(ticket);
      const record = recordOf(config);
      const allowed = mustAllowCall(request, config, record);
      const approval = needsApproval(record, 'proxy')
        ? mustBeApprovedNow(request, config, record, allowed)
        : undefined;
      const credential = credentials.atHand(record, ticket.sub);
      const decision: FirstDecision =
        credential === undefined
          ? { record, approval }
          : { prepared: prepareInjection(config, credential), allowed, approval };
      approvedUses.useUpNow(approval);
      return decision;
    } catch (error) {
      return { error };
    }
  };
  const logNow = (ticket: ProxyTicket, decision: FirstDecision): void => {
    if ('prepared' in decision) audit.appendNow(usedEvent(ticket, decision));
    if ('error' in decision) audit.appendNow(refusedEvent(ticket, decision.error));
  };
  /** The decision of a call whose credential a provider or minter must be called for. */
  const decideLater = async (
    request: TicketedCall,
    { record, approval }: Extract<FirstDecision, { readonly record: OpenRecord }>,
  ): Promise<Decision> => {
    const { ticket } = request;
    let decision: Decision;
    try {
      const credential = await credentials.obtain(record, ticket.sub);
      // Read and checked again: in the seconds that a provider took, the proxy may have been changed or deleted, and the
      // credential stored again, for other hosts.
      const config = configOf(ticket);
      const allowed = mustAllowCall(request, config, credential.record);
      if (needsApproval(credential.record, 'proxy'))
        approvedUses.mustBeOf(
          approval,
          credential.record,
          ticket.sub,
          approvedOperation({ ...request, ...allowed.sent }, config, allowed.isMcp),
        );
      decision = { prepared: prepareInjection(config, credential), allowed, approval };
    } catch (error) {
      decision = { error };
    }
    await commit.run(() => logNow(ticket, decision));
    return decision;
  };

  type Call = Omit<UpstreamCall, 'waitedMs'>;
  const signed = async (call: Call, { signing }: PreparedCall): Promise<Call> => {
    const { target } = call;
    if (signing === undefined || target === undefined) return call;
    // The signing library takes memory and time to load, so it is loaded at first use.
    const { signForAws } = await import('./aws-signature.ts');
    return { ...call, headers: await signForAws({ ...call, target }, signing, clock.now()) };
  };

  return async (request, take) => {
    const { ticket, claimNow } = request;
    const startedMs = clock.monotonic();
    const closeStream = openStreams.take(ticket.prx);
    try {
      const first = await commit.run(() => {
        const claimed = claimNow();
        if (claimed !== 'claimed') return { unclaimable: claimed };
        const decision: FirstDecision =
          closeStream === undefined ? { error: tooManyCalls() } : decideNow(request);
        logNow(ticket, decision);
        return decision;
      });
      if ('unclaimable' in first) return first;
      // The nonce is claimed by now, so that a replay calls no provider.
      const decision = 'record' in first ? await decideLater(request, first) : first;
      if ('error' in decision) throw decision.error;
      const { prepared, allowed } = decision;
      const call = await signed(upstreamCall({ ...request, ...allowed.sent }, prepared), prepared);
      const waitedMs = clock.monotonic() - startedMs;
      const { showsTool } = allowed;
      const takeShown = showsTool === undefined ? take : withoutHiddenTools(showsTool, take);
      let rejection: Promise<void> | undefined;
      const takeLogged: TakeAnswer = (head) => {
        const taker = takeShown(head);
        if (REJECTIONS.has(head.status)) {
          rejection = audit.append(rejectedEvent(ticket, head.status));
          rejection.catch(() => undefined);
        }
        return taker;
      };
      try {
        await forward({ ...call, waitedMs }, scrubOf(prepared), takeLogged);
      } catch (error) {
        await audit.append(refusedEvent(ticket, error));
        throw error;
      }
      await rejection;
      return undefined;
    } finally {
      closeStream?.();
    }
  };
}

function scrubOf({ secrets, parameters }: PreparedCall): ReturnType<typeof createScrub> {
  const scrubs = secrets.map((secret) => createScrub(secret, { inQuery: parameters.length > 0 }));
  return (fields) => scrubs.reduce((left, scrub) => scrub(left), [...fields]);
}

function usedEvent(
  ticket: ProxyTicket,
  { prepared, allowed, approval }: Extract<Decision, { readonly prepared: PreparedCall }>,
): OwnEvent {
  const { config, version, signing } = prepared;
  const { host } = new URL(config.upstreamUrl);
  const headers = credentialHeaders(config);
  const query = config.queryTemplates && { query: markedNames(config.queryTemplates) };
  const { jti, htm } = ticket;
  const scope = signing && { signed: signing.scope };
  const detail = {
    jti,
    htm,
    version,
    config: config.version,
    host,
    headers,
    ...query,
    ...scope,
    ...allowed.rule,
    approval: approval?.id,
  };
  return { ...useOf(ticket), outcome: 'success', detail };
}

function refusedEvent(ticket: ProxyTicket, error: unknown): OwnEvent {
  const { jti, htm } = ticket;
  if (!isAppError(error)) return { ...useOf(ticket), outcome: 'error', detail: { jti, htm } };
  const { code, reason } = error;
  const outcome = code.startsWith('UPSTREAM_') ? 'error' : 'denied';
  return { ...useOf(ticket), outcome, detail: { jti, htm, code, reason } };
}

function rejectedEvent(ticket: ProxyTicket, status: number): OwnEvent {
  const { jti, htm } = ticket;
  const detail = { jti, htm, code: 'UPSTREAM_UNAUTHORIZED', reason: String(status) };
  return { ...useOf(ticket), outcome: 'error', detail };
}

function useOf({ svc, sub, prx }: ProxyTicket): Omit<OwnEvent, 'outcome'> {
  return { eventType: 'CREDENTIAL_INJECTED', serviceName: svc, ...subjectOf(sub), proxyId: prx };
}

const isAppError = (error: unknown): error is AppError => error instanceof AppError;

const tooManyCalls = (): Error =>
  new ApiError('RATE_LIMITED', 'too many calls of this proxy are under way', {
    details: { retryAfter: RETRY_SECONDS },
  });
