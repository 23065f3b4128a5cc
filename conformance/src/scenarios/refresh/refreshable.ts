import { setTimeout as delay } from 'node:timers/promises';
import { parseTime, randomToken } from '@svault/shared';
import { NotTestable } from '../../check/outcome.ts';
import { expectOk, expectThat } from '../../check/expect.ts';
import type { TicketDeviation } from '../../forge/ticket.ts';
import type { Answer } from '../../http/client.ts';
import { header, jsonObject, text } from '../../http/read-answer.ts';
import type { ProviderClient } from '../../provider/client-authentication.ts';
import { openProvider, type Provider } from '../../provider/provider.ts';
import type { Tools } from '../../check/tools.ts';

/** A `JWT` record that has a provider at the suite's own server. */
export interface Refreshable {
  readonly name: string;
  /** As it was stored. */
  readonly accessToken: string;
  readonly provider: Provider;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A time so many milliseconds from now, as the protocol writes it. */
export const fromNow = (ms: number): string => new Date(Date.now() + ms).toISOString();

/** A client as providers mostly have them. */
export const basicClient = (): Extract<ProviderClient, { secret: string }> => ({
  id: `client-${randomToken(4)}`,
  method: 'client_secret_basic',
  secret: randomToken(),
});

/** What is stored of a client and its provider: `provider` of a `JWT`, its `authMethod` said. */
export function sealedProvider({ client, tokenUrl }: Provider): Record<string, unknown> {
  return {
    tokenUrl,
    clientId: client.id,
    authMethod: client.method,
    ...('secret' in client && { clientSecret: client.secret }),
  };
}

/** The same, for a client that only the service can authenticate. */
export function mediatedProvider({ client, tokenUrl }: Provider): Record<string, unknown> {
  return { tokenUrl, clientId: client.id, authMethod: client.method, mediated: true };
}

/** What a record is stored with; its token expired an hour ago where nothing else is said. */
export function jwtBody(provider: Provider, sealed: object, accessToken: string): Record<string, unknown> {
  return {
    tokenType: 'JWT',
    accessToken,
    refreshToken: provider.firstRefreshToken,
    expiryTime: fromNow(-HOUR_MS),
    provider: sealed,
  };
}

/**
 * Stores a token that can be refreshed.
 * @param options.sealed `provider` of the body; by default with the client's secret
 * @param options.beside members of the body that stand in for others
 * @throws NotTestable where the webhook does not take it
 */
export async function givenRefreshable(
  tools: Tools,
  options: {
    readonly client?: ProviderClient;
    readonly scope?: string;
    readonly sealed?: (provider: Provider) => object;
    readonly beside?: Readonly<Record<string, unknown>>;
  } = {},
): Promise<Refreshable> {
  const { client = basicClient(), scope, sealed = sealedProvider, beside = {} } = options;
  const provider = openProvider(await tools.given.upstream(), client, scope);
  const accessToken = `stored.${randomToken()}`;
  const name = tools.freshName();
  const body = { ...jwtBody(provider, sealed(provider), accessToken), ...beside };
  const answer = await tools.store(name, body);
  if (answer.status !== 200) throw new NotTestable(unreachable('a JWT with a provider', provider), answer);
  return { name, accessToken, provider };
}

const unreachable = (what: string, { tokenUrl }: Provider): string =>
  `${what} at ${new URL(tokenUrl).origin} was refused; the webhook has to be allowed to call that address, or --upstream-url has to ` +
  'name one that it may call';

export function fetchToken(
  tools: Tools,
  { name }: Pick<Refreshable, 'name'>,
  deviation?: TicketDeviation,
): Promise<Answer> {
  return tools.fetchCredential(tools.ticket('credential', name, deviation));
}

/** `token` of what `/v1/credential` answered. */
export function deliveredToken(answer: Answer): Record<string, unknown> {
  const { token } = expectOk(answer);
  expectThat(typeof token === 'object' && token !== null, answer, '{ token: { … } }');
  return token as Record<string, unknown>;
}

/**
 * The provider was asked, and in a way that a strict one takes.
 * @param answer the answer to the request that caused it
 * @param times how often in all; absent: at least once, since a webhook may try a failing one again
 * @throws NotTestable where the webhook says that it could not reach the provider
 */
export function expectAsked(answer: Answer, provider: Provider, times?: number): void {
  const { calls, tokenUrl } = provider;
  if (calls.length === 0 && times !== 0 && reportsFailure(answer))
    throw new NotTestable(
      `no call arrived at the suite's provider ${tokenUrl}; the webhook has to be allowed to call that address, or ` +
        '--upstream-url has to name one that it can reach',
      answer,
    );
  const fault = calls.find((call) => call.fault !== undefined)?.fault;
  expectThat(fault === undefined, answer, `a call that the provider can take, but ${fault}`);
  const expected = times === undefined ? 'a call' : `${times} call${times === 1 ? '' : 's'}`;
  expectThat(
    times === undefined ? calls.length > 0 : calls.length === times,
    answer,
    `${expected} to the provider in all, not ${calls.length}`,
  );
}

/** Whether the webhook says that its call of the provider failed, at any endpoint. */
function reportsFailure(answer: Answer): boolean {
  const { outcome } = jsonObject(answer) ?? {};
  return [502, 504].includes(answer.status) || outcome === 'failed' || outcome === 'provider_error';
}

/** A request that is under way while others are sent; a failure is its reader's, who may come late or never. */
export function underWay<Value>(request: Promise<Value>): Promise<Value> {
  request.catch(() => undefined);
  return request;
}

/** The provider's latest access token is delivered. */
export function expectLatest(answer: Answer, { provider }: Refreshable, what = 'the token'): void {
  const latest = provider.accessTokens.at(-1);
  expectThat(
    deliveredToken(answer)['accessToken'] === latest,
    answer,
    `${what} that the provider gave last, ${latest ?? 'once it was asked'}`,
  );
}

/** An expiry that follows from the provider's `expires_in` of an hour, with room for clocks that differ. */
export function isInAnHour(time: unknown): boolean {
  const ms = typeof time === 'string' ? parseTime(time) : undefined;
  return ms !== undefined && Math.abs(ms - Date.now() - HOUR_MS) < 2 * MINUTE_MS;
}

/** What lists say of a record. */
export async function metadataOf(
  tools: Tools,
  name: string,
): Promise<{ readonly answer: Answer; readonly token: Readonly<Record<string, unknown>> }> {
  const answer = await tools.storage({ op: 'tokens.get', serviceName: name });
  return { answer, token: expectOk(answer) };
}

/** `POST /v1/refresh-notify`. */
export function notice(tools: Tools, body: object | string): Promise<Answer> {
  return tools.signed({ method: 'POST', path: '/v1/refresh-notify', body });
}

/** `POST /v1/refresh`. */
export function lease(tools: Tools, body: object | string): Promise<Answer> {
  return tools.signed({ method: 'POST', path: '/v1/refresh', body });
}

const LOOKS = 40;
const BETWEEN_LOOKS_MS = 50;

/**
 * Waits until lists show another version of a record than this one, since a webhook may accept a notice and refresh
 * later.
 * @returns the version that they show then; undefined where they do not within some seconds
 */
export async function versionAfter(tools: Tools, name: string, from: unknown): Promise<unknown> {
  for (let look = 0; look < LOOKS; look++) {
    const { token } = await metadataOf(tools, name);
    if (token['version'] !== from) return token['version'];
    await delay(BETWEEN_LOOKS_MS);
  }
  return undefined;
}

/** REF-04. */
export const MAX_CALLS_AN_HOUR = 10;

/** Whether an answer says when to come again (RFC 9110 section 10.2.3). */
export function expectRetryAfter(answer: Answer): void {
  const returned = header(answer, 'retry-after') ?? '';
  const isDate = !Number.isNaN(Date.parse(returned)) && returned.endsWith('GMT');
  expectThat(/^\d+$/.test(returned) || isDate, answer, 'Retry-After');
}

/** Nothing of the grant stands in an answer: no token, neither a spent one, nor what the client authenticates by. */
export function expectNoSecret(answer: Answer, { provider, accessToken }: Refreshable): void {
  const { client, accessTokens, refreshTokens } = provider;
  const secrets = [
    accessToken,
    ...accessTokens,
    ...refreshTokens,
    ...('secret' in client ? [client.secret] : []),
    ...('assertion' in client ? [client.assertion] : []),
  ];
  const returned = text(answer);
  expectThat(
    !secrets.some((each) => returned.includes(each)),
    answer,
    'no token and no client secret in the answer',
  );
}

/** `code` of a refusal. */
export const codeOf = (answer: Answer): unknown => jsonObject(answer)?.['code'];
