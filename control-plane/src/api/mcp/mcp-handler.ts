import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DirectHandler } from '@svault/server-kit/direct-routes';
import { requestIdOf } from '@svault/server-kit/request-id';
import { apiHeaderList } from '@svault/server-kit/security-headers';
import { withStaticHeaders } from '@svault/server-kit/static-headers';
import { traceCode, traceOfMessage } from '@svault/server-kit/tracing';
import type { Access, AccessRequest, Denial } from '../../access/decision.ts';
import type { OriginReader } from '../http/request-origin.ts';
import { FOREIGN_ORIGIN, createOriginCheck } from '../http/cors.ts';
import { FOREIGN_HOST, type HostCheck } from '../http/host-check.ts';
import { resourceOf } from '../oauth/oauth-paths.ts';
import type { Inbound } from './classify-message.ts';
import { denialResult } from './denial-result.ts';
import { KEY_OF_PROXY, createMcpResponses, isHttpDenial } from './http-responses.ts';
import { waitingOf } from '../http/waiting.ts';
import { presentedToken } from '../http/credential-from-headers.ts';
import { type Read, readMessage } from './read-message.ts';
import type { RespondInProtocol } from './sdk-server.ts';
import type { Granted, Tool } from './tool.ts';
import type { elicitationOf, sessionIdFor } from './url-elicitation.ts';

export const MCP_PATH = '/api/agents/mcp';

/** Response headers that scripts of allowed origins may read. */
const EXPOSED = ['WWW-Authenticate', 'Mcp-Session-Id'];

/**
 * Stands for a message so large that its sender is looked up before the rest is read ({@link readMessage}). It counts once
 * more for that.
 */
const UNREAD: Inbound = {
  id: null,
  operation: { kind: 'admission', traffic: 'mcp_handshake' },
  course: { kind: 'accept' },
};

/**
 * `POST /api/agents/mcp` (specification, "Endpoints"): MCP over Streamable HTTP, every response one JSON document.
 * Authenticates, then authorises, then calls the SDK.
 *
 * Mounted for every method of its path and before the headers of other routes: it writes its own, built once.
 */
