import { isDeepStrictEqual } from 'node:util';
import { jwtVerify, type JWTPayload } from 'jose';
import type { WebhookCheck } from '../../check/check.ts';
import { CheckFailed } from '../../check/outcome.ts';
import { deliveredIn } from '../../check/delivered.ts';
import { expectThat } from '../../check/expect.ts';
import { rsaPair } from '../../forge/rsa-pair.ts';
import type { Answer } from '../../http/client.ts';
import type { UpstreamCall } from '../../upstream/upstream.ts';
import { expectAsked, fetchMinted, GCP, GITHUB, givenMinter, newAccount } from './provider.ts';

/** Google: at most an hour. */
const GOOGLE_SECONDS = 3600;
const GOOGLE_TOKEN_URI = 'https://oauth2.googleapis.com/token';
/** GitHub: at most ten minutes from now, `iat` a minute back as it advises. */
const GITHUB_SECONDS = 660;
/** Clocks differ by up to 30 seconds; a unit that was mistaken is further off. */
const CLOCK_SECONDS = 60;

const headerOf = (call: UpstreamCall | undefined, name: string): string | undefined =>
  call?.headers.find(([each]) => each === name)?.[1];

/** Protocol section 5.5: what the providers are asked, by the rules that they publish. */
export const MINTING_CALL_CHECKS: readonly WebhookCheck[] = [
  {
    id: 'mint.gcp-assertion',
    title: 'Google’s token endpoint is sent an assertion that it would take, for the scopes that were stored',
    requirements: ['CRE-07'],
    claims: ['credential', 'gcp'],
    run: async (tools) => {
      const account = newAccount();
      const record = await givenMinter(tools, GCP, { account });
      const answer = await fetchMinted(tools, record.name);
      expectAsked(record, answer);
      const [call] = record.place.calls;
      expectThat(
        call?.method === 'POST' && call.rest === '/token',
        answer,
        'a POST to tokenUri, as it was stored',
      );
      const type = headerOf(call, 'content-type')?.split(';', 1)[0]?.trim().toLowerCase();
      expectThat(type === 'application/x-www-form-urlencoded', answer, 'a form (RFC 7523 section 2.1)');
      const form = new URLSearchParams(Buffer.from(call.body).toString('utf8'));
      const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
      expectThat(form.get('grant_type') === grant, answer, `grant_type ${grant}`);
      const claims = await expectSigned(answer, form.get('assertion') ?? '');
      const { clientEmail, tokenUri, scopes } = GCP.settings(record.place.url, account);
      expectThat(claims.iss === clientEmail, answer, `iss ${String(clientEmail)} in the assertion`);
      const audience = [claims.aud].flat();
      // Some of Google's own libraries say its public address there, whatever tokenUri is.
      expectThat(
        audience.length === 1 && [tokenUri, GOOGLE_TOKEN_URI].includes(audience[0]),
        answer,
        `aud ${String(tokenUri)} in the assertion`,
      );
      const asked = String(claims['scope']).split(' ').toSorted();
      const stored = [...(scopes as readonly string[])].toSorted();
      expectThat(
        isDeepStrictEqual(asked, stored),
        answer,
        'scope: the scopes that were stored, with spaces between',
      );
      expectLifetime(answer, claims, GOOGLE_SECONDS);
      deliveredIn(answer);
    },
  },
  {
    id: 'mint.github-jwt',
    title: 'GitHub’s API is sent a JWT that it would take, for the installation that was stored',
    requirements: ['CRE-07'],
    claims: ['credential', 'github-app'],
    run: async (tools) => {
      const account = newAccount();
      const record = await givenMinter(tools, GITHUB, { account });
      const answer = await fetchMinted(tools, record.name);
      expectAsked(record, answer);
      const [call] = record.place.calls;
      const path = `/api/v3/app/installations/67${account}/access_tokens`;
      expectThat(
        call?.method === 'POST' && call.rest === path,
        answer,
        `a POST to apiUrl followed by ${path.slice(7)}`,
      );
      const agent = headerOf(call, 'user-agent') ?? '';
      expectThat(agent !== '', answer, 'a User-Agent, without which GitHub refuses');
      const [, jwt = ''] = /^bearer (.+)$/i.exec(headerOf(call, 'authorization') ?? '') ?? [];
      const claims = await expectSigned(answer, jwt);
      expectThat(String(claims.iss) === '12345', answer, 'iss 12345, the app, in the JWT');
      const whole = Number.isInteger(claims.iat) && Number.isInteger(claims.exp);
      expectThat(whole, answer, 'iat and exp as integers, as GitHub asks');
      expectLifetime(answer, claims, GITHUB_SECONDS);
      deliveredIn(answer);
    },
  },
  {
    id: 'mint.github-restrictions',
    title: 'GitHub is asked for the permissions and repositories that were stored, and for no more',
    requirements: ['TRU-01', 'SAV-28'],
    claims: ['credential', 'github-app'],
    run: async (tools) => {
      const settings = {
        permissions: { contents: 'read', issues: 'write' },
        repositories: ['conformance', 'one.more'],
      };
      for (const only of [
        settings,
        { permissions: settings.permissions },
        { repositories: settings.repositories },
      ] as readonly Partial<typeof settings>[]) {
        const record = await givenMinter(tools, GITHUB, { settings: only });
        const answer = await fetchMinted(tools, record.name);
        expectAsked(record, answer);
        const asked = jsonIn(record.place.calls[0]);
        for (const [member, value] of Object.entries(only))
          expectThat(
            isDeepStrictEqual(asked?.[member], value),
            answer,
            `${member} ${JSON.stringify(value)} in the body that GitHub is sent`,
          );
      }
    },
  },
  {
    id: 'mint.github-over',
    title: 'what was minted is not used again once it has expired',
    requirements: ['SAV-32'],
    claims: ['credential', 'github-app'],
    run: async (tools) => {
      const record = await givenMinter(tools, GITHUB, { lifeSeconds: -CLOCK_SECONDS });
      const first = await fetchMinted(tools, record.name);
      expectAsked(record, first);
      if (first.status !== 200) return;
      const calls = record.place.calls.length;
      const again = await fetchMinted(tools, record.name);
      expectThat(
        record.place.calls.length > calls,
        again,
        'another call to GitHub: what it gave was over at once',
      );
    },
  },
];

/** An RS256 JWT under the key that was stored. */
async function expectSigned(answer: Answer, jwt: string): Promise<JWTPayload> {
  try {
    const options = { algorithms: ['RS256'], clockTolerance: CLOCK_SECONDS };
    return (await jwtVerify(jwt, rsaPair().publicKey, options)).payload;
  } catch (error) {
    throw new CheckFailed(
      answer,
      `a JWT signed by RS256 with the key that was stored (${(error as Error).message})`,
    );
  }
}

function expectLifetime(answer: Answer, { iat, exp }: JWTPayload, maxSeconds: number): void {
  const now = Date.now() / 1000;
  expectThat(
    typeof iat === 'number' && typeof exp === 'number',
    answer,
    'iat and exp in the JWT, in seconds since 1970',
  );
  expectThat(iat < now + CLOCK_SECONDS, answer, 'iat not in the future');
  expectThat(exp - iat <= maxSeconds, answer, `exp at most ${maxSeconds} s after iat`);
}

function jsonIn(call: UpstreamCall | undefined): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(Buffer.from(call?.body ?? '').toString('utf8')) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
