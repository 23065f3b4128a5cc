import { type KeyObject, randomUUID, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingHttpHeaders, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jwtVerify } from 'jose';

/** A client of a token endpoint: it authenticates by its own method, and by no other. */
type TokenClient = { readonly id: string } & (
  | { readonly method: 'client_secret_basic' | 'client_secret_post'; readonly secret: string }
  | { readonly method: 'private_key_jwt'; readonly publicKey: KeyObject; readonly algorithm: string }
  | { readonly method: 'none' }
);

/** A pair of tokens; the refresh token is good for one use. */
export interface TokenPair {
  readonly accessToken: string;
  readonly refreshToken: string;
}

/** One call that arrived with its whole body. */
export interface TokenCall {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly form: URLSearchParams;
  /** What the provider decided: `refreshed`, or the `error` of RFC 6749 section 5.2; `none` before it looked at it. */
  outcome: 'refreshed' | 'invalid_request' | 'invalid_client' | 'invalid_grant' | 'none';
}

/**
 * How calls fail, until the test says otherwise:
 *
 * - `break_before`: the connection ends, nothing was rotated
 * - `break_after`: it rotated, and the connection ends without an answer
 * - `never`: it rotated, and no answer comes
 * - `endless`: it rotated, and the answer's body never ends
 * - an answer: it is sent unchanged; nothing is rotated
 */
export type Misbehaviour = 'break_before' | 'break_after' | 'never' | 'endless' | CannedAnswer;

export interface CannedAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** An OAuth 2.0 token endpoint as strict providers run them (RFC 6749 section 6, RFC 9700 section 4.14.2). */
export interface TokenEndpoint {
  /** `http://127.0.0.1:…/token`; name `127.0.0.0/8` in `SV_EGRESS_ALLOW`. */
  readonly url: string;
  /** Every call that arrived, in order. */
  readonly calls: readonly TokenCall[];
  /** Of each answer: absent where undefined. 3600 at first. */
  expiresIn: number | string | undefined;
  /** Whether a refresh gives a new refresh token, as it does at first, or leaves the former one good. */
  rotates: boolean;
  /** Registers a client, or registers it anew. */
  register(client: TokenClient): void;
  /** Somebody consents: the first pair of a family, whose tokens end together once a spent one is shown. */
  grant(clientId: string): TokenPair;
  /** Whether this refresh token would be taken now. */
  isGood(refreshToken: string): boolean;
  /** Whether an access token was given out by this endpoint. */
  gave(accessToken: string): boolean;
  /** What all following calls meet; undefined: nothing but the rules. */
  misbehave(how: Misbehaviour | undefined): void;
  /** Calls that arrive from now on wait, undecided, until released. */
  hold(): { release(): void };
  /** Resolves once so many calls have arrived since the start. */
  arrived(count: number): Promise<void>;
  close(): Promise<void>;
}

interface Family {
  readonly clientId: string;
  /** The one refresh token that is good; undefined once the family ended. */
  good: string | undefined;
}

