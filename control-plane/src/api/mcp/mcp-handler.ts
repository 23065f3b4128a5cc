import type { RequestHandler } from 'express';
import { apiHeaderList } from '@svault/server-kit/security-headers';
import type { Access, Denial } from '../../access/decision.ts';
import { createAllowedOrigins } from '../http/cors.ts';
import type { ClientAddress } from '../http/client-address.ts';
import type { OwnHost } from '../http/host-check.ts';
import { withStandingHeaders } from '../http/static-headers.ts';
import { resourceOf } from '../oauth/oauth-paths.ts';
import { denialResult } from './denial-result.ts';
import { createHttpAnswers } from './http-responses.ts';
import type { Inbound } from './inbound.ts';
import { presentedToken } from './presented-token.ts';
import { createProtocol } from './protocol.ts';
import { readMessage } from './read-message.ts';
import { standardHeaders } from './standard-headers.ts';
import type { Granted, Tool } from './tool.ts';

export const MCP_PATH = '/api/agents/mcp';

/** What scripts of allowed origins may read of an answer (contract, "MCP"). */
const EXPOSED = ['WWW-Authenticate', 'Mcp-Session-Id'];

/**
 * A message so large that its sender is looked up before the rest of it is read, since strangers with many of them would fill
 * the memory. It counts once more for it.
 */
const UNREAD: Inbound = {
  id: null,
  operation: { kind: 'admission', traffic: 'mcp_handshake' },
  course: { kind: 'accept' },
};

/** Why no more of a message is read. */
class BodyRejectedEarly extends Error {
  readonly denial: Denial;

  constructor(denial: Denial) {
    super(`kept out: ${denial.code}`);
    this.denial = denial;
  }
}

function rejectionOf(error: unknown): BodyRejectedEarly {
  if (error instanceof BodyRejectedEarly) return error;
  throw error;
}

/**
 * `POST /api/agents/mcp` (specification, "Endpoints"): MCP over Streamable HTTP, every answer one JSON document. Who may
 * speak comes first, then what may be asked, and the SDK last, behind it all.
 *
 * Mounted for every method of its path and before the headers of other routes: it writes its own, built once.
 */
export function createMcpHandler(options: {
  readonly access: Access;
  readonly tools: readonly Tool[];
  readonly clientAddress: ClientAddress;
  readonly ownHost: OwnHost;
  /** The service's public address, without trailing slash. */
  readonly baseUrl: string;
  readonly allowedOrigins: readonly string[];
}): RequestHandler {
  const { access, clientAddress, ownHost, baseUrl } = options;
  const audience = resourceOf(baseUrl);
  const standing = apiHeaderList({ https: baseUrl.startsWith('https:') });
  const answers = createHttpAnswers(standing.flat(), baseUrl);
  const judgeOrigin = createAllowedOrigins({
    ownOrigin: new URL(baseUrl).origin,
    allowed: options.allowedOrigins,
    exposed: EXPOSED,
  });
  const protocol = createProtocol(options.tools);

  const handle: RequestHandler = async (req, res) => {
    const origin = judgeOrigin(req.headers.origin);
    const cors = origin.allowed ? origin.cors : [];
    if (req.method === 'OPTIONS' && cors.length > 0) return answers.preflight(res, cors);
    if (req.method !== 'POST') return answers.refuse(res, cors, 'METHOD_NOT_ALLOWED');
    if (!ownHost(req)) return answers.refuse(res, cors, 'FORBIDDEN', FOREIGN_HOST);
    if (!origin.allowed) return answers.refuse(res, cors, 'FORBIDDEN', FOREIGN_ORIGIN);
    const presented = presentedToken(req, audience);
    if (presented.kind === 'missing') return answers.refuse(res, cors, 'MISSING_KEY');
    if (presented.kind === 'malformed') return answers.refuse(res, cors, 'INVALID_KEY');

    const who = {
      credential: presented.credential,
      channel: 'mcp',
      sourceAddress: clientAddress(req),
    } as const;
    const { judge } = await protocol();
    const read = await readMessage(req, async () => {
      const decision = await access.decide({ ...who, operation: UNREAD.operation });
      if (decision.outcome === 'denied') throw new BodyRejectedEarly(decision.denial);
    }).catch(rejectionOf);
    if (read instanceof BodyRejectedEarly) {
      // What is left of the body is dropped as it comes.
      req.resume();
      return deny(UNREAD, read.denial, res, cors);
    }
    const inbound = judge(read, standardHeaders(req));
    const decision = await access.decide({ ...who, operation: inbound.operation });
    if (decision.outcome !== 'denied') return answer(inbound, decision, res, cors);
    return deny(inbound, decision.denial, res, cors);
  };

  type Writing = readonly [res: Parameters<RequestHandler>[1], cors: readonly string[]];

  async function answer({ id, course }: Inbound, granted: Granted, ...[res, cors]: Writing): Promise<void> {
    if (course.kind === 'accept') return answers.accept(res, cors);
    if (course.kind === 'refuse') return answers.refuseMessage(res, cors, id, course.refusal);
    const { call } = course;
    const result = call && (await call.tool.answer(granted, call.given));
    const { answerInProtocol } = await protocol();
    const { status, body } = await answerInProtocol(course, result);
    return answers.send(res, cors, status, body);
  }

  async function deny({ id, course }: Inbound, denial: Denial, ...[res, cors]: Writing): Promise<void> {
    const { code } = denial;
    if (
      code === 'MISSING_KEY' ||
      code === 'INVALID_KEY' ||
      code === 'AGENT_INACTIVE' ||
      code === 'MCP_DISABLED'
    )
      return answers.refuse(res, cors, code);
    const result = denialResult(denial);
    if (result !== undefined && course.kind === 'serve') {
      const { answerInProtocol } = await protocol();
      const { status, body } = await answerInProtocol(course, result);
      return answers.send(res, cors, status, body);
    }
    if (code === 'RATE_LIMITED') return answers.limited(res, cors, id, denial.retryAfterSeconds);
    throw new Error(`the pipeline denied a request of MCP with ${code}`);
  }

  return withStandingHeaders(standing, handle);
}

const FOREIGN_HOST =
  'This service is not called by that name. Use the address that SV_BASE_URL names; a reverse proxy that sends another Host belongs into SV_TRUSTED_PROXIES.';
const FOREIGN_ORIGIN =
  'Pages of that origin may not call this endpoint; SV_MCP_ALLOWED_ORIGINS lists those that may.';
