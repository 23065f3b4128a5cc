import { NotTestable } from '../../check/outcome.ts';
import { expectThat } from '../../check/expect.ts';
import type { ProxiedCall, Tools } from '../../check/tools.ts';
import type { Answer } from '../../http/client.ts';
import { header } from '../../http/read-answer.ts';
import { expectUncalled, proxiesTo, storeText } from '../../upstream/proxy-setup.ts';
import { reachable } from '../../upstream/reachable.ts';
import type { Place, UpstreamAnswer } from '../../upstream/upstream.ts';

/** A request rule, as it is stored. */
export type Rule = Readonly<Record<string, unknown>>;

/** A proxy to a path below the URL of a record's place. */
export interface RuledProxy {
  readonly proxyId: string;
  readonly place: Place;
  /** The path below the place's URL, with its query. */
  readonly rest: string;
  /** Calls through the proxy; a `POST` where nothing else is said. */
  call(call?: Partial<ProxiedCall>): Promise<Answer>;
}

/** A stored text with request rules, and the place that they are about. */
export interface RuledRecord {
  readonly name: string;
  readonly value: string;
  readonly place: Place;
  /** The path of the place. */
  readonly base: string;
  /** @throws NotTestable where the webhook does not take the configuration */
  proxy(rest?: string, headerTemplates?: Readonly<Record<string, string>>): Promise<RuledProxy>;
  /** Those of which the webhook takes the configuration: the others it has refused for good. */
  proxies(rests: readonly string[]): Promise<readonly RuledProxy[]>;
}

/**
 * Stores a text that may be injected at a place of the suite's own upstream.
 * @param rules of the place's path, and of the entry of `allowedHosts` for it
 * @throws NotTestable
 */
export async function givenRules(
  tools: Tools,
  rules: (base: string, entry: string) => readonly Rule[],
  options: { readonly settings?: object; readonly answer?: UpstreamAnswer } = {},
): Promise<RuledRecord> {
  await reachable(tools);
  const upstream = await tools.given.upstream();
  const place = upstream.open(options.answer);
  const base = new URL(place.url).pathname;
  const requests = rules(base, upstream.allowedHost);
  const { name, value } = await storeText(tools, { requests, ...options.settings });
  const record: Omit<RuledRecord, 'proxies'> = {
    name,
    value,
    place,
    base,
    proxy: async (rest = '', headerTemplates = { authorization: 'Bearer ${TOKEN}' }) => {
      const upstreamUrl = place.url + rest;
      const proxyId = await tools.given.proxy({ serviceName: name, upstreamUrl, headerTemplates });
      return { proxyId, place, rest, call: (how) => tools.proxied({ proxyId, serviceName: name, ...how }) };
    },
  };
  return {
    ...record,
    proxies: async (rests) => {
      const urls = rests.map((rest) => place.url + rest);
      return (await proxiesTo(tools, name, urls)).map(({ proxyId, url, call }) => {
        return { proxyId, place, rest: url.slice(place.url.length), call };
      });
    },
  };
}

/** Expects that a call reaches the upstream, and that its answer comes back. */
export async function expectAllowed(
  { place }: Pick<RuledProxy, 'place'>,
  call: () => Promise<Answer>,
  what: string,
): Promise<Answer> {
  const before = place.calls.length;
  const answer = await call();
  const arrived = place.calls.length === before + 1 && header(answer, 'sv-proxy-origin') === 'upstream';
  expectThat(arrived, answer, `a call of the upstream, and its answer, for ${what}`);
  return answer;
}

/** Expects 403 `REQUEST_NOT_ALLOWED`, and that the upstream is not called. */
export async function expectDenied(
  { place }: Pick<RuledProxy, 'place'>,
  call: () => Promise<Answer>,
  what: string,
): Promise<Answer> {
  const before = place.calls.length;
  const answer = await call();
  expectUncalled({ place }, answer, 'REQUEST_NOT_ALLOWED', what, before);
  return answer;
}

/** Expects that paths below the place's URL are allowed. @throws NotTestable where one cannot be configured */
export async function expectPathsAllowed(record: RuledRecord, rests: readonly string[]): Promise<void> {
  const proxies = await record.proxies(rests);
  if (proxies.length < rests.length)
    throw new NotTestable(`not all of these could be configured: ${rests.join(' ')}`);
  for (const proxy of proxies) await expectAllowed(proxy, () => proxy.call(), `the path ${proxy.rest}`);
}

/** Expects that paths below the place's URL are denied, or cannot be configured. */
export async function expectPathsDenied(record: RuledRecord, rests: readonly string[]): Promise<void> {
  for (const proxy of await record.proxies(rests))
    await expectDenied(proxy, () => proxy.call(), `the path ${proxy.rest}`);
}

/** A message of MCP. */
export const message = (method: string, params?: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, ...(params !== undefined && { params }) });

/** `tools/call`. */
export const toolCall = (name: string, given: unknown = {}): string =>
  message('tools/call', { name, arguments: given });

/** A call with JSON in its body. */
export const json = (
  body: string | Uint8Array,
  contentType = 'application/json',
  headers: ReadonlyArray<readonly [string, string]> = [],
): Partial<ProxiedCall> => ({ body, headers: [['content-type', contentType], ...headers] });
