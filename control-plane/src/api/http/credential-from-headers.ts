import { occursTwice } from '@svault/server-kit/repeated-header';
import type { IncomingMessage } from 'node:http';
import { type AgentCredential, agentKeyCredential, sessionCredential } from '../../core/agent.ts';

/**
 * The key in a request's headers (specification, "Authentication"): `Authorization` with scheme Bearer is the key whatever
 * it holds; another scheme is ignored, and the channel's own header is read. `?key=` is not.
 *
 * @param ownHeader `x-agent-key`, or `x-mcp-key` for a proxy's
 * @returns undefined where neither header holds anything; a text that is no key (so that it is denied as malformed) where a header
 *   occurs twice, since it is unknown which of them is meant
 */
export function credentialFromHeaders(
  { headers, rawHeaders }: Pick<IncomingMessage, 'headers' | 'rawHeaders'>,
  ownHeader: 'x-agent-key' | 'x-mcp-key',
): string | undefined {
  const { authorization } = headers;
  // Node joins repeated headers of these names by a comma, which no key contains.
  const own = String(headers[ownHeader] ?? '');
  if (authorization !== undefined) {
    if (occursTwice(rawHeaders, 'authorization')) return '';
    const bearer = bearerIn(authorization);
    if (bearer !== undefined) return bearer === '' && own === '' ? undefined : bearer;
  }
  return own === '' ? undefined : own;
}

/** AWS Signature Version 4 and 4A, whose `Credential` begins with the access key id. Each is searched in linear time. */
const AWS_SIGNATURE = /^AWS4-[A-Z0-9-]{1,32} /;
const AWS_CREDENTIAL = /[ ,]Credential=([^/,\s]+)\//;

/**
 * The key of a proxy of an HTTP API: as {@link credentialFromHeaders}, as the password of Basic, the only scheme of git, npm
 * and pip, by the scheme `token` of GitHub clients, or as the access key id of an AWS signature, all that AWS clients send.
 * That signature is not verified: the key is a bearer token here as well.
 */
export function proxyKeyFromHeaders(
  req: Pick<IncomingMessage, 'headers' | 'rawHeaders'>,
): string | undefined {
  const { authorization = '' } = req.headers;
  const accessKeyId = AWS_SIGNATURE.test(authorization) ? AWS_CREDENTIAL.exec(authorization)?.[1] : undefined;
  if (accessKeyId !== undefined) return occursTwice(req.rawHeaders, 'authorization') ? '' : accessKeyId;
  const [, scheme = '', value = ''] = /^(basic|token) +(.*)$/is.exec(authorization) ?? [];
  if (scheme === '') return credentialFromHeaders(req, 'x-mcp-key');
  if (occursTwice(req.rawHeaders, 'authorization')) return '';
  if (scheme.toLowerCase() === 'token') return value;
  const pair = Buffer.from(value, 'base64').toString();
  return pair.slice(pair.indexOf(':') + 1);
}

/**
 * The credential of an MCP request (specification, "MCP endpoint": an agent key or a session token, as Bearer). Another scheme
 * is no token of ours, and a token in the query is ignored: logs would hold it.
 *
 * @returns `INVALID_KEY` for what is neither of the two by its form, and needs no look-up
 */
export function presentedToken(
  { headers, rawHeaders }: IncomingMessage,
  audience: string,
): AgentCredential | 'INVALID_KEY' | 'MISSING_KEY' {
  const { authorization } = headers;
  const bearer = authorization === undefined ? undefined : bearerIn(authorization);
  if (bearer === undefined) return 'MISSING_KEY';
  if (occursTwice(rawHeaders, 'authorization')) return 'INVALID_KEY';
  if (bearer === '') return 'MISSING_KEY';
  return agentKeyCredential(bearer) ?? sessionCredential(bearer, audience) ?? 'INVALID_KEY';
}

/** RFC 9110 section 11.1: the scheme's case does not matter. Without a space it is another scheme's name. */
const BEARER = /^bearer(?: +(.*))?$/is;

function bearerIn(authorization: string): string | undefined {
  const match = BEARER.exec(authorization);
  return match === null ? undefined : (match[1] ?? '');
}
