import { methodNotAllowed } from '@svault/server-kit/request-handler';
import { JSON_CONTENT, respond } from '@svault/server-kit/respond';
import { apiHeaderList } from '@svault/server-kit/security-headers';
import { formatTime, isServiceName } from '@svault/shared';
import type { RequestHandler } from 'express';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ListedGrant } from '../../access/subject.ts';
import { type Access, type Decision, type Operation, plainDenial } from '../../access/decision.ts';
import { agentKeyCredential } from '../../core/agent.ts';
import { prefersJson } from '../http/accept.ts';
import type { ClientAddress } from '../http/client-address.ts';
import { credentialFromHeaders } from '../http/credential-from-headers.ts';
import { createDenialWriter } from '../http/denial-response.ts';
import { withStaticHeaders } from '../http/static-headers.ts';

/** What a request asks for, and in which form it wants a ticket. */
interface CredentialQuery {
  readonly operation: Operation;
  /** Undefined: as the `Accept` header has it. */
  readonly redirect: boolean | undefined;
}

const LIST: CredentialQuery = { operation: { kind: 'grants' }, redirect: undefined };
const MALFORMED: CredentialQuery = { operation: { kind: 'malformed' }, redirect: undefined };

/** Reads `service` and `redirect` out of the query, decoded; `?key=` and all others are not looked at. */
function credentialQuery({ url = '' }: IncomingMessage): CredentialQuery {
  const start = url.indexOf('?');
  if (start === -1) return LIST;
  const query = new URLSearchParams(url.slice(start + 1));
  const services = query.getAll('service');
  const [name] = services;
  if (name === undefined) return LIST;
  const [redirect, ...repeated] = query.getAll('redirect');
  if (repeated.length > 0 || !(redirect === undefined || redirect === 'true' || redirect === 'false'))
    return MALFORMED;
  const serviceName = services.length === 1 && isServiceName(name) ? name : undefined;
  return {
    operation: { kind: 'credential', serviceName },
    redirect: redirect === undefined ? undefined : redirect === 'true',
  };
}

type Ticket = Extract<Decision, { readonly outcome: 'ticket' }>;

/** Writes what an agent is given. */
interface CredentialResponses {
  /**
   * 307 to the webhook, or 200 for a client that prefers JSON or asks for no redirect: many HTTP clients take the key along
   * to the webhook's host. Both bodies have the members of MCP's `get_credential`.
   *
   * @param redirect what the query says of it
   */
  sendTicket(res: ServerResponse, ticket: Ticket, redirect: boolean | undefined): void;
  sendGrants(res: ServerResponse, grants: readonly ListedGrant[]): void;
}

/** @param headers of every response, flat: name, value, name, value, … */
function createCredentialResponses(headers: readonly string[]): CredentialResponses {
  const json = [...headers, ...JSON_CONTENT];
  const negotiated = [...json, 'Vary', 'Accept'];
  return {
    sendTicket: (res, { url, expiresAt }, redirect = !prefersJson(res.req.headers.accept)) => {
      const members = `{"url":${JSON.stringify(url)},"method":"GET","expiresAt":"${formatTime(expiresAt)}"`;
      if (!redirect) return respond(res, { status: 200, headers: negotiated, body: `${members}}` });
      const body = `${members},"code":"FOLLOW_REDIRECT"}`;
      respond(res, { status: 307, headers: [...negotiated, 'Location', url], body });
    },
    sendGrants: (res, grants) =>
      respond(res, { status: 200, headers: json, body: JSON.stringify({ grants }) }),
  };
}

export const CREDENTIALS_PATH = '/api/agents/credentials';

/**
 * `GET /api/agents/credentials` (specification, "Endpoints"): a ticket for the webhook, or the list of grants.
 *
 * Mounted for every method of its path and before the headers of other routes: it writes its own, built once.
 */
export function createCredentialHandler(options: {
  readonly access: Access;
  readonly clientAddress: ClientAddress;
  /** The public address is https. */
  readonly https: boolean;
}): RequestHandler {
  const { access, clientAddress } = options;
  const staticHeaders = apiHeaderList(options);
  const headers = staticHeaders.flat();
  const sendDenial = createDenialWriter(headers);
  const { sendTicket, sendGrants } = createCredentialResponses(headers);
  const rejectMethod = methodNotAllowed(['GET']);

  const handle: RequestHandler = async (req, res, next) => {
    if (req.method !== 'GET') return rejectMethod(req, res, next);
    const key = credentialFromHeaders(req, 'x-agent-key');
    if (key === undefined) return sendDenial(res, plainDenial('MISSING_KEY'));
    const { operation, redirect } = credentialQuery(req);
    const decision = await access.decide({
      credential: agentKeyCredential(key),
      channel: 'rest',
      operation,
      sourceAddress: clientAddress(req),
    });
    if (decision.outcome === 'ticket') sendTicket(res, decision, redirect);
    else if (decision.outcome === 'denied') sendDenial(res, decision.denial);
    else if (decision.outcome === 'grants') sendGrants(res, decision.grants);
    else throw new Error(`an agent's request was decided as ${decision.outcome}`);
  };

  return withStaticHeaders(staticHeaders, handle);
}
