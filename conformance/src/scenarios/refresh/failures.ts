import { randomToken, type WebhookErrorCode } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import { despiteSilence } from '../../forge/held-back.ts';
import { answerJson, openProvider } from '../../provider/provider.ts';
import type { Tools } from '../../check/tools.ts';
import type { UpstreamAnswer } from '../../upstream/upstream.ts';
import {
  codeOf,
  deliveredToken,
  expectAsked,
  expectLatest,
  expectNoSecret,
  expectRetryAfter,
  fetchToken,
  givenRefreshable,
  jwtBody,
  metadataOf,
  notice,
  MAX_CALLS_AN_HOUR,
  sealedProvider,
  underWay,
  versionAfter,
  type Refreshable,
} from './refreshable.ts';

const claims = ['credential', 'store', 'refresh-notify'] as const;
const INVALID_GRANT = answerJson(400, { error: 'invalid_grant' });

const page =
  (status: number, type: string, body: string): UpstreamAnswer =>
  (response) =>
    void response.writeHead(status, { 'content-type': type }).end(body);

/** What of a provider is no answer to a refresh, and each repeats the refresh token as bad ones do. */
const FAILURES: readonly (readonly [string, (refreshToken: string) => UpstreamAnswer])[] = [
  ['500 with JSON', (rt) => answerJson(500, { error: 'server_error', error_description: `not ${rt}` })],
  ['a page of HTML with 200', (rt) => page(200, 'text/html', `<p>${rt}</p>`)],
  ['JSON that breaks off', (rt) => page(200, 'application/json', `{"refresh_token":"${rt}","access_`)],
  ['no access_token', (rt) => answerJson(200, { token_type: 'Bearer', expires_in: 3600, refresh_token: rt })],
  ['an access_token that is no string', (rt) => answerJson(200, { access_token: [rt] })],
];

async function expectStillRefused(tools: Tools, record: Refreshable): Promise<void> {
  const answer = await fetchToken(tools, record);
  expectAsked(answer, record.provider, 1);
  expectRefusal(answer, 'REAUTH_NEEDED');
}

