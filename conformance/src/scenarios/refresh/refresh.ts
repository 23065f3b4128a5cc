import { parseTime, randomToken } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { CheckSkipped, NotTestable } from '../../check/outcome.ts';
import { expectOk, expectThat } from '../../check/expect.ts';
import { jsonObject, text } from '../../http/read-answer.ts';
import { answerJson, openProvider } from '../../provider/provider.ts';
import type { Tools } from '../../check/tools.ts';
import { PROVIDER_CALL_CHECKS } from './provider-calls.ts';
import { PROXIED_REFRESH_CHECKS } from '../proxy/refresh.ts';
import { REFRESH_FAILURE_CHECKS } from './failures.ts';
import { KEPT_SETTINGS_CHECKS } from './kept-settings.ts';
import { REFRESH_NOTICE_CHECKS } from './notices.ts';
import {
  basicClient,
  deliveredToken,
  expectAsked,
  expectLatest,
  fetchToken,
  fromNow,
  givenRefreshable,
  isInAnHour,
  jwtBody,
  mediatedProvider,
  metadataOf,
  notice,
  sealedProvider,
  underWay,
  versionAfter,
} from './refreshable.ts';

/** Of a webhook that refreshes by itself: no capability names that, but one that takes notices of expiry does. */
const claims = ['credential', 'store', 'refresh-notify'] as const;
/** A webhook that claims neither need not take a provider; one that takes it has to know what it means. */
const REFRESHERS = ['refresh-notify', 'sv-refresh'] as const;
const DAY_MS = 24 * 3_600_000;

/** How far the webhook's clock is ahead of ours, in milliseconds, so that the margin is measured by its own. */
async function clockAheadMs(tools: Tools): Promise<number> {
  const { time } = jsonObject(await tools.signed({ method: 'POST', path: '/v1/health' })) ?? {};
  const theirs = typeof time === 'string' ? parseTime(time) : undefined;
  const ahead = theirs === undefined ? 0 : theirs - Date.now();
  // Less is what a time without fraction and a slow answer make.
  return Math.abs(ahead) < 3_000 ? 0 : ahead;
}

const withoutFraction = (time: string): string => time.replace(/\.\d+Z$/, 'Z');
const withNineDigits = (time: string): string => time.replace(/\.(\d{3})Z$/, '.$1456789Z');

