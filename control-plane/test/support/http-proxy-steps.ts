import { type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { proxyOn } from './proxy-steps.ts';

/** The path of the endpoint for HTTP APIs. */
export const HTTP_PROXY = '/api/proxy/http';

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

interface HttpRequest {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Uint8Array;
}

export interface HttpProxy {
  readonly id: string;
  readonly key: string;
  /** Its public address. */
  readonly address: string;
  /** Sends a request to a target below the base URL, byte for byte, with the key unless `headers` are given. */
  ask(target: string, options?: HttpRequest): Promise<HttpAnswer>;
  /** As {@link HttpProxy.ask}, and leaves the body to the caller. */
  open(target: string, options?: HttpRequest): Promise<IncomingMessage>;
}

/** Makes a proxy of an HTTP API; of the credential `github` unless said otherwise. */
export async function httpProxyOn(
  owner: Parameters<typeof proxyOn>[0],
  settings: object = {},
): Promise<HttpProxy> {
  const { id, key, address } = await proxyOn(owner, { kind: 'http', ...settings });
  const open: HttpProxy['open'] = (
    target,
    { headers = { authorization: `Bearer ${key}` }, ...options } = {},
  ) => openAt(owner.running.url, HTTP_PROXY + target, { headers, ...options });
  return { id, key, address, open, ask: async (target, options) => wholeOf(await open(target, options)) };
}

/** Sends a request with a path that no URL parser has changed. */
export const openAt = (
  origin: string,
  path: string,
  { method = 'GET', headers = {}, body }: HttpRequest,
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const { hostname: host, port } = new URL(origin);
    // Node frames the body of a GET or DELETE no other way.
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const sent = { host, port, path, method, headers: { ...length, ...headers }, agent: false };
    request(sent, resolve).on('error', reject).end(body);
  });

export const wholeOf = async (res: IncomingMessage): Promise<HttpAnswer> => ({
  status: res.statusCode ?? 0,
  headers: res.headers,
  text: await text(res),
});

/** AWS's example of an access key, as a credential. */
export const AWS_KEYS = {
  Version: 1,
  AccessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  SecretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
};

/** What AWS clients send, with the proxy's key as the access key id. */
export const awsAuthorization = (key: string): string =>
  `AWS4-HMAC-SHA256 Credential=${key}/20261120/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-date, Signature=${'ab'.repeat(32)}`;

export const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
