import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { freePort } from '@svault/compose/free-port';
import {
  type Clock,
  type SignedMessage,
  formatTime,
  headerPairs,
  parseSignature,
  sha256,
  toBase64url,
  toHex,
  verifySignature,
} from '@svault/shared';

/** How a request is handled in place of a webhook's answer. */
export type Fault =
  | { readonly status: number; readonly body: string; readonly headers?: Readonly<Record<string, string>> }
  /** Takes the request and never answers. */
  | 'hang'
  /** Handles the request, then breaks the connection, so that the answer is lost. */
  | 'lose'
  /** Breaks the connection before anything is done. */
  | 'break';

/** A call of `/v1/proxy`. */
export interface ProxiedCall {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Claims of its ticket. */
  readonly ticket: Readonly<Record<string, unknown>>;
  /** Whether the signature covers the ticket. */
  readonly coversTicket: boolean;
  readonly req: IncomingMessage;
}

/** An answer of the upstream that echoes the request. */
export function echo({ headers, body, ticket }: ProxiedCall, res: ServerResponse): void {
  res.writeHead(200, { 'content-type': 'application/json', 'sv-proxy-origin': 'upstream' });
  res.end(JSON.stringify({ headers, body: body.toString(), ticket }));
}

export interface HandMade {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly answer: object;
}

export interface FaultyWebhook {
  readonly url: string;
  readonly webhookId: string;
  /** Keys by id; `current` is that of the last activated exchange. */
  readonly keys: Map<string, Uint8Array>;
  /** Events of `audit.append`, once for each id, in order of arrival. */
  readonly events: { id: string; eventType: string; [member: string]: unknown }[];
  /** Ids of the events of every `audit.append`. */
  readonly received: string[];
  /** Path and key id of every request that was answered without a fault. */
  readonly served: { path: string; keyId: string; op?: string }[];
  /** Called for every request; undefined answers it, a promise once it resolves. */
  fault: ((path: string, body: string) => Fault | undefined | Promise<undefined>) | undefined;
  /** Handles `/v1/proxy`, after the signature is verified. */
  onProxy: (call: ProxiedCall, res: ServerResponse) => void;
  capabilities: string[];
  /** Records by service name, returned as they are. */
  readonly tokens: Map<string, object>;
  /** A page of them; all at once unless set. */
  list: ((operation: Record<string, unknown>) => object) | undefined;
  /** Answers refresh calls; by default refreshes by a notice and has no lease. */
  refresh: (path: string, content: Record<string, unknown>) => HandMade | Promise<HandMade>;
  /** The head of its log; `seq` follows the events. */
  head: { epoch: string; hash?: string; seq?: number };
  /** How often `GET /v1/health` was answered. */
  probes: number;
  /** A new registration link's parts. */
  offer(): { code: string; webhookUrl: string; hmacHash: string };
  /** The key of the next exchange; tests change it so that `hmacHash` does not match. */
  secret: Uint8Array;
  /** Stops listening and breaks every connection; `open` listens again on the same port. */
  shut(): Promise<void>;
  open(): Promise<void>;
}

