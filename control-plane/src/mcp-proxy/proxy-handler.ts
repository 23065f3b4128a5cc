import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import { readBody } from '@svault/server-kit/raw-body';
import { methodNotAllowed } from '@svault/server-kit/request-handler';
import { apiHeaderList } from '@svault/server-kit/security-headers';
import { type HeaderPairs, type ProxyMethod, headerPairs } from '@svault/shared';
import { type Denial, plainDenial } from '../access/denial.ts';
import { refusal } from '../errors.ts';
import { createAllowedOrigins } from '../http/allowed-origins.ts';
import type { ClientAddress } from '../http/client-address.ts';
import type { OwnHost } from '../http/own-host.ts';
import { presentedKey } from '../http/presented-key.ts';
import { withStandingHeaders } from '../http/standing-headers.ts';
import type { ProxyAccess } from '../proxy-access/proxy-access.ts';
import { proxyKeyHash } from '../proxy-access/proxy-credential.ts';
import type { Forward } from '../proxy-forwarding/forward.ts';
import { outgoingFields } from '../proxy-forwarding/outgoing-fields.ts';
import { createAnswerTaker } from './answer-taker.ts';
import { type MessageHeader, NO_MESSAGE, classifyMessage } from './message-class.ts';
import { createRefusalAnswers } from './refusal-answers.ts';

export const PROXY_PATH = '/api/proxy/mcp';

/** protocol.md section 2. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** As much as is kept for somebody of whom nothing is known yet but that a key has the right form. */
const STRANGERS_BYTES = 64 * 1024;

const METHODS = ['GET', 'POST', 'DELETE', 'OPTIONS'] as const satisfies readonly ProxyMethod[];
const methodOf = (text: string | undefined): ProxyMethod | undefined =>
  METHODS.find((method) => method === text);

/** Why no more of a body is read. */
class KeptOut extends Error {
  readonly denial: Denial;

  constructor(denial: Denial) {
    super(`kept out: ${denial.code}`);
    this.denial = denial;
  }
}

function keptOutOf(error: unknown): KeptOut {
  if (error instanceof KeptOut) return error;
  throw error;
}

/**
 * `/api/proxy/mcp` (specification, "MCP proxy"): who may call comes first, then what may be done, and the forwarding last,
 * behind it all.
 *
 * Mounted for every method of its path and before the headers of other routes: it writes its own, built once.
 */
export function createProxyHandler(options: {
  readonly access: ProxyAccess;
  readonly forward: Forward;
  readonly clientAddress: ClientAddress;
  readonly ownHost: OwnHost;
  /** The service's public address, without trailing slash. */
  readonly baseUrl: string;
  readonly allowedOrigins: readonly string[];
}): RequestHandler {
  const { access, forward, clientAddress, ownHost, baseUrl } = options;
  const standing = apiHeaderList({ https: baseUrl.startsWith('https:') });
  const answers = createRefusalAnswers(standing.flat());
  const takerOf = createAnswerTaker();
  const refuseMethod = methodNotAllowed(METHODS);
  const judgeOrigin = createAllowedOrigins({
    ownOrigin: new URL(baseUrl).origin,
    allowed: options.allowedOrigins,
    exposed: [],
  });

  const handle: RequestHandler = async (req, res, next) => {
    const method = methodOf(req.method);
    if (method === undefined) return refuseMethod(req, res, next);
    if (!ownHost(req)) throw refusal('FORBIDDEN', FOREIGN_HOST);
    if (!judgeOrigin(req.headers.origin).allowed) throw refusal('FORBIDDEN', FOREIGN_ORIGIN);
    const isPost = method === 'POST';
    const key = presentedKey(req, 'x-mcp-key');
    const keyHash = key === undefined ? undefined : proxyKeyHash(key);
    if (keyHash === undefined) {
      const denial = plainDenial(key === undefined ? 'MISSING_KEY' : 'INVALID_KEY');
      return answers.deny(res, { isPost, id: null }, denial);
    }

    const gone = goneSignal(res);
    const body = await bodyOf(req, keyHash).catch(keptOutOf);
    if (body instanceof KeptOut) {
      // What is left of the body is dropped as it comes.
      req.resume();
      return answers.deny(res, { isPost, id: null }, body.denial);
    }
    const fields = headerPairs(req.rawHeaders);
    const { traffic, id } = isPost ? classifyMessage(body, headerOf(fields, body)) : NO_MESSAGE;
    const decision = await access.decide({ keyHash, traffic, sourceAddress: clientAddress(req) });
    if (decision.outcome === 'denied') return answers.deny(res, { isPost, id }, decision.denial);
    const { use, stream } = decision;
    try {
      const exchange = { method, fields, body, signal: gone };
      const refused = await forward(use, exchange, takerOf(res));
      if (refused !== undefined) answers.refuse(res, { isPost, id }, refused);
      // An answer whose head could not be written: nobody may wait for it.
      else if (!res.headersSent) res.destroy();
    } finally {
      stream.close();
    }
  };

  /** Of larger bodies the key is looked up before the rest is read, and they have a place among the proxy's streams. */
  async function bodyOf(req: IncomingMessage, keyHash: string): Promise<Buffer> {
    let close = (): void => undefined;
    const admit = async (): Promise<void> => {
      const admittance = await access.admit(keyHash);
      if (admittance.outcome === 'denied') throw new KeptOut(admittance.denial);
      ({ close } = admittance.stream);
    };
    try {
      return await readBody(req, { maxBytes: MAX_BODY_BYTES, large: { bytes: STRANGERS_BYTES, admit } });
    } finally {
      close();
    }
  }

  return withStandingHeaders(standing, handle);
}

/** Aborted when the client goes before it has the whole answer. */
function goneSignal(res: ServerResponse): AbortSignal {
  const gone = new AbortController();
  res.once('close', () => {
    if (!res.writableFinished) gone.abort();
  });
  return gone.signal;
}

/** Of what travels: a field that stays behind tells the upstream nothing. */
function headerOf(pairs: HeaderPairs, body: Uint8Array): MessageHeader {
  const { contentType, fields } = outgoingFields(pairs, body);
  return { contentType, mcpMethod: fields['mcp-method'] };
}

const FOREIGN_HOST =
  'This service is not called by that name. Use the address that SV_BASE_URL names; a reverse proxy that sends another Host belongs into SV_TRUSTED_PROXIES.';
const FOREIGN_ORIGIN =
  'Pages of that origin may not call this endpoint; SV_MCP_ALLOWED_ORIGINS lists those that may.';
