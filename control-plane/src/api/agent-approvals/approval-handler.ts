import type { DirectHandler } from '@svault/server-kit/direct-routes';
import { rejectMethod } from '@svault/server-kit/request-handler';
import { JSON_CONTENT, respond } from '@svault/server-kit/respond';
import { apiHeaderList } from '@svault/server-kit/security-headers';
import { withStaticHeaders } from '@svault/server-kit/static-headers';
import { type Clock, formatTime } from '@svault/shared';
import type { LearnStates } from '../../access/approval-waiters.ts';
import { type Access, plainDenial } from '../../access/decision.ts';
import { agentKeyCredential } from '../../core/agent.ts';
import { type CountedApproval, statusOf } from '../../core/approval.ts';
import { notFound } from '../../core/errors.ts';
import type { Stores } from '../../core/stores.ts';
import { credentialFromHeaders } from '../http/credential-from-headers.ts';
import { createDenialWriter } from '../http/denial-response.ts';
import type { OriginReader } from '../http/request-origin.ts';

/** Followed by the id. */
export const APPROVALS_PATH = '/api/agents/approvals';

/** `GET /api/agents/approvals/{id}`: what became of an approval that the agent's own request asked for. */
export function createApprovalHandler(options: {
  readonly access: Access;
  readonly stores: Pick<Stores, 'approvals'>;
  readonly learnStates: LearnStates;
  readonly clock: Clock;
  readonly originOf: OriginReader;
  /** The public address, without trailing slash. */
  readonly baseUrl: string;
  /** The public address is https. */
  readonly https: boolean;
}): DirectHandler {
  const { access, stores, learnStates, clock, originOf, baseUrl } = options;
  const staticHeaders = apiHeaderList(options);
  const sendDenial = createDenialWriter(staticHeaders.flat());
  const headers = [...staticHeaders.flat(), ...JSON_CONTENT];

  const handle: DirectHandler = async (req, res) => {
    if (req.method !== 'GET') rejectMethod(req, ['GET']);
    const key = credentialFromHeaders(req, 'x-agent-key');
    if (key === undefined) return sendDenial(res, plainDenial('MISSING_KEY'));
    const credential = agentKeyCredential(key);
    const decision = await access.decide({
      ...{ credential, channel: 'rest', origin: originOf(req, 'rest', credential?.prefix) },
      operation: { kind: 'admission', traffic: 'agent_credentials' },
    });
    if (decision.outcome === 'denied') return sendDenial(res, decision.denial);
    if (decision.outcome !== 'admitted') throw new Error(`an admission was decided as ${decision.outcome}`);
    const { vaultId, agentId } = decision.caller;
    const read = () => stores.approvals.get(vaultId, idIn(req.url));
    const statusNow = (approval: CountedApproval) => statusOf(approval, formatTime(clock.now()));
    let approval = await read();
    if (approval?.callerType !== 'agent' || approval.callerId !== agentId) throw notFound();
    // What is decided at the webhook is known there.
    if (approval.webhookApprovalId !== undefined && statusNow(approval) === 'pending') {
      await learnStates(vaultId, [approval.webhookApprovalId]);
      approval = (await read()) ?? approval;
    }
    const { id, serviceName, expiresAt, url = `${baseUrl}/approvals/${id}` } = approval;
    const status = statusNow(approval);
    respond(res, { status: 200, headers, body: JSON.stringify({ id, status, serviceName, url, expiresAt }) });
  };

  return withStaticHeaders(staticHeaders, handle);
}

const idIn = (url = ''): string => (url.split('?', 1)[0] ?? '').slice(APPROVALS_PATH.length + 1);
