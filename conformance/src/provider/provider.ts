import { setTimeout as delay } from 'node:timers/promises';
import { randomToken } from '@svault/shared';
import type { Upstream, UpstreamAnswer, UpstreamCall } from '../upstream/upstream.ts';
import { withResolvers } from '../with-resolvers.ts';
import { authenticationFault, type ProviderClient } from './client-authentication.ts';

/** One call that arrived at a token endpoint. */
export interface ProviderCall {
  /** What a strict provider finds wrong with it, as a sentence without its end; undefined: nothing. */
  readonly fault: string | undefined;
}

/**
 * An OAuth 2.0 token endpoint as strict providers run them, with one client and one grant (RFC 6749 section 6, RFC 9700
 * section 4.14.2): a refresh token is valid once, and reuse ends the grant.
 */
export interface Provider {
  readonly tokenUrl: string;
  readonly client: ProviderClient;
  /** The refresh token that the owner got and stored. */
  readonly firstRefreshToken: string;
  /** Every call so far, in order. */
  readonly calls: readonly ProviderCall[];
  /** Every access token that it gave, in order. */
  readonly accessTokens: readonly string[];
  /** Every refresh token that was ever good, in order. */
  readonly refreshTokens: readonly string[];
  /** Of each answer, in seconds; 3600 at first. */
  expiresIn: number;
  /** Whether a refresh gives a new refresh token, as it does at first, or leaves the former one good. */
  rotates: boolean;
  /** What all following calls are answered with, whatever they hold; undefined: by the rules. */
  answerWith(answer: UpstreamAnswer | undefined): void;
  /** Calls that arrive from now on wait for their answer until the returned function is called. */
  hold(): () => void;
  /** Waits until so many calls have arrived, for some seconds where nothing is said. @returns whether they have */
  arrived(count: number, withinMs?: number): Promise<boolean>;
}

const LOOK_MS = 20;
const PATIENCE_MS = 4_000;

/** Opens a token endpoint of its own at the suite's server. @param scope that is sealed with the grant, if any */
export function openProvider(upstream: Upstream, client: ProviderClient, scope?: string): Provider {
  // Characters that a form has to encode, as refresh tokens have them.
  const freshRefreshToken = (): string => `rt.${randomToken()}~+/=`;
  const calls: ProviderCall[] = [];
  const accessTokens: string[] = [];
  const refreshTokens = [freshRefreshToken()];
  let good = refreshTokens.at(-1);
  let canned: UpstreamAnswer | undefined;
  let gate: Promise<void> | undefined;

  const answer: UpstreamAnswer = async (response, call) => {
    const form = new URLSearchParams(Buffer.from(call.body).toString('utf8'));
    const fault = formFault(call, form, scope) ?? authenticationFault(client, call.headers, form);
    const spent = form.get('refresh_token') !== good;
    const refused =
      fault === undefined && spent ? 'refresh_token is not the one that the provider gave last' : fault;
    calls.push({ fault: refused });
    await gate;
    if (canned !== undefined) return canned(response, call);
    if (fault !== undefined) return answerJson(400, { error: 'invalid_request' })(response, call);
    if (spent) {
      good = undefined;
      return answerJson(400, { error: 'invalid_grant' })(response, call);
    }
    const accessToken = `at.${randomToken()}`;
    accessTokens.push(accessToken);
    if (provider.rotates) {
      good = freshRefreshToken();
      refreshTokens.push(good);
    }
    return answerJson(200, {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: provider.expiresIn,
      ...(provider.rotates && { refresh_token: good }),
    })(response, call);
  };

  const provider: Provider = {
    tokenUrl: upstream.open(answer).url,
    client,
    firstRefreshToken: refreshTokens[0] ?? '',
    calls,
    accessTokens,
    refreshTokens,
    expiresIn: 3600,
    rotates: true,
    answerWith: (next) => {
      canned = next;
    },
    hold: () => {
      const { promise, resolve } = withResolvers<void>();
      gate = promise;
      return () => {
        gate = undefined;
        resolve();
      };
    },
    arrived: async (count, withinMs = PATIENCE_MS) => {
      for (let waited = 0; calls.length < count && waited < withinMs; waited += LOOK_MS) await delay(LOOK_MS);
      return calls.length >= count;
    },
  };
  return provider;
}

/** An answer of a token endpoint (RFC 6749 sections 5.1 and 5.2). */
export function answerJson(status: number, body: unknown): UpstreamAnswer {
  return (response) => {
    response
      .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
      .end(JSON.stringify(body));
  };
}

function formFault(
  { method, rest, headers }: UpstreamCall,
  form: URLSearchParams,
  scope: string | undefined,
): string | undefined {
  if (method !== 'POST') return `it came as ${method} and not as POST`;
  if (rest !== '') return `it came to the sealed token URL with "${rest}" behind it`;
  const type = headers.find(([name]) => name === 'content-type')?.[1] ?? '';
  if (type.split(';', 1)[0]?.trim().toLowerCase() !== 'application/x-www-form-urlencoded')
    return 'its Content-Type is not application/x-www-form-urlencoded';
  const repeated = [...form.keys()].find((name) => form.getAll(name).length > 1);
  if (repeated !== undefined) return `${repeated} appears twice in the form`;
  if (form.get('grant_type') !== 'refresh_token') return 'grant_type is not refresh_token';
  // Whether the scope is asked for again is the webhook's affair (RFC 6749 section 6: omitted, it is the granted one).
  const asked = form.get('scope');
  return asked !== null && asked !== '' && asked !== scope ? 'scope is not the sealed one' : undefined;
}
