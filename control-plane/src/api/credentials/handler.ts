import type { DirectHandler } from '@svault/server-kit/direct-routes';
import { rejectMethod } from '@svault/server-kit/request-handler';
import { JSON_CONTENT, respond } from '@svault/server-kit/respond';
import { apiHeaderList } from '@svault/server-kit/security-headers';
import { withStaticHeaders } from '@svault/server-kit/static-headers';
import { didYouMean, formatTime, isServiceName } from '@svault/shared';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Access, type Decision, type Operation, plainDenial } from '../../access/decision.ts';
import { agentKeyCredential } from '../../core/agent.ts';
import { prefersJson } from '../http/accept.ts';
import type { OriginReader } from '../http/request-origin.ts';
import { credentialFromHeaders } from '../http/credential-from-headers.ts';
import { createDenialWriter } from '../http/denial-response.ts';
import { type Asking, readAsking, waitingOf } from '../http/waiting.ts';

export const CREDENTIALS_PATH = '/api/agents/credentials';

/**
 * `GET /api/agents/credentials` (specification, "Endpoints"): a ticket for the webhook, or the list of grants.
 *
 * Mounted for every method of its path and before the headers of other routes: it writes its own, built once.
 */
export function createCredentialHandler(options: {
  readonly access: Access;
  readonly originOf: OriginReader;
  /** The public address is https. */
  readonly https: boolean;
}): DirectHandler {
  const { access, originOf } = options;
  const staticHeaders = apiHeaderList(options);
  const sendDenial = createDenialWriter(staticHeaders.flat());
  const json = [...staticHeaders.flat(), ...JSON_CONTENT];
  const negotiated = [...json, 'Vary', 'Accept'];

  const handle: DirectHandler = async (req, res) => {
    if (req.method !== 'GET') rejectMethod(req, ['GET']);
    const key = credentialFromHeaders(req, 'x-agent-key');
    if (key === undefined) return sendDenial(res, plainDenial('MISSING_KEY'));
    const { operation, redirect, asking } = credentialQuery(req);
    const credential = agentKeyCredential(key);
    const decision = await access.decide({
      credential,
      channel: 'rest',
      operation,
      reason: asking.reason,
      waiting: waitingOf(asking, res),
      origin: originOf(req, 'rest', credential?.prefix),
    });
    if (decision.outcome === 'ticket') sendTicket(res, decision, redirect);
    else if (decision.outcome === 'denied') sendDenial(res, decision.denial);
    else if (decision.outcome === 'grants')
      respond(res, { status: 200, headers: json, body: JSON.stringify({ grants: decision.grants }) });
    else throw new Error(`an agent's request was decided as ${decision.outcome}`);
  };

  /**
   * 307 to the webhook, or 200 for a client that prefers JSON or asks for no redirect: many HTTP clients take the key along
   * to the webhook's host. The body has the members of MCP's `get_credential`.
   */
  function sendTicket(
    res: ServerResponse,
    { url, expiresAt }: Extract<Decision, { readonly outcome: 'ticket' }>,
    redirect = !prefersJson(res.req.headers.accept),
  ): void {
    const body = `{"url":${JSON.stringify(url)},"method":"GET","expiresAt":"${formatTime(expiresAt)}"}`;
    if (redirect) respond(res, { status: 307, headers: [...negotiated, 'Location', url], body });
    else respond(res, { status: 200, headers: negotiated, body });
  }

  return withStaticHeaders(staticHeaders, handle);
}

/** The operation of a request, and the form in which it wants a ticket. */
interface CredentialQuery {
  readonly operation: Operation;
  /** Undefined: as the `Accept` header has it. */
  readonly redirect: boolean | undefined;
  readonly asking: Asking;
}

const NOTHING_ASKED = { redirect: undefined, asking: { wait: 0, reason: undefined } } as const;
const LIST: CredentialQuery = { operation: { kind: 'grants' }, ...NOTHING_ASKED };

const malformed = (message: string): CredentialQuery => ({
  operation: { kind: 'malformed', message },
  ...NOTHING_ASKED,
});

const PARAMETERS = ['service', 'redirect', 'wait', 'reason'];
const ASKING = { wait: 'The parameter `wait`', reason: 'The parameter `reason`' };
/** Specification: a key in a query is not accepted. It is not looked at, whatever it holds. */
const KEY_PARAMETER = 'key';
const MAX_NAMED = 50;

/** Reads the query, decoded. */
function credentialQuery({ url = '' }: IncomingMessage): CredentialQuery {
  const start = url.indexOf('?');
  if (start === -1) return LIST;
  const query = new URLSearchParams(url.slice(start + 1));
  for (const parameter of query.keys())
    if (!PARAMETERS.includes(parameter) && parameter !== KEY_PARAMETER) return unknownParameter(parameter);
  const [redirect, ...repeated] = query.getAll('redirect');
  if (repeated.length > 0 || !(redirect === undefined || redirect === 'true' || redirect === 'false'))
    return malformed('The parameter `redirect` must be true or false, given once.');
  const services = query.getAll('service');
  const [name] = services;
  if (name === undefined) return LIST;
  for (const once of ['wait', 'reason'])
    if (query.getAll(once).length > 1) return malformed(`The parameter \`${once}\` must be given once.`);
  const asking = readAsking(query.get('wait') ?? undefined, query.get('reason') ?? undefined, ASKING);
  if ('message' in asking) return malformed(asking.message);
  const serviceName = services.length === 1 && isServiceName(name) ? name : undefined;
  return {
    operation: { kind: 'credential', serviceName },
    redirect: redirect === undefined ? undefined : redirect === 'true',
    asking,
  };
}

/** A misspelt `service` must not read as a request for the list of grants. */
function unknownParameter(parameter: string): CredentialQuery {
  const named = parameter.slice(0, MAX_NAMED).toWellFormed();
  return malformed(`There is no parameter \`${named}\`.${didYouMean(parameter, PARAMETERS)}`);
}
