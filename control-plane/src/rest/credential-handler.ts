import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import { methodNotAllowed } from '@svault/server-kit/request-handler';
import { isServiceName } from '@svault/shared';
import { apiHeaderList } from '@svault/server-kit/security-headers';
import type { Access, Question } from '../access/access.ts';
import type { ListedGrant } from '../access/access-store.ts';
import { agentKeyCredential } from '../access/agent-credential.ts';
import { plainDenial } from '../access/denial.ts';
import type { ClientAddress } from '../http/client-address.ts';
import { withStandingHeaders } from '../http/standing-headers.ts';
import { presentedKey } from '../http/presented-key.ts';
import { createDenialAnswers } from '../http/denial-answer.ts';

export const CREDENTIALS_PATH = '/api/agents/credentials';

/**
 * `GET /api/agents/credentials` (specification, "Endpoints"): 307 to the webhook with a ticket, or the list of grants.
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
  const refuseMethod = methodNotAllowed(['GET']);

  const redirect = (res: ServerResponse, url: string): void => {
    res.writeHead(307, [...headers, 'Location', url, 'Content-Length', '0']).end();
  };
  const sendGrants = (res: ServerResponse, grants: readonly ListedGrant[]): void => {
    const body = JSON.stringify({ grants });
    const length = String(Buffer.byteLength(body));
    res
      .writeHead(200, [
        ...headers,
        'Content-Type',
        'application/json; charset=utf-8',
        'Content-Length',
        length,
      ])
      .end(body);
  };

  const handle: RequestHandler = async (req, res, next) => {
    if (req.method !== 'GET') return refuseMethod(req, res, next);
    const key = presentedKey(req, 'x-agent-key');
    if (key === undefined) return sendDenial(res, plainDenial('MISSING_KEY'));
    const decision = await access.decide({
      credential: agentKeyCredential(key),
      door: 'rest',
      question: questionOf(req),
      sourceAddress: clientAddress(req),
    });
    if (decision.outcome === 'ticket') redirect(res, decision.url);
    else if (decision.outcome === 'denied') sendDenial(res, decision.denial);
    else if (decision.outcome === 'grants') sendGrants(res, decision.grants);
    else throw new Error(`nobody asked for ${decision.outcome} here`);
  };

  return withStandingHeaders(standing, handle);
}

const LIST: Question = { kind: 'grants' };

/** Every `service` of the query, decoded, says what is asked for; `?key=` and all others are not looked at. */
function questionOf({ url = '' }: IncomingMessage): Question {
  const start = url.indexOf('?');
  const services = start === -1 ? [] : new URLSearchParams(url.slice(start + 1)).getAll('service');
  const [name] = services;
  if (name === undefined) return LIST;
  return { kind: 'credential', serviceName: services.length === 1 && isServiceName(name) ? name : undefined };
}