export function createMcpHandler(options: {
  readonly access: Access;
  readonly tools: readonly Tool[];
  readonly originOf: OriginReader;
  readonly isOwnHost: HostCheck;
  /** The service's public address, without trailing slash. */
  readonly baseUrl: string;
  readonly allowedOrigins: readonly string[];
}): DirectHandler {
  const { access, originOf, isOwnHost, baseUrl } = options;
  const audience = resourceOf(baseUrl);
  const staticHeaders = apiHeaderList({ https: baseUrl.startsWith('https:') });
  const responses = createMcpResponses(staticHeaders.flat(), baseUrl);
  const checkOrigin = createOriginCheck({
    ownOrigin: new URL(baseUrl).origin,
    allowed: options.allowedOrigins,
    exposed: EXPOSED,
  });
  const protocol = createProtocol(options.tools);

  const handle: DirectHandler = async (req, res) => {
    const origin = checkOrigin(req.headers.origin);
    const cors = origin.allowed ? origin.cors : [];
    if (req.method === 'OPTIONS' && cors.length > 0) return responses.preflight(res, cors);
    if (req.method !== 'POST') return responses.deny(res, cors, 'METHOD_NOT_ALLOWED');
    if (!isOwnHost(req)) return responses.deny(res, cors, 'FORBIDDEN', FOREIGN_HOST);
    if (!origin.allowed) return responses.deny(res, cors, 'FORBIDDEN', FOREIGN_ORIGIN);
    const credential = presentedToken(req, audience);
    if (typeof credential === 'string') {
      const isOfProxy = /^bearer +mcp_/i.test(req.headers.authorization ?? '');
      return responses.deny(res, cors, credential, isOfProxy ? KEY_OF_PROXY : undefined);
    }

    const who = { credential, channel: 'mcp', origin: originOf(req, 'mcp', credential.prefix) } as const;
    const { classify } = await protocol();
    const read = await readMessage(req, async () => {
      const decision = await access.decide({ ...who, operation: UNREAD.operation });
      return decision.outcome === 'denied' ? decision.denial : undefined;
    });
    if ('denial' in read) return deny(UNREAD, read.denial, res, cors);
    traceOfMessage(req, () => ('message' in read ? read.message : undefined));
    const inbound = classify(read, req);
    const decision = await access.decide({ ...who, ...askingOf(inbound, res), operation: inbound.operation });
    if (decision.outcome !== 'denied') return respond(inbound, decision, res, cors);
    return deny(inbound, decision.denial, res, cors);
  };

  type Writing = readonly [res: ServerResponse, cors: readonly string[]];

  async function respond({ id, course }: Inbound, granted: Granted, ...[res, cors]: Writing): Promise<void> {
    if (course.kind === 'accept') return responses.accept(res, cors);
    if (course.kind === 'reject') return responses.rejectMessage(res, cors, id, course.error);
    const { call } = course;
    const result = call && (await call.tool.respond(granted, call.given));
    const { respondInProtocol, sessionIdFor } = await protocol();
    const accessRequests = 'caller' in granted && granted.caller.accessRequests;
    const about = { requestId: requestIdOf(res.req), accessRequests };
    const { status, body } = await respondInProtocol(course, result, about);
    const sessionId = sessionIdFor(course);
    const session = sessionId === undefined ? [] : ['Mcp-Session-Id', sessionId];
    return responses.send(res, [...cors, ...session], status, body);
  }

  async function deny({ id, course }: Inbound, denial: Denial, ...[res, cors]: Writing): Promise<void> {
    const { code } = denial;
    traceCode(res.req, code);
    // A tool that the account has not switched on is none.
    const isNoTool = code === 'FORBIDDEN';
    if (!isNoTool && isHttpDenial(code)) return responses.deny(res, cors, code);
    const result = denialResult(denial);
    if ((result !== undefined || isNoTool) && course.kind === 'serve') {
      const { respondInProtocol, elicitationOf } = await protocol();
      const about = { requestId: requestIdOf(res.req), accessRequests: false };
      const page = elicitationOf(denial, course, res.req.headers['mcp-session-id']?.toString());
      const { status, body } = await respondInProtocol(course, page ?? result, about);
      return responses.send(res, cors, status, body);
    }
    if (code === 'RATE_LIMITED') return responses.limited(res, cors, id, denial.retryAfterSeconds);
    throw new Error(`the pipeline denied a request of MCP with ${code}`);
  }

  return withStaticHeaders(staticHeaders, handle);
}

/** What a call of a tool says about approvals that it may need. */
function askingOf({ course }: Inbound, res: ServerResponse): Pick<AccessRequest, 'reason' | 'waiting'> {
  const call = course.kind === 'serve' ? course.call : undefined;
  const asking = call?.tool.asking?.(call.given);
  return asking === undefined ? {} : { reason: asking.reason, waiting: waitingOf(asking, res) };
}

/**
 * Loads what knows MCP, once: with the first request that shows something which may be a credential, since the SDK is 15 MB
 * and a fifth of a second of a start, and many a service has no agent that speaks MCP.
 */
function createProtocol(tools: readonly Tool[]): () => Promise<{
  readonly classify: (read: Read, req: IncomingMessage) => Inbound;
  readonly respondInProtocol: RespondInProtocol;
  readonly sessionIdFor: typeof sessionIdFor;
  readonly elicitationOf: typeof elicitationOf;
}> {
  const load = async (): ReturnType<ReturnType<typeof createProtocol>> => {
    const [{ createClassifier, standardHeaders }, { createSdkServer }, elicitation] = await Promise.all([
      import('./classify-message.ts'),
      import('./sdk-server.ts'),
      import('./url-elicitation.ts'),
    ]);
    const classify = createClassifier(new Map(tools.map((tool) => [tool.definition.name, tool])));
    return {
      classify: (read, req) => classify(read, standardHeaders(req)),
      respondInProtocol: createSdkServer(tools.map(({ definition }) => definition)),
      ...elicitation,
    };
  };
  let loaded: ReturnType<typeof load> | undefined;
  return () => (loaded ??= load());
}