/** Starts the endpoint on a free port of this machine. It has no clients at first. */
export async function startTokenEndpoint(): Promise<TokenEndpoint> {
  const calls: TokenCall[] = [];
  const clients = new Map<string, TokenClient>();
  const families = new Map<string, Family>();
  const given = new Set<string>();
  const assertionsSeen = new Set<string>();
  const waiting: (() => void)[] = [];
  let gate: Promise<void> | undefined;
  let how: Misbehaviour | undefined;

  const pairFor = (family: Family): TokenPair => {
    const [accessToken, refreshToken] = [`at-${randomUUID()}`, `rt-${randomUUID()}`];
    family.good = refreshToken;
    families.set(refreshToken, family);
    given.add(accessToken);
    return { accessToken, refreshToken };
  };

  /** The rules, without any misbehaviour. */
  const decide = async (call: TokenCall): Promise<CannedAnswer> => {
    const { form } = call;
    const fail = (error: Exclude<TokenCall['outcome'], 'refreshed' | 'none'>, status = 400): CannedAnswer => {
      call.outcome = error;
      return json(status, { error });
    };
    const repeated = [...form.keys()].some((name) => form.getAll(name).length > 1);
    if (call.method !== 'POST' || repeated || form.get('grant_type') !== 'refresh_token')
      return fail('invalid_request');
    const client = await authenticates(call, { clients, assertionsSeen, tokenUrl: endpoint.url });
    if (client === undefined) return fail('invalid_client', 401);
    const shown = form.get('refresh_token') ?? '';
    const family = families.get(shown);
    if (family?.clientId !== client.id || family.good === undefined) return fail('invalid_grant');
    if (family.good !== shown) {
      // Reuse of a rotated token: by a thief or the owner, so the whole family ends (RFC 9700 section 4.14.2).
      family.good = undefined;
      return fail('invalid_grant');
    }
    call.outcome = 'refreshed';
    const pair = pairFor(family);
    if (!endpoint.rotates) family.good = shown;
    return json(200, {
      access_token: pair.accessToken,
      token_type: 'Bearer',
      ...(endpoint.rotates && { refresh_token: pair.refreshToken }),
      ...(endpoint.expiresIn !== undefined && { expires_in: endpoint.expiresIn }),
    });
  };

  const answer = async (call: TokenCall, res: ServerResponse): Promise<void> => {
    if (typeof how === 'object') return send(res, how);
    if (how === 'break_before') return void res.destroy();
    const decided = await decide(call);
    if (how === 'break_after') return void res.destroy();
    if (how === 'endless') return pourOut(res);
    if (how !== 'never') send(res, decided);
  };

  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('error', () => undefined);
    req.on('end', () => {
      const form = new URLSearchParams(Buffer.concat(chunks).toString());
      const call: TokenCall = { method: req.method ?? '', headers: req.headers, form, outcome: 'none' };
      calls.push(call);
      for (const wake of waiting.splice(0)) wake();
      void (gate ?? Promise.resolve()).then(() => answer(call, res));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  const endpoint: TokenEndpoint = {
    url: `http://127.0.0.1:${port}/token`,
    calls,
    expiresIn: 3600,
    rotates: true,
    register: (client) => void clients.set(client.id, client),
    grant: (clientId) => pairFor({ clientId, good: undefined }),
    isGood: (refreshToken) => families.get(refreshToken)?.good === refreshToken,
    gave: (accessToken) => given.has(accessToken),
    misbehave: (next) => void (how = next),
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return {
        release: () => {
          gate = undefined;
          resolve();
        },
      };
    },
    arrived: async (count) => {
      while (calls.length < count) await new Promise<void>((wake) => waiting.push(wake));
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return endpoint;
}

const json = (status: number, body: object): CannedAnswer => ({
  status,
  headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
  body: JSON.stringify(body),
});

function send(res: ServerResponse, { status, headers, body = '' }: CannedAnswer): void {
  res.writeHead(status, { 'content-length': Buffer.byteLength(body), ...headers }).end(body);
}

function pourOut(res: ServerResponse): void {
  res.on('error', () => undefined);
  res.writeHead(200, { 'content-type': 'application/json' });
  const more = (): void => {
    while (!res.destroyed && res.write(' '.repeat(16 * 1024)));
    if (!res.destroyed) res.once('drain', more);
  };
  more();
}

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** What an endpoint knows. */
interface TokenClients {
  readonly clients: ReadonlyMap<string, TokenClient>;
  /** By client and `jti`: each is taken once (RFC 7523 section 3). */
  readonly assertionsSeen: Set<string>;
  readonly tokenUrl: string;
}

/**
 * The client that a call authenticates as (RFC 6749 section 2.3.1, RFC 7523 section 2.2), strictly: by the method that it
 * is registered with, and with nothing of another method.
 */
async function authenticates(
  call: { readonly headers: IncomingHttpHeaders; readonly form: URLSearchParams },
  known: TokenClients,
): Promise<TokenClient | undefined> {
  const { form } = call;
  const { clients } = known;
  const basic = basicOf(call.headers.authorization);
  const client = clients.get(basic?.id ?? form.get('client_id') ?? '');
  if (client === undefined) return undefined;
  const inForm = form.has('client_secret');
  const asserted = form.has('client_assertion') || form.has('client_assertion_type');
  const clean = (used: 'basic' | 'post' | 'assertion' | 'nothing'): boolean =>
    (call.headers.authorization !== undefined) === (used === 'basic') &&
    inForm === (used === 'post') &&
    asserted === (used === 'assertion');
  switch (client.method) {
    case 'client_secret_basic':
      return clean('basic') && basic !== undefined && isSame(basic.secret, client.secret)
        ? client
        : undefined;
    case 'client_secret_post':
      return clean('post') && isSame(form.get('client_secret') ?? '', client.secret) ? client : undefined;
    case 'private_key_jwt':
      return clean('assertion') && (await asserts(form, client, known)) ? client : undefined;
    case 'none':
      return clean('nothing') ? client : undefined;
  }
}

/** RFC 6749 section 2.3.1: both halves are form-encoded before they are joined. */
function basicOf(header: string | undefined): { readonly id: string; readonly secret: string } | undefined {
  const [, encoded] = /^Basic ([A-Za-z0-9+/]+={0,2})$/.exec(header ?? '') ?? [];
  if (encoded === undefined) return undefined;
  const [id, secret, ...more] = Buffer.from(encoded, 'base64').toString().split(':');
  if (id === undefined || secret === undefined || more.length > 0) return undefined;
  return { id: formDecoded(id), secret: formDecoded(secret) };
}

const formDecoded = (text: string): string => new URLSearchParams(`v=${text}`).get('v') ?? '';

async function asserts(
  form: URLSearchParams,
  client: Extract<TokenClient, { method: 'private_key_jwt' }>,
  { assertionsSeen, tokenUrl }: TokenClients,
): Promise<boolean> {
  if (form.get('client_assertion_type') !== ASSERTION_TYPE) return false;
  try {
    const { payload } = await jwtVerify(form.get('client_assertion') ?? '', client.publicKey, {
      algorithms: [client.algorithm],
      issuer: client.id,
      subject: client.id,
      audience: tokenUrl,
      requiredClaims: ['exp', 'jti'],
    });
    const id = `${client.id} ${payload.jti}`;
    if (assertionsSeen.has(id)) return false;
    assertionsSeen.add(id);
    return true;
  } catch {
    return false;
  }
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
