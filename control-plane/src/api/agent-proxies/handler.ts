import type { DirectHandler } from '@svault/server-kit/direct-routes';
import { rejectMethod } from '@svault/server-kit/request-handler';
import { JSON_CONTENT, respond } from '@svault/server-kit/respond';
import { apiHeaderList } from '@svault/server-kit/security-headers';
import { withStaticHeaders } from '@svault/server-kit/static-headers';
import { type Access, plainDenial } from '../../access/decision.ts';
import { agentKeyCredential } from '../../core/agent.ts';
import { createReadAgentProxies } from '../../management/agent-proxies.ts';
import { credentialFromHeaders } from '../http/credential-from-headers.ts';
import { createDenialWriter } from '../http/denial-response.ts';
import type { OriginReader } from '../http/request-origin.ts';

export const AGENT_PROXIES_PATH = '/api/agents/proxies';

/**
 * `GET /api/agents/proxies`: the proxies of the agent, with their keys. It counts as a request for a credential, and shares
 * the penalty box of those.
 */
export function createAgentProxiesHandler(
  options: Parameters<typeof createReadAgentProxies>[0] & {
    readonly access: Access;
    readonly originOf: OriginReader;
    /** The public address is https. */
    readonly https: boolean;
  },
): DirectHandler {
  const { access, originOf } = options;
  const staticHeaders = apiHeaderList(options);
  const sendDenial = createDenialWriter(staticHeaders.flat());
  const headers = [...staticHeaders.flat(), ...JSON_CONTENT];
  const readProxies = createReadAgentProxies(options);

  const handle: DirectHandler = async (req, res) => {
    if (req.method !== 'GET') rejectMethod(req, ['GET']);
    const key = credentialFromHeaders(req, 'x-agent-key');
    if (key === undefined) return sendDenial(res, plainDenial('MISSING_KEY'));
    const credential = agentKeyCredential(key);
    const origin = originOf(req, 'rest', credential?.prefix);
    const operation = { kind: 'admission', traffic: 'agent_credentials' } as const;
    const decision = await access.decide({ credential, channel: 'rest', operation, origin });
    if (decision.outcome === 'denied') return sendDenial(res, decision.denial);
    if (decision.outcome !== 'admitted') throw new Error(`an admission was decided as ${decision.outcome}`);
    const items = await readProxies(decision.caller, origin);
    respond(res, { status: 200, headers, body: JSON.stringify({ items }) });
  };

  return withStaticHeaders(staticHeaders, handle);
}