/** Protocol section 5.4: what happens to an expired token before it is delivered. */
export const REFRESH_CHECKS: readonly Check[] = [
  {
    id: 'refresh.before-delivery',
    title: 'an expired JWT is refreshed once before it is delivered, whatever the ticket’s rfp says',
    requirements: ['CRE-12'],
    claims,
    run: async (tools) => {
      for (const rfp of ['none', 'auto']) {
        const record = await givenRefreshable(tools, { beside: { expiryTime: fromNow(-2 * DAY_MS) } });
        const answer = await fetchToken(tools, record, { claims: { rfp } });
        expectAsked(answer, record.provider, 1);
        expectLatest(answer, record, `with rfp "${rfp}", the token`);
        const { expiryTime } = deliveredToken(answer);
        expectThat(
          expiryTime === undefined || isInAnHour(expiryTime),
          answer,
          'an expiryTime, if any, in an hour as the provider said',
        );
        const again = await fetchToken(tools, record, { claims: { rfp } });
        expectLatest(again, record);
        expectAsked(again, record.provider, 1);
      }
    },
  },
  {
    id: 'refresh.expiry-margin',
    title: 'a token is expired when its expiryTime is at most 30 seconds away, and not before',
    requirements: ['CRE-11', 'TRN-14'],
    claims,
    run: async (tools) => {
      const aheadMs = await clockAheadMs(tools);
      for (const [seconds, written] of [
        [20, withoutFraction],
        [-1, withNineDigits],
      ] as const) {
        const expiryTime = written(fromNow(aheadMs + seconds * 1000));
        const record = await givenRefreshable(tools, { beside: { expiryTime } });
        const answer = await fetchToken(tools, record);
        expectAsked(answer, record.provider, 1);
        expectLatest(answer, record, `for expiryTime ${expiryTime}, the token`);
      }
      // A webhook may refresh early; but what is not expired is delivered though that fails.
      for (const expiryTime of [fromNow(aheadMs + 50_000), undefined]) {
        const record = await givenRefreshable(tools, { beside: { expiryTime } });
        record.provider.answerWith(answerJson(500, {}));
        const answer = await fetchToken(tools, record);
        expectThat(
          answer.status === 200 && deliveredToken(answer)['accessToken'] === record.accessToken,
          answer,
          `the stored token, which is not expired by its expiryTime ${expiryTime ?? '(none)'}`,
        );
      }
    },
  },
  {
    id: 'refresh.expired-without-provider',
    title: 'an expired token without provider is delivered as it is',
    requirements: ['CRE-15'],
    claims: ['credential', 'store'],
    run: async (tools) => {
      const [accessToken, refreshToken] = [`stored.${randomToken()}`, randomToken()];
      for (const beside of [{}, { refreshToken }]) {
        const body = { tokenType: 'JWT', accessToken, expiryTime: fromNow(-DAY_MS), ...beside };
        const answer = await fetchToken(tools, { name: await tools.given.record(body) });
        expectThat(deliveredToken(answer)['accessToken'] === accessToken, answer, 'the stored token');
      }
    },
  },
  {
    id: 'refresh.expired-without-refresh-token',
    title: 'an expired token with a provider but without refresh token is delivered as it is',
    requirements: ['CRE-15'],
    claims,
    run: async (tools) => {
      const record = await givenRefreshable(tools, { beside: { refreshToken: undefined } });
      const answer = await fetchToken(tools, record);
      expectThat(deliveredToken(answer)['accessToken'] === record.accessToken, answer, 'the stored token');
      expectAsked(answer, record.provider, 0);
    },
  },
  {
    id: 'refresh.never-stale',
    title: 'an expired token that has a provider and a refresh token is never delivered as it is',
    requirements: ['CRE-15'],
    claims: ['credential', 'store'],
    run: async (tools) => {
      const provider = openProvider(await tools.given.upstream(), basicClient());
      provider.answerWith(answerJson(503, {}));
      const accessToken = `stored.${randomToken()}`;
      const name = tools.freshName();
      let taken = 0;
      for (const sealed of [sealedProvider(provider), mediatedProvider(provider)]) {
        const stored = await tools.store(name, jwtBody(provider, sealed, accessToken));
        if (stored.status !== 200) continue;
        taken += 1;
        const answer = await fetchToken(tools, { name });
        expectThat(
          answer.status !== 200 && !text(answer).includes(accessToken),
          answer,
          'a refusal, and not the expired token',
        );
      }
      if (taken > 0) return;
      const why = `a JWT with a provider at ${new URL(provider.tokenUrl).origin} could not be stored`;
      throw REFRESHERS.some((each) => tools.claims.has(each)) ? new NotTestable(why) : new CheckSkipped(why);
    },
  },
  {
    id: 'refresh.rotation',
    title: 'a refresh token that the provider gives replaces the former one, which else stays',
    requirements: ['REF-13', 'REF-14'],
    claims: [...claims, 'storage'],
    run: async (tools) => {
      for (const rotates of [true, false]) {
        const record = await givenRefreshable(tools);
        const { name, provider } = record;
        const { token } = await metadataOf(tools, name);
        provider.rotates = rotates;
        // Expired again at once, so that the next one who fetches it has it refreshed once more.
        provider.expiresIn = 5;
        const returned = await notice(tools, { serviceName: name, reason: 'expired' });
        expectThat(await provider.arrived(1), returned, 'a refresh after a notice of an expired token');
        const version = await versionAfter(tools, name, token['version']);
        expectThat(version !== undefined, returned, 'a new version of the record after that');
        provider.expiresIn = 3600;
        const answer = await fetchToken(tools, record);
        const what = rotates ? 'a rotated refresh token' : 'the same refresh token';
        expectAsked(answer, provider, 2);
        expectLatest(answer, record, `after ${what}, the token`);
      }
    },
  },
  {
    id: 'refresh.metadata',
    title: 'a refresh makes a new version with the new expiry, and createdAt stays',
    requirements: ['STO-14', 'CRE-12'],
    claims: [...claims, 'storage'],
    run: async (tools) => {
      const record = await givenRefreshable(tools);
      const { token: before } = await metadataOf(tools, record.name);
      expectAsked(await fetchToken(tools, record), record.provider, 1);
      const { answer, token: after } = await metadataOf(tools, record.name);
      expectThat(
        Number(after['version']) > Number(before['version']),
        answer,
        'a higher version than before',
      );
      expectThat(
        after['createdAt'] === before['createdAt'],
        answer,
        `createdAt ${String(before['createdAt'])}`,
      );
      expectThat(isInAnHour(after['expiryTime']), answer, 'expiryTime in an hour, as the provider said');
      expectThat(after['hasRefreshToken'] === true, answer, 'hasRefreshToken true');
    },
  },
  {
    id: 'refresh.one-for-many',
    title:
      'twelve who want an expired token at once all get a fresh one, and no refresh token is spent twice',
    requirements: ['CRE-12', 'REF-04', 'REF-13'],
    claims,
    run: async (tools) => {
      const record = await givenRefreshable(tools);
      const release = record.provider.hold();
      const fetches = Array.from({ length: 12 }, () => underWay(fetchToken(tools, record)));
      await record.provider.arrived(1);
      // Time for a second call, by a webhook that would make one.
      await record.provider.arrived(2, 60);
      release();
      const answers = await Promise.all(fetches);
      for (const answer of answers) {
        expectAsked(answer, record.provider);
        const { accessToken } = deliveredToken(answer);
        expectThat(
          record.provider.accessTokens.some((each) => each === accessToken),
          answer,
          'a token that the provider gave',
        );
        expectThat(record.provider.calls.length <= 10, answer, 'at most 10 calls to the provider');
      }
    },
  },
  {
    id: 'refresh.not-shared',
    title:
      'a refresh keeps what is sealed about the refresh token: it stays where it is, unless it is shared',
    requirements: ['CRE-10', 'TRU-01'],
    claims,
    run: async (tools) => {
      for (const [shareRefreshToken, rfp] of [
        [undefined, 'none'],
        [false, 'none'],
        [true, 'auto'],
      ] as const) {
        const beside = { shareRefreshToken };
        const record = await givenRefreshable(tools, { beside });
        const answer = await fetchToken(tools, record, { claims: { rfp } });
        expectOk(answer);
        expectThat(
          deliveredToken(answer)['refreshToken'] === undefined &&
            !record.provider.refreshTokens.some((each) => text(answer).includes(each)),
          answer,
          `no refresh token for ${JSON.stringify(beside)} and rfp "${rfp}"`,
        );
      }
    },
  },
  ...PROVIDER_CALL_CHECKS,
  ...REFRESH_FAILURE_CHECKS,
  ...PROXIED_REFRESH_CHECKS,
  ...REFRESH_NOTICE_CHECKS,
  ...KEPT_SETTINGS_CHECKS,
];
