import type { GroupCommit } from '@svault/server-kit/group-commit';
import {
  AppError,
  type Clock,
  type HeaderPairs,
  type ProxyTicket,
  createScrub,
  isShortSecret,
  markersIn,
  requestFieldsThatTravel,
  withInjectedFields,
} from '@svault/shared';
import type { TakeAnswer } from '@svault/shared/egress';
import { type ProxyConfig, allowedHostFor } from '@svault/shared/schemas';
import type { AuditLog, OwnEvent } from '../audit/audit-log.ts';
import { subjectOf } from '../audit/subject.ts';
import { refusal } from '../errors.ts';
import type { CurrentCredential, CurrentCredentials } from '../vault/current-credential.ts';
import type { OpenRecord, Vault } from '../vault/vault.ts';
import { destinationMessage, destinationProblem } from './destination.ts';
import type { Forward, UpstreamCall } from './forward.ts';
import { type Headers, injectToken } from './inject.ts';
import type { OpenStreams } from './open-streams.ts';
import type { ProxyConfigs } from './proxy-configs.ts';

/** A verified call of an agent's, as the service sent it. */
export interface ProxiedRequest<Refusal extends string> {
  readonly ticket: ProxyTicket;
  /** Claims the request's nonce inside an open transaction. */
  useNow(): 'admitted' | Refusal;
  /** As received. */
  readonly fields: HeaderPairs;
  /** The agent's, byte for byte; empty where there is none. */
  readonly body: Uint8Array;
  /** Aborted when whoever asked went away. */
  readonly signal: AbortSignal;
}

/**
 * Calls a proxy's upstream with the credential in its place, and hands the answer on as it comes (protocol section 5.6).
 *
 * The use is written into the log before the upstream is called, in one commit with the nonce's claim where nobody has
 * to be asked for the credential first; a refusal is written just the same.
 *
 * @param take told the head of the upstream's answer, without what does not travel
 * @returns undefined once the answer is handed on or broken off; else why the request may not be used
 * @throws AppError NOT_FOUND, DESTINATION_NOT_ALLOWED, NOT_INJECTABLE, RATE_LIMITED, UPSTREAM_ERROR, UPSTREAM_TIMEOUT and
 *   those of {@link CurrentCredentials}, all before `take` was called
 */
export type CallThroughProxy = <Refusal extends string>(
  request: ProxiedRequest<Refusal>,
  take: TakeAnswer,
) => Promise<{ readonly unusable: Refusal } | undefined>;

/** After this many seconds a place may be free again. */
const RETRY_SECONDS = 1;

export function createCallThroughProxy(deps: {
  readonly proxyConfigs: Pick<ProxyConfigs, 'get'>;
  readonly vault: Pick<Vault, 'open'>;
  readonly credentials: CurrentCredentials;
  readonly forward: Forward;
  readonly openStreams: OpenStreams;
  readonly audit: Pick<AuditLog, 'append' | 'appendNow'>;
  readonly commit: GroupCommit;
  readonly clock: Pick<Clock, 'monotonic'>;
}): CallThroughProxy {
  const { proxyConfigs, vault, credentials, forward, openStreams, audit, commit, clock } = deps;

  const configOf = ({ prx, svc }: ProxyTicket): ProxyConfig => {
    const config = proxyConfigs.get(prx);
    if (config === undefined) throw refusal('NOT_FOUND', 'there is no proxy of that id');
    if (config.serviceName !== svc)
      throw notAllowed('service', 'The ticket is for another credential than the proxy’s.');
    return config;
  };
  const recordFor = (config: ProxyConfig): OpenRecord => {
    const record = vault.open(config.serviceName);
    if (record === undefined) throw refusal('NOT_FOUND', 'there is no credential of that name');
    allow(config, record);
    return record;
  };

  return async ({ ticket, useNow, fields, body, signal }, take) => {
    const startedMs = clock.monotonic();
    let used = false;
    /** Claims the nonce, unless it is claimed already, and writes what the request comes to. */
    const enter = async (event?: OwnEvent): Promise<ReturnType<typeof useNow>> => {
      const admission = await commit.run(() => {
        const outcome = used ? 'admitted' : useNow();
        if (outcome === 'admitted' && event !== undefined) audit.appendNow(event);
        return outcome;
      });
      used = true;
      return admission;
    };

    const giveBack = openStreams.take(ticket.prx);
    try {
      let armed: Armed;
      try {
        if (giveBack === undefined) throw tooMany();
        const record = recordFor(configOf(ticket));
        let credential = credentials.atHand(record, ticket.sub);
        if (credential === undefined) {
          // Before anybody is asked, so that a replay asks nobody.
          const admission = await enter();
          if (admission !== 'admitted') return { unusable: admission };
          credential = await credentials.obtain(record, ticket.sub);
        }
        // As it is by now: whoever was asked took seconds, in which the proxy may have been changed or taken away.
        armed = arm(configOf(ticket), credential);
      } catch (error) {
        const admission = await enter(refusedEvent(ticket, error));
        if (admission !== 'admitted') return { unusable: admission };
        throw error;
      }
      const admission = await enter(usedEvent(ticket, armed));
      if (admission !== 'admitted') return { unusable: admission };
      const call = callOf({ ticket, fields, body, signal }, armed);
      const waitedMs = clock.monotonic() - startedMs;
      await forward({ ...call, waitedMs }, createScrub(armed.token), take).catch(async (error: unknown) => {
        // Known only now: the entry before says that it was on its way, and this one that it never left.
        if (isNotAllowed(error)) await audit.append(refusedEvent(ticket, error));
        throw error;
      });
      return undefined;
    } finally {
      giveBack?.();
    }
  };
}

