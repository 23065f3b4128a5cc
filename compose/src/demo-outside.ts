import { createPublicKey, verify } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { randomToken } from '@svault/shared';

/** What lies outside in real life: an MCP server, and providers of credentials. */
export interface DemoOutside {
  readonly url: string;
  readonly issued: Issued;
  /** The first that the OAuth provider takes. */
  readonly refreshToken: string;
  /** GitHub knows the app by this key from now on. @param publicKey PEM */
  trustApp(publicKey: string): Promise<void>;
  /** Of the MCP server: `Authorization`, and everything else that came with it. */
  lastCall(): Promise<LastCall>;
  /** The second event of a stream goes out once this is called. */
  goOn(): Promise<void>;
}

export interface Issued {
  readonly oauthToken: string;
  readonly awsAccessKeyId: string;
  readonly githubToken: string;
}

export interface LastCall {
  readonly authorization: string;
  readonly headers: string;
}

/** GitHub's own number for an installed app. */
export const INSTALLATION = '42';

/**
 * Starts all of it in this process.
 * @param at where the programs reach it, and where it listens for that: at a free port of the loopback unless given
 */
export async function startOutside(
  at: { readonly name: string; readonly listen: string; readonly port: number } = {
    name: '127.0.0.1',
    listen: '127.0.0.1',
    port: 0,
  },
): Promise<DemoOutside & { stop(): Promise<void> }> {
  const issued: Issued = {
    oauthToken: `demo-${randomToken()}`,
    awsAccessKeyId: 'ASIADEMO',
    githubToken: `ghs_${randomToken()}`,
  };
  const firstRefreshToken = `demo-${randomToken()}`;
  let refreshToken = firstRefreshToken;
  let appKey: string | undefined;
  let lastCall: LastCall = { authorization: '', headers: '' };
  let next = Promise.withResolvers<void>();

  const places: Readonly<
    Record<string, (req: IncomingMessage, body: string, res: ServerResponse) => unknown>
  > = {
    '/mcp': async ({ headers }, body, res) => {
      const { authorization = '', ...others } = headers;
      lastCall = { authorization, headers: JSON.stringify(others) };
      const { id, method } = JSON.parse(body) as { id: number; method: string };
      const result = { jsonrpc: '2.0', id, result: { said: method } };
      if (method !== 'tools/call') return sendJson(res, result);
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(event({ jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } }));
      await next.promise;
      next = Promise.withResolvers();
      res.end(event(result));
    },
    // RFC 6749 section 6, with rotation: the former token is of no use any more.
    '/oauth/token': (_, body, res) => {
      const form = new URLSearchParams(body);
      if (form.get('refresh_token') !== refreshToken) return sendJson(res, { error: 'invalid_grant' }, 400);
      refreshToken = randomToken();
      const answer = { access_token: issued.oauthToken, refresh_token: refreshToken, expires_in: 3_600 };
      return sendJson(res, answer);
    },
    // AWS STS, AssumeRole; the part of SigV4 that can be checked without the key.
    '/sts': ({ headers }, body, res) => {
      const isSigned = /^AWS4-HMAC-SHA256 Credential=AKIADEMO\/.*Signature=/.test(
        headers.authorization ?? '',
      );
      const isAssumed = new URLSearchParams(body).get('Action') === 'AssumeRole';
      res.writeHead(isSigned && isAssumed ? 200 : 403, { 'content-type': 'text/xml' });
      res.end(assumedRole(issued.awsAccessKeyId));
    },
    [`/github/app/installations/${INSTALLATION}/access_tokens`]: ({ headers }, _, res) => {
      const jwt = headers.authorization?.replace('Bearer ', '') ?? '';
      return appKey !== undefined && isSignedBy(appKey, jwt)
        ? sendJson(res, { token: issued.githubToken, expires_at: inAnHour() }, 201)
        : sendJson(res, { message: 'Bad credentials' }, 401);
    },
  };

  const server = createServer((req, res) => {
    void text(req).then(async (body) => {
      const place = places[(req.url ?? '').replace(/\/$/, '')];
      await (place === undefined ? sendJson(res, { error: 'nothing here' }, 404) : place(req, body, res));
    });
  });
  server.listen(at.port, at.listen);
  await once(server, 'listening');
  const url = `http://${at.name}:${(server.address() as AddressInfo).port}`;
  return {
    url,
    issued,
    refreshToken: firstRefreshToken,
    trustApp: async (publicKey) => void (appKey = publicKey),
    lastCall: async () => lastCall,
    goOn: async () => next.resolve(),
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function sendJson(res: ServerResponse, body: object, status = 200): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const event = (message: object): string => `data: ${JSON.stringify(message)}\n\n`;
const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();

/** RS256 (RFC 7515), by Node's own crypto. */
function isSignedBy(key: string, jwt: string): boolean {
  const [header = '', claims = '', signature = ''] = jwt.split('.');
  const signed = Buffer.from(`${header}.${claims}`);
  return verify('sha256', signed, createPublicKey(key), Buffer.from(signature, 'base64url'));
}

const assumedRole = (accessKeyId: string): string =>
  `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>${accessKeyId}</AccessKeyId><SecretAccessKey>${randomToken()}</SecretAccessKey>
<SessionToken>${randomToken()}</SessionToken><Expiration>${inAnHour()}</Expiration>
</Credentials></AssumeRoleResult></AssumeRoleResponse>`;
