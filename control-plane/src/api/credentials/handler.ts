import type { RequestHandler } from 'express';
import { methodNotAllowed } from '@svault/server-kit/request-handler';
import { apiHeaderList } from '@svault/server-kit/security-headers';
import { type Access, plainDenial } from '../../access/decision.ts';
import { agentKeyCredential } from '../../core/agent.ts';
import type { ClientAddress } from '../http/client-address.ts';
import { withStandingHeaders } from '../http/static-headers.ts';
import { credentialFromHeaders } from '../http/credential-from-headers.ts';
import { createDenialAnswers } from '../http/denial-response.ts';
import { createCredentialAnswers, credentialQuery } from './credential-answer.ts';

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
  const standing = apiHeaderList(options);
  const headers = standing.flat();
  const sendDenial = createDenialAnswers(headers);
  const { sendTicket, sendGrants } = createCredentialAnswers(headers);
  const refuseMethod = methodNotAllowed(['GET']);

  const handle: RequestHandler = async (req, res, next) => {
    if (req.method !== 'GET') return refuseMethod(req, res, next);
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
    else throw new Error(`nobody asked for ${decision.outcome} here`);
  };

  return withStandingHeaders(standing, handle);
}