/** What may be sent, and where. */
interface Armed {
  readonly config: ProxyConfig;
  readonly version: number;
  /** Only to find it again in the answer. */
  readonly token: string;
  readonly headers: Headers;
}

/** Looks at the destination again: while somebody was asked, the owner may have stored the secret anew, for other hosts. */
function arm(config: ProxyConfig, { record, accessToken }: CurrentCredential): Armed {
  allow(config, record);
  const token = accessToken.reveal();
  if (record.settings.allowShortSecret !== true && isShortSecret(token))
    throw refusal(
      'NOT_INJECTABLE',
      'The credential has less than 80 bits, so that those who use the proxy could find it out. Store it again with `allowShortSecret: true` to accept that.',
      { reason: 'short_secret' },
    );
  const headers = injectToken(config.headerTemplates, token);
  if (headers === undefined)
    throw refusal('NOT_INJECTABLE', 'the credential cannot stand in a header as the proxy asks for it');
  return { config, version: record.version, token, headers };
}

function allow(config: ProxyConfig, { settings }: OpenRecord): void {
  const problem = destinationProblem(config, settings);
  if (problem === undefined) return;
  // The log names the entry that is missing; what an agent is told is the service’s choice.
  const reason = problem === 'host' ? `host: ${allowedHostFor(new URL(config.upstreamUrl))}` : problem;
  throw notAllowed(reason, destinationMessage(problem, config));
}

function callOf(
  { ticket, fields, body, signal }: Omit<ProxiedRequest<never>, 'useNow'>,
  { config, headers: injected }: Armed,
): Omit<UpstreamCall, 'waitedMs'> {
  const headers = new Map<string, string>();
  for (const [name, value] of requestFieldsThatTravel(fields)) {
    // RFC 9110 section 5.3: lines of one name are one list.
    const former = headers.get(name);
    headers.set(name, former === undefined ? value : `${former}, ${value}`);
  }
  return {
    method: ticket.htm,
    url: config.upstreamUrl,
    headers: {
      ...Object.fromEntries(withInjectedFields([...headers], [...injected])),
      'accept-encoding': 'identity',
    },
    ...(body.byteLength > 0 && { body }),
    partition: ticket.prx,
    signal,
  };
}

function usedEvent(ticket: ProxyTicket, { config, version }: Armed): OwnEvent {
  const { host } = new URL(config.upstreamUrl);
  const headers = Object.entries(config.headerTemplates)
    .filter(([, value]) => markersIn(value) > 0)
    .map(([name]) => name.toLowerCase());
  const detail = { jti: ticket.jti, htm: ticket.htm, version, config: config.version, host, headers };
  return { ...useOf(ticket), outcome: 'success', detail };
}

function refusedEvent(ticket: ProxyTicket, error: unknown): OwnEvent {
  const { jti, htm } = ticket;
  if (!isRefusal(error)) return { ...useOf(ticket), outcome: 'error', detail: { jti, htm } };
  const { code, reason } = error;
  return { ...useOf(ticket), outcome: 'denied', detail: { jti, htm, code, reason } };
}

function useOf({ svc, sub, prx }: ProxyTicket): Omit<OwnEvent, 'outcome'> {
  return { eventType: 'CREDENTIAL_INJECTED', serviceName: svc, ...subjectOf(sub), proxyId: prx };
}

const notAllowed = (reason: string, message: string): Error =>
  refusal('DESTINATION_NOT_ALLOWED', message, { reason });

const isRefusal = (error: unknown): error is AppError => error instanceof AppError;

const isNotAllowed = (error: unknown): boolean =>
  isRefusal(error) && error.code === 'DESTINATION_NOT_ALLOWED';

const tooMany = (): Error =>
  refusal('RATE_LIMITED', 'too many calls of this proxy are under way', {
    details: { retryAfter: RETRY_SECONDS },
  });
