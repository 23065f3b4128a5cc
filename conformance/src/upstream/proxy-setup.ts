import type { WebhookErrorCode } from '@svault/shared';
import { oncePerRun } from '../check/once-per-run.ts';
import { expectOk, expectRefusal, expectThat } from '../check/expect.ts';
import type { Answer } from '../http/client.ts';
import type { ProxiedCall, Tools } from '../check/tools.ts';
import { reachable } from './reachable.ts';
import type { Place, UpstreamAnswer, UpstreamCall } from './upstream.ts';

/** A record, a proxy that puts it into calls, and the place of the suite's own upstream that those calls go to. */
export interface ProxySetup {
  readonly name: string;
  /** The secret. */
  readonly value: string;
  readonly proxyId: string;
  readonly place: Place;
  /** Calls through the proxy, as the service does for an agent; a POST where nothing else is said. */
  call(call?: Partial<ProxiedCall>): Promise<Answer>;
}

/** A stored text. */
export interface StoredText {
  readonly name: string;
  readonly value: string;
}

const BEARER: Readonly<Record<string, string>> = { authorization: 'Bearer ${TOKEN}' };
const sharedText = oncePerRun((tools) => storeText(tools));

/**
 * Stores what a proxied call needs, once it is proven that the webhook reaches the upstream at all.
 * @param options.record what is injected; absent: a text that may be injected at the upstream, the same for a whole run
 * @param options.rest what stands behind the place's URL in the configuration
 * @throws NotTestable
 */
export async function setUpProxy(
  tools: Tools,
  options: {
    readonly record?: StoredText;
    readonly headerTemplates?: Readonly<Record<string, string>>;
    readonly rest?: string;
    readonly answer?: UpstreamAnswer;
  } = {},
): Promise<ProxySetup> {
  await reachable(tools);
  const { headerTemplates = BEARER, rest = '', answer } = options;
  const { name, value } = await (options.record ?? sharedText(tools));
  const place = (await tools.given.upstream()).open(answer);
  const upstreamUrl = place.url + rest;
  const proxyId = await tools.given.proxy({ serviceName: name, upstreamUrl, headerTemplates });
  const call: ProxySetup['call'] = (how) => tools.proxied({ proxyId, serviceName: name, ...how });
  return { name, value, proxyId, place, call };
}

/** A fresh text with these settings, by default one that may be injected at the suite's own upstream. @throws NotTestable */
export async function storeText(tools: Tools, settings: object = {}): Promise<StoredText> {
  const { allowedHost } = await tools.given.upstream();
  return tools.given.text({ allowedHosts: [allowedHost], ...settings });
}

/** Such a record with a secret of a certain form. @throws NotTestable */
export async function storeTextOf(tools: Tools, value: string, settings: object = {}): Promise<StoredText> {
  const { allowedHost } = await tools.given.upstream();
  const allowedHosts = [allowedHost];
  return {
    name: await tools.given.record({ tokenType: 'PlainText', value, allowedHosts, ...settings }),
    value,
  };
}

/** A configured proxy to a URL. */
export interface ProxyTo {
  readonly proxyId: string;
  readonly url: string;
  call(): Promise<Answer>;
}

/** Proxies to these URLs, but for those that the webhook does not take: it has refused them for good. */
export async function proxiesTo(
  tools: Tools,
  serviceName: string,
  urls: readonly string[],
): Promise<readonly ProxyTo[]> {
  const puts = urls.map((upstreamUrl) => {
    return {
      op: 'proxies.put',
      proxyId: tools.freshProxyId(),
      serviceName,
      upstreamUrl,
      headerTemplates: BEARER,
    };
  });
  const { results } = expectOk(await tools.storage({ batch: puts }));
  const taken = (at: number): boolean => {
    const result: unknown = Array.isArray(results) ? results[at] : undefined;
    return typeof result === 'object' && result !== null && 'proxyId' in result;
  };
  return puts
    .filter((_, at) => taken(at))
    .map(({ proxyId, upstreamUrl: url }) => ({
      proxyId,
      url,
      call: () => tools.proxied({ proxyId, serviceName }),
    }));
}

/** The last call that arrived. @param before how many had arrived before @throws CheckFailed where it is not one more */
export function calledOnce({ place }: Pick<ProxySetup, 'place'>, answer: Answer, before = 0): UpstreamCall {
  const call = place.calls[before];
  expectThat(
    call !== undefined && place.calls.length === before + 1,
    answer,
    `one call of the upstream (it was called ${place.calls.length - before} times)`,
  );
  return call;
}

/** A refusal with the upstream left alone. @param before how many calls had arrived before @throws CheckFailed */
export function expectUncalled(
  { place }: Pick<ProxySetup, 'place'>,
  answer: Answer,
  code: WebhookErrorCode,
  what: string,
  before = 0,
): void {
  expectThat(place.calls.length === before, answer, `no call of the upstream for ${what}`);
  expectRefusal(answer, code, what);
}

/** Every value of a header that the upstream received, by its lower-case name. */
export function received(call: UpstreamCall, name: string): readonly string[] {
  return call.headers.filter(([each]) => each === name).map(([, value]) => value);
}
