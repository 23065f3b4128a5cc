import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { type ProxyTicket, issueTicket, randomToken, signRequest } from '@svault/shared';
import type { ProxyConfig } from '@svault/shared/schemas';
import { type BoundWebhook, SERVICE_URL } from './bound-webhook.ts';

export const PROXY = 'prx_AAAAAAAAAAAAAAAAAAAAAA';
export const PROXY_PATH = '/v1/proxy';

/** A call as the service would send it. */
export interface ProxyCall {
  readonly method?: ProxyTicket['htm'];
  readonly proxyId?: string;
  readonly serviceName?: string;
  readonly body?: Uint8Array | string;
  readonly contentType?: string;
  /** For a proxy of an HTTP API: the path and query after the upstream's URL. Covered by the signature. */
  readonly target?: string;
  /** Headers of the agent that the signature covers. */
  readonly covered?: Readonly<Record<string, string>>;
  /** Headers of the agent that the signature does not cover. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Instead of one made of the above; null: none is sent. */
  readonly ticket?: string | null;
  readonly nonce?: string;
  /** The caller goes away. */
  readonly signal?: AbortSignal;
  /** Changes what is sent after it was signed. */
  readonly tamper?: (headers: Record<string, string>) => void;
}

/** What is needed to call a webhook in the service's name. */
type Caller = Pick<BoundWebhook, 'env' | 'key' | 'clock' | 'webhookId'>;

export interface ProxyAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  /** Whatever came back: tests assert on its members. */
  readonly json: ReturnType<typeof JSON.parse>;
}

export function proxyTicket(webhook: Caller, call: ProxyCall = {}): string {
  const { method = 'POST', proxyId = PROXY, serviceName = 'api', claims = {} } = call;
  const iat = Math.floor(webhook.clock.now() / 1000);
  const ticket = {
    iss: SERVICE_URL,
    aud: webhook.webhookId,
    sub: proxyId,
    svc: serviceName,
    op: 'proxy',
    jti: randomToken(),
    iat,
    exp: iat + 60,
    htm: method,
    prx: proxyId,
    ...claims,
  };
  return issueTicket(ticket as unknown as ProxyTicket, webhook.key);
}

/** What the service sends with a call, which goes to {@link PROXY_PATH} by POST. */
export function signedHeaders(webhook: Caller, call: ProxyCall = {}): Record<string, string> {
  const { body, contentType = 'application/json', nonce } = call;
  const bytes = Buffer.from(body ?? '');
  const ticket = call.ticket === undefined ? proxyTicket(webhook, call) : call.ticket;
  return signRequest({
    method: 'POST',
    authority: new URL(webhook.env['SV_WEBHOOK_URL'] ?? '').host,
    path: PROXY_PATH,
    ...(bytes.byteLength > 0 && { body: bytes, contentType }),
    headers: {
      ...call.covered,
      ...(ticket !== null && { 'sv-ticket': ticket }),
      ...(call.target !== undefined && { 'sv-target': call.target }),
    },
    key: webhook.key,
    nowMs: webhook.clock.now(),
    ...(nonce !== undefined && { nonce }),
  });
}

/** Sends a call and resolves with the head of its answer; the body is still to come. */
export async function openCall(
  webhook: Caller & Pick<BoundWebhook, 'url'>,
  call: ProxyCall = {},
): Promise<IncomingMessage> {
  const bytes = Buffer.from(call.body ?? '');
  const headers = signedHeaders(webhook, call);
  call.tamper?.(headers);
  const sending = request(webhook.url + PROXY_PATH, {
    method: 'POST',
    agent: false,
    ...(call.signal !== undefined && { signal: call.signal }),
    headers: { ...call.headers, ...headers, 'content-length': bytes.byteLength },
  });
  sending.end(bytes);
  const [answer] = (await once(sending, 'response')) as [IncomingMessage];
  // Whether a body that breaks off does so is for the test to look at.
  answer.on('error', () => undefined);
  return answer;
}

export async function callProxy(
  webhook: Caller & Pick<BoundWebhook, 'url'>,
  call: ProxyCall = {},
): Promise<ProxyAnswer> {
  return readWhole(await openCall(webhook, call));
}

export async function readWhole(answer: IncomingMessage): Promise<ProxyAnswer> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const isJson = (answer.headers['content-type'] ?? '').startsWith('application/json');
  const { statusCode: status = 0, headers, rawHeaders } = answer;
  return { status, headers, rawHeaders, body, json: isJson ? JSON.parse(body.toString()) : undefined };
}

/** What the service tells the webhook about a proxy. */
export async function putProxy(
  webhook: BoundWebhook,
  upstreamUrl: string,
  more: Partial<Omit<ProxyConfig, 'upstreamUrl' | 'version'>> = {},
): Promise<void> {
  const { status, text } = await webhook.storage({
    op: 'proxies.put',
    proxyId: PROXY,
    serviceName: 'api',
    headerTemplates: { authorization: 'Bearer ${TOKEN}' },
    ...more,
    upstreamUrl,
  });
  if (status !== 200) throw new Error(`the proxy was refused: ${text}`);
}

/** The webhook's own entries about calls by proxies, newest first. */
export async function injections(webhook: BoundWebhook, serviceName?: string): Promise<readonly Entry[]> {
  const { json } = await webhook.storage({
    op: 'audit.list',
    ...(serviceName !== undefined && { serviceName }),
  });
  return (json.items as readonly Entry[]).filter(({ eventType }) => eventType === 'CREDENTIAL_INJECTED');
}

interface Entry {
  readonly eventType: string;
  readonly outcome: string;
  readonly proxyId?: string;
  readonly serviceName?: string;
  readonly detail: Readonly<Record<string, unknown>>;
}
