import { expectThat } from '../check/expect.ts';
import { oncePerRun } from '../check/once-per-run.ts';
import { CheckSkipped } from '../check/outcome.ts';
import type { ProxiedCall, Tools } from '../check/tools.ts';
import type { Answer } from '../http/client.ts';
import { header } from '../http/read-answer.ts';
import { calledOnce, storeText, type StoredText } from './proxy-setup.ts';
import { reachable } from './reachable.ts';
import type { Place, UpstreamAnswer, UpstreamCall } from './upstream.ts';

/** A record, and a proxy of kind `http` that injects it into calls to a place of the suite's upstream. */
export interface ApiSetup extends StoredText {
  readonly proxyId: string;
  readonly place: Place;
  /** Calls a target behind the base, with `GET` by default. */
  call(target: string, call?: Partial<ProxiedCall>): Promise<Answer>;
}

/** The record and the configuration of an HTTP API. */
export interface ApiOptions {
  /** Absent: a text that may be injected at the upstream, also as the parameter `key` of its query. */
  readonly record?: StoredText;
  readonly headerTemplates?: Readonly<Record<string, string>>;
  readonly queryTemplates?: Readonly<Record<string, string>>;
  readonly redirects?: 'follow-without-credential';
  /** Absent: calls are not signed. */
  readonly signing?: object;
  /** Follows the place's URL in the configuration. */
  readonly base?: string;
  /** Absent: a new one. */
  readonly place?: Place;
  /** Of a new place. */
  readonly answer?: UpstreamAnswer;
}

const sharedText = oncePerRun((tools) => storeText(tools, { allowedQuery: ['key'] }));

/** Stores what a call of an HTTP API needs, once it is proven that the webhook reaches the upstream. @throws NotTestable */
export async function setUpApi(tools: Tools, options: ApiOptions = {}): Promise<ApiSetup> {
  await reachable(tools);
  const { base = '', answer, redirects, queryTemplates, signing } = options;
  const { headerTemplates = { authorization: 'Bearer ${TOKEN}' } } = options;
  const { name, value } = await (options.record ?? sharedText(tools));
  const place = options.place ?? (await tools.given.upstream()).open(answer);
  const proxyId = await tools.given.proxy({
    serviceName: name,
    upstreamUrl: place.url + base,
    headerTemplates,
    kind: 'http',
    ...(queryTemplates && { queryTemplates }),
    ...(redirects && { redirects }),
    ...(signing && { signing }),
  });
  const call: ApiSetup['call'] = (target, how) =>
    tools.proxied({ proxyId, serviceName: name, method: 'GET', target, ...how });
  return { name, value, proxyId, place, call };
}

/** Calls, and expects that the upstream is called once and its answer comes back. @throws CheckFailed */
export async function expectCalled(
  api: ApiSetup,
  target: string,
  how?: Partial<ProxiedCall>,
): Promise<{ readonly answer: Answer; readonly call: UpstreamCall }> {
  const before = api.place.calls.length;
  const answer = await api.call(target, how);
  const call = calledOnce(api, answer, before);
  const isUpstreams = header(answer, 'sv-proxy-origin') === 'upstream';
  expectThat(isUpstreams, answer, `the upstream's answer to a call of ${JSON.stringify(target)}`);
  return { answer, call };
}

/** A place at another origin than the upstream's. @throws CheckSkipped */
export async function openElsewhere(tools: Tools, answer?: UpstreamAnswer): Promise<Place> {
  const upstream = await tools.given.upstream();
  if (!upstream.direct) throw new CheckSkipped('the suite has no second origin behind --upstream-url');
  return (await upstream.other()).open(answer);
}
