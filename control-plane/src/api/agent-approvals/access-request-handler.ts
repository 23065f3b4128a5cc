import type { DirectHandler } from '@svault/server-kit/direct-routes';
import { rejectMethod } from '@svault/server-kit/request-handler';
import { JSON_CONTENT, respond } from '@svault/server-kit/respond';
import { apiHeaderList } from '@svault/server-kit/security-headers';
import { withStaticHeaders } from '@svault/server-kit/static-headers';
import { isServiceName } from '@svault/shared';
import * as z from 'zod';
import { MAX_REASON_CHARACTERS, toldOf } from '../../core/approval.ts';
import { type Access, plainDenial } from '../../access/decision.ts';
import { agentKeyCredential } from '../../core/agent.ts';
import { credentialFromHeaders } from '../http/credential-from-headers.ts';
import { createDenialWriter } from '../http/denial-response.ts';
import type { OriginReader } from '../http/request-origin.ts';
import { isReason } from '../http/waiting.ts';
import { BODY_LIMITS, parseInput, readJsonBody } from '../management/parse-input.ts';

export const ACCESS_REQUESTS_PATH = '/api/agents/access-requests';

const requestSchema = z.strictObject({
  service: z.string(),
  reason: z.string().refine(isReason, `must be text of 1 to ${MAX_REASON_CHARACTERS} characters`).optional(),
});

/**
 * `POST /api/agents/access-requests`: an agent asks for a grant. 202 with where it is decided; 200 where it has the grant. It
 * counts as a request for a credential, and, until there is a grant, as one without.
 */
export function createAccessRequestHandler(options: {
  readonly access: Access;
  readonly originOf: OriginReader;
  /** The public address is https. */
  readonly https: boolean;
}): DirectHandler {
  const { access, originOf } = options;
  const staticHeaders = apiHeaderList(options);
  const sendDenial = createDenialWriter(staticHeaders.flat());
  const headers = [...staticHeaders.flat(), ...JSON_CONTENT];

  const handle: DirectHandler = async (req, res) => {
    if (req.method !== 'POST') rejectMethod(req, ['POST']);
    const key = credentialFromHeaders(req, 'x-agent-key');
    if (key === undefined) return sendDenial(res, plainDenial('MISSING_KEY'));
    const credential = agentKeyCredential(key);
    if (credential === undefined) return sendDenial(res, plainDenial('INVALID_KEY'));
    const body = await readJsonBody(req, BODY_LIMITS.unauthenticated);
    const { service, reason } = parseInput(requestSchema, body ?? {});
    const decision = await access.decide({
      ...{ credential, channel: 'rest', reason, origin: originOf(req, 'rest', credential.prefix) },
      operation: { kind: 'access_request', serviceName: isServiceName(service) ? service : undefined },
    });
    if (decision.outcome === 'denied') return sendDenial(res, decision.denial);
    if (decision.outcome !== 'access_requested')
      throw new Error(`a request for a grant was decided as ${decision.outcome}`);
    const { approval } = decision;
    const answer =
      approval === undefined ? { granted: true } : { granted: false, approval: toldOf(approval) };
    respond(res, { status: approval === undefined ? 200 : 202, headers, body: JSON.stringify(answer) });
  };

  return withStaticHeaders(staticHeaders, handle);
}
