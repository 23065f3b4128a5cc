import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type TokenEndpoint, startTokenEndpoint } from '@svault/test-kit/token-endpoint';
import { expect, test as base } from 'vitest';
import type { Answer } from '../support/management-service.ts';
import { storeOn } from '../support/pair-agents.ts';
import { startPlainUpstream } from '../proxy-clients/plain-upstream.ts';
import { PROXY, type TestProxy, message, proxyOn, sessionSettings } from '../support/proxy-steps.ts';
import { type PipelinedRequest, pipeline } from './pipeline.ts';
import { type Fixture, startFixture } from './fixture.ts';

/** What an upstream was asked. */
export interface UpstreamCall {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Upstream {
  readonly url: string;
  /** As it stands in `allowedHosts`. */
  readonly origin: string;
  /** All calls of the row, in their order. */
  readonly seen: UpstreamCall[];
  /** How it answers; `{"ok":true}` until a row says otherwise. */
  answer: (call: UpstreamCall, res: ServerResponse) => unknown;
}

/** A body of `/v1/store`; `allowedHosts` has the upstream unless it says otherwise. */
export type Credential = { readonly tokenType: string } & Readonly<Record<string, unknown>>;

/** A base with an upstream, its credential `github` at the webhook, and a provider of tokens. */
export interface ProxyFixture extends Omit<Fixture, 'spend'> {
  readonly upstream: Upstream;
  readonly provider: TokenEndpoint;
  store(serviceName: string, credential: Credential): Promise<void>;
  /** Makes a proxy to the upstream with the credential, unless said otherwise. */
  proxyTo(settings?: object): Promise<TestProxy>;
  /** Makes a proxy to the upstream that shows it sessions of a new agent. */
  sessionProxyTo(): Promise<TestProxy>;
  /** Uses the limits so many times and nothing else: the vault is locked meanwhile, which is looked at behind them. */
  spend(proxy: TestProxy, count: number, request?: Partial<PipelinedRequest>): Promise<void>;
  /** What passed between the service and the webhook since it was asked the last time. */
  passed(): string;
}

/** The credential of the upstream. */
export const SECRET = 'canary/of what a proxy injects: 100%';
const CALL = message('tools/call', { name: 'x' }, 1);

async function startProxyFixture(options?: Parameters<typeof startFixture>[0]): Promise<ProxyFixture> {
  const base = await startFixture(options);
  const provider = await startTokenEndpoint();
  const { url, origin, close } = await startPlainUpstream((req, res) => {
    void buffer(req).then((body) => {
      const call = { method: req.method, url: req.url, headers: req.headers, body };
      upstream.seen.push(call);
      return upstream.answer(call, res);
    });
  });
  const fine: Upstream['answer'] = (_call, res) =>
    res.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
  const upstream: Upstream = { url, origin, seen: [], answer: fine };
  const store: ProxyFixture['store'] = (serviceName, credential) =>
    storeOn(base.pair, serviceName, { allowedHosts: [origin], ...credential });
  let read = 0;
  await store('github', { tokenType: 'PlainText', value: SECRET });
  const owner = { running: { url: base.pair.controlPlaneUrl() }, admin: base.admin };
  const proxyTo: ProxyFixture['proxyTo'] = (settings) => proxyOn(owner, { upstreamUrl: url, ...settings });
  return {
    ...base,
    upstream,
    provider,
    store,
    proxyTo,
    sessionProxyTo: async () => proxyTo(sessionSettings((await base.agent()).id, url)),
    spend: async ({ key }, count, request = { method: 'POST', body: CALL }) => {
      const asked = { path: PROXY, headers: { 'x-mcp-key': key }, ...request };
      await base.admin('POST', '/api/vault/lock');
      const statuses = await pipeline(
        owner.running.url,
        Array.from({ length: count }, () => asked),
      );
      await base.admin('POST', '/api/vault/unlock');
      expect(new Set(statuses)).toEqual(new Set([423]));
    },
    passed: () => {
      const all = base.pair.recorded();
      const fresh = all.subarray(read).toString('latin1');
      read = all.length;
      return fresh;
    },
    clear: async () => {
      await base.clear();
      upstream.seen.length = 0;
      upstream.answer = fine;
    },
    close: async () => {
      await base.close();
      await provider.close();
      await close();
    },
  };
}

/** The credential that the upstream was shown by each call. */
export const shown = ({ upstream }: ProxyFixture): readonly (string | undefined)[] =>
  upstream.seen.map(({ headers }) => headers.authorization);

/** A refusal by JSON-RPC (429, `Retry-After`), with exactly its members. */
export function expectRpcDenial(
  answer: Answer,
  { id = 1, ...data }: { readonly id?: unknown; readonly code: string; readonly retryAfter: number },
): void {
  expect([answer.status, answer.json]).toEqual([
    429,
    { jsonrpc: '2.0', id, error: { code: -32_029, message: expect.stringMatching(/\w/) as string, data } },
  ]);
  const { headers } = answer;
  expect(headers.get('retry-after')).toBe(String(data.retryAfter));
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(headers.get('cache-control')).toBe('no-store');
}

/** Bodies of what the service sent to one path of the webhook since it was asked the last time, each signed. */
export function sentTo({ passed }: Pick<ProxyFixture, 'passed'>, path: string): readonly string[] {
  return passed()
    .split(/(?=(?:GET|POST) \/v1\/)/)
    .filter((text) => text.startsWith(`POST ${path} HTTP/1.1\r\n`))
    .map((text) => {
      expect(text).toMatch(/^signature: sv=:[\w+/]{43}=:\r$/im);
      const [, body = ''] = text.split('\r\n\r\n');
      return body.split('HTTP/1.1 ')[0] ?? '';
    });
}

/** As `test` of fixture.ts, with proxies. */
export const proxyTest = base
  // oxlint-disable-next-line no-empty-pattern -- vitest reads from it which fixtures this one uses
  .extend('shared', { scope: 'file' }, async ({}, { onCleanup }) => {
    const fixture = await startProxyFixture();
    onCleanup(fixture.close);
    return fixture;
  })
  .extend('fixture', async ({ shared }) => {
    await shared.clear();
    return shared;
  });