/** A small webhook that is unreachable, slow or wrong on demand. */
export async function startFaultyWebhook(clock: Clock): Promise<FaultyWebhook> {
  const server = createServer((req, res) => void serve(req, res));
  // Longer than callers keep a connection, so that none is closed while it is used.
  server.keepAliveTimeout = 65_000;
  // A port that no other program gets while this one is shut.
  const port = await freePort();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const authority = `127.0.0.1:${port}`;
  let code = '';

  const webhook: FaultyWebhook = {
    url: `http://${authority}`,
    webhookId: `whk_${toBase64url(randomBytes(16))}`,
    keys: new Map(),
    events: [],
    received: [],
    served: [],
    fault: undefined,
    onProxy: echo,
    capabilities: ['storage', 'credential', 'store', 'refresh-notify'],
    tokens: new Map(),
    list: undefined,
    refresh: (path) =>
      path === '/v1/refresh-notify'
        ? { status: 200, answer: { outcome: 'refreshed' } }
        : refused(409, 'LEASE_EXPIRED'),
    head: { epoch: 'first' },
    probes: 0,
    secret: randomBytes(32),
    offer: () => {
      code = randomUUID();
      return { code, webhookUrl: webhook.url, hmacHash: toHex(sha256(webhook.secret)) };
    },
    shut: async () => {
      if (!server.listening) return;
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
    open: async () => {
      if (server.listening) return;
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
  };

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const path = req.url ?? '';
    const fault = await webhook.fault?.(path, body.toString());
    if (fault === 'hang') return;
    if (fault === 'break') return void res.destroy();
    if (typeof fault === 'object') return void res.writeHead(fault.status, fault.headers).end(fault.body);
    if (path === '/v1/health' && req.method === 'GET') {
      webhook.probes += 1;
      return void res.writeHead(200, { 'content-type': 'application/json' }).end('{"status":"ok"}');
    }
    if (path === '/v1/proxy') return proxy(req, res, body);
    const { status, headers, answer } = await answerTo(req, path, body);
    if (fault === 'lose') return void res.destroy();
    res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(answer));
  }

  function proxy(req: IncomingMessage, res: ServerResponse, body: Buffer): void {
    const keyId = signedBy(req, '/v1/proxy', body);
    const { headers } = req;
    if (keyId === undefined) {
      res.writeHead(401, { 'sv-proxy-origin': 'webhook', 'content-type': 'application/json' });
      return void res.end(JSON.stringify({ error: 'refused', code: 'SIGNATURE_INVALID' }));
    }
    webhook.served.push({ path: '/v1/proxy', keyId });
    const [, claims = ''] = String(headers['sv-ticket']).split('.');
    const ticket = JSON.parse(Buffer.from(claims, 'base64url').toString()) as ProxiedCall['ticket'];
    const coversTicket = String(headers['signature-input']).includes('"sv-ticket"');
    webhook.onProxy({ headers, body, ticket, coversTicket, req }, res);
  }

  /** @returns the id of the key; undefined where the signature does not hold */
  function signedBy(req: IncomingMessage, path: string, body: Buffer): string | undefined {
    const message: SignedMessage = {
      method: req.method ?? '',
      authority,
      path,
      query: '',
      headers: headerPairs(req.rawHeaders),
      body,
    };
    const parsed = parseSignature(message);
    const key = parsed.keyId === 'bind' ? Buffer.from(code) : webhook.keys.get(parsed.keyId);
    if (key === undefined) return undefined;
    try {
      verifySignature(message, parsed, { key, nowMs: clock.now(), skewSeconds: 30, maxLifetimeSeconds: 60 });
    } catch {
      return undefined;
    }
    return parsed.keyId;
  }

  async function answerTo(req: IncomingMessage, path: string, body: Buffer): Promise<HandMade> {
    const keyId = signedBy(req, path, body);
    if (keyId === undefined) return refused(401, 'SIGNATURE_INVALID');
    const content = JSON.parse(body.toString()) as Content;
    webhook.served.push({ path, keyId, ...(content.op !== undefined && { op: content.op }) });
    if (path === '/v1/exchange') return { status: 200, answer: exchange(content) };
    if (path === '/v1/health') return { status: 200, answer: health() };
    if (content.op === 'proxies.get')
      return { status: 404, answer: { error: 'no such proxy', code: 'NOT_FOUND' } };
    if (content.op === 'proxies.put') return { status: 200, answer: { ...content, version: 1 } };
    if (path.startsWith('/v1/refresh')) return webhook.refresh(path, content as Record<string, unknown>);
    if (content.batch !== undefined) return { status: 200, answer: { results: content.batch.map(operate) } };
    const answer = operate(content);
    return { status: 'code' in answer ? 404 : 200, answer };
  }

  function exchange(content: Content): object {
    const rotating = content.op === 'rotate';
    const secret = rotating ? randomBytes(32) : webhook.secret;
    const keyId = `k${webhook.keys.size + 1}`;
    webhook.keys.set(keyId, secret);
    const key = { keyId, hmacSecret: toBase64url(secret) };
    return rotating
      ? key
      : { ...key, webhookId: webhook.webhookId, protocol: 'v1', capabilities: ['storage'] };
  }

  function health(): object {
    const { webhookId } = webhook;
    const { capabilities } = webhook;
    return {
      status: 'ok',
      protocol: 'v1',
      version: '0',
      webhookId,
      capabilities,
      time: formatTime(clock.now()),
    };
  }

  function pageOfTokens({ cursor = '0', limit = 100 }: Content): object {
    const all = [...webhook.tokens.values()];
    const [from, to] = [Number(cursor), Number(cursor) + limit];
    return { items: all.slice(from, to), ...(to < all.length && { nextCursor: String(to) }) };
  }

  function operate(operation: Content): object {
    if (operation.op === 'audit.append') {
      const known = new Set(webhook.events.map(({ id }) => id));
      webhook.received.push(...(operation.events ?? []).map(({ id }) => id));
      webhook.events.push(...(operation.events ?? []).filter(({ id }) => !known.has(id)));
      return { accepted: operation.events?.length ?? 0 };
    }
    if (operation.op === 'tokens.list')
      return webhook.list?.(operation as Record<string, unknown>) ?? pageOfTokens(operation);
    const token = operation.op === 'tokens.get' ? webhook.tokens.get(operation.serviceName ?? '') : undefined;
    if (token !== undefined) return token;
    const { epoch, seq = webhook.events.length, hash = `hash-${seq}` } = webhook.head;
    return operation.op === 'audit.list'
      ? { items: [], head: { epoch, seq, hash } }
      : { error: 'no such record', code: 'NOT_FOUND' };
  }

  return webhook;
}

interface Content {
  readonly op?: string;
  readonly cursor?: string;
  readonly limit?: number;
  readonly serviceName?: string;
  readonly batch?: readonly Content[];
  readonly events?: FaultyWebhook['events'];
}

const refused = (status: number, code: string) => ({ status, answer: { error: 'refused', code } });