/** What becomes of a refresh that gives nothing (protocol sections 5.4 and 7). */
export const REFRESH_FAILURE_CHECKS: readonly Check[] = [
  {
    id: 'refresh.reauth-needed',
    title:
      'after invalid_grant the answer is 422 REAUTH_NEEDED, lists show it, and the provider is not asked again',
    requirements: ['CRE-14', 'REF-20', 'REF-21'],
    claims: [...claims, 'storage'],
    run: async (tools) => {
      const record = await givenRefreshable(tools);
      const { token: before, answer: listed } = await metadataOf(tools, record.name);
      expectThat((before['reauthNeeded'] ?? null) === null, listed, 'no reauthNeeded before');
      record.provider.answerWith(INVALID_GRANT);
      await expectStillRefused(tools, record);
      record.provider.answerWith(undefined);
      await expectStillRefused(tools, record);
      const { answer, token } = await metadataOf(tools, record.name);
      expectThat(token['reauthNeeded'] === true, answer, 'reauthNeeded true');
    },
  },
  {
    id: 'refresh.reauth-over',
    title: 'a record whose refresh failed works again once it is stored anew, after invalid_grant too',
    requirements: ['REF-21', 'SAV-03'],
    claims: [...claims, 'storage'],
    run: async (tools) => {
      for (const failure of [INVALID_GRANT, answerJson(500, { error: 'server_error' })]) {
        const record = await givenRefreshable(tools);
        record.provider.answerWith(failure);
        const refused = await fetchToken(tools, record);
        expectAsked(refused, record.provider);
        expectThat(refused.status !== 200, refused, 'a refusal, after a refresh that failed');
        const provider = openProvider(await tools.given.upstream(), record.provider.client);
        const accessToken = `stored.${randomToken()}`;
        expectOk(await tools.store(record.name, jwtBody(provider, sealedProvider(provider), accessToken)));
        const { answer: listed, token } = await metadataOf(tools, record.name);
        expectThat((token['reauthNeeded'] ?? null) === null, listed, 'no reauthNeeded any more');
        const answer = await fetchToken(tools, record);
        expectLatest(answer, { ...record, provider }, 'stored anew, the token');
      }
    },
  },
  {
    id: 'refresh.nothing-carried-over',
    title: 'a record that replaces one with a provider has none of its provider, expiry or refresh token',
    requirements: ['SAV-03'],
    claims: [...claims, 'storage'],
    run: async (tools) => {
      const record = await givenRefreshable(tools);
      const value = `canary-${randomToken()}`;
      expectOk(await tools.store(record.name, { tokenType: 'JWT', accessToken: value }));
      const { answer: listed, token } = await metadataOf(tools, record.name);
      for (const member of ['provider', 'expiryTime'])
        expectThat((token[member] ?? null) === null, listed, `no ${member}`);
      expectThat(token['hasRefreshToken'] === false, listed, 'hasRefreshToken false');
      const answer = await fetchToken(tools, record);
      const delivered = deliveredToken(answer);
      expectThat(delivered['accessToken'] === value, answer, 'the token that was stored last');
      expectThat((delivered['refreshToken'] ?? null) === null, answer, 'no refresh token');
      expectAsked(answer, record.provider, 0);
    },
  },
  {
    id: 'refresh.provider-error',
    title: 'what is no answer of a provider is 502 PROVIDER_ERROR and never shows the refresh token',
    requirements: ['CRE-14', 'CRE-10'],
    claims,
    run: async (tools) => {
      for (const [what, failure] of FAILURES) {
        // A record for each: a failing provider need not be asked again for a while (REF-32).
        const record = await givenRefreshable(tools);
        record.provider.answerWith(failure(record.provider.firstRefreshToken));
        const answer = await fetchToken(tools, record);
        expectAsked(answer, record.provider);
        expectThat(
          answer.status === 502 && codeOf(answer) === 'PROVIDER_ERROR',
          answer,
          `502 with { error, code: PROVIDER_ERROR } after ${what}`,
        );
        expectNoSecret(answer, record);
      }
    },
  },
  {
    id: 'refresh.provider-silent',
    title: 'a provider that does not answer is given up within 8 seconds, with 504 PROVIDER_TIMEOUT',
    requirements: ['CRE-14', 'TRN-25'],
    claims,
    // A webhook may take 8 seconds until it gives its provider up (TRN-25).
    waitsFor: 'a provider of tokens that never answers',
    run: async (tools) => {
      const record = await givenRefreshable(tools);
      record.provider.answerWith(() => undefined);
      const answer = await despiteSilence(fetchToken(tools, record));
      expectAsked(answer, record.provider);
      expectRefusal(answer, 'PROVIDER_TIMEOUT');
    },
  },
  {
    id: 'refresh.no-redirect',
    title: 'a provider’s redirect is a failure, and nothing is sent where it points to',
    requirements: ['ADR-05', 'CRE-14'],
    claims,
    run: async (tools) => {
      const upstream = await tools.given.upstream();
      for (const status of [307, 302]) {
        const elsewhere = upstream.open(answerJson(200, { access_token: 'at.elsewhere', expires_in: 3600 }));
        const record = await givenRefreshable(tools);
        record.provider.answerWith((response) => {
          response.writeHead(status, { location: elsewhere.url }).end();
        });
        const answer = await fetchToken(tools, record);
        expectAsked(answer, record.provider);
        expectThat(elsewhere.calls.length === 0, answer, `no call to where a ${status} points to`);
        expectRefusal(answer, 'PROVIDER_ERROR');
      }
    },
  },
  {
    id: 'refresh.limit',
    title:
      'a provider is called at most 10 times an hour for one token, and then 429 says when to come again',
    requirements: ['REF-04', 'TRN-24', 'CRE-14'],
    claims: [...claims, 'storage'],
    run: async (tools) => {
      const record = await givenRefreshable(tools);
      const { name, provider } = record;
      provider.expiresIn = 5;
      let { version } = (await metadataOf(tools, name)).token;
      let answer = await notice(tools, { serviceName: name, reason: 'expired' });
      expectThat(await provider.arrived(1), answer, 'a refresh after a notice of an expired token');
      for (let count = 1; count <= MAX_CALLS_AN_HOUR && answer.status !== 429; count++) {
        // A webhook that accepted a notice refreshes later; the next one would find that under way.
        if (answer.status === 202) version = await versionAfter(tools, name, version);
        if (version === undefined) break;
        answer = await notice(tools, { serviceName: name, reason: 'expired' });
      }
      const left = MAX_CALLS_AN_HOUR - provider.calls.length;
      // A webhook may make one refresh of several notices; each fetch of an expired token is one by itself.
      if (answer.status === 429 || left <= 0) {
        expectRefusal(answer, 'RATE_LIMITED');
        expectRetryAfter(answer);
      }
      let fetched = await fetchToken(tools, record);
      for (let count = 0; count < left && fetched.status === 200; count++)
        fetched = await fetchToken(tools, record);
      expectThat(provider.calls.length <= MAX_CALLS_AN_HOUR, fetched, 'at most 10 calls to the provider');
      expectRefusal(fetched, 'RATE_LIMITED');
      expectRetryAfter(fetched);
    },
  },
  ...(
    [
      ['stored', 'VERSION_CONFLICT', 'a record that is stored anew during the call'],
      ['deleted', 'VERSION_CONFLICT', 'a record that is deleted during the call'],
    ] as const
  ).map(([how, code, what]): Check => ({
    id: `refresh.${how}-meanwhile`,
    title: `${what} stays so, and requests that waited get 409`,
    requirements: ['REF-33', 'SAV-03'],
    claims: [...claims, 'storage'],
    run: (tools) => changedMeanwhile(tools, how, code),
  })),
];

/** How long the provider keeps its answer back at most, for a webhook that does one thing after the other. */
const HELD_MS = 1_500;

async function changedMeanwhile(
  tools: Tools,
  how: 'stored' | 'deleted',
  code: WebhookErrorCode,
): Promise<void> {
  const record = await givenRefreshable(tools);
  const { name, provider } = record;
  const release = provider.hold();
  const waiting = underWay(fetchToken(tools, record));
  const asked = await provider.arrived(1);
  const timer = setTimeout(release, HELD_MS);
  let isHeld = true;
  const changed = (
    how === 'stored'
      ? tools.store(name, {
          tokenType: 'PlainText',
          value: 'stored.meanwhile',
          allowedHosts: ['another.example'],
        })
      : tools.storage({ op: 'tokens.delete', serviceName: name })
  ).finally(() => {
    isHeld = provider.accessTokens.length === 0;
    clearTimeout(timer);
    release();
  });
  const [answer, change] = await Promise.all([waiting, changed]);
  if (!asked) expectAsked(answer, provider, 1);
  expectOk(change);
  // Without two hands it was the fetch first and the change then.
  if (isHeld) expectRefusal(answer, code);
  const after = await fetchToken(tools, record);
  if (how === 'deleted') expectRefusal(after, 'NOT_FOUND');
  else
    expectThat(
      deliveredToken(after)['accessToken'] === 'stored.meanwhile',
      after,
      'what was stored last, and not what the refresh gave',
    );
}
