import { randomToken } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import { jsonObject } from '../../http/read-answer.ts';
import { answerJson } from '../../provider/provider.ts';
import {
  expectAsked,
  expectNoSecret,
  fetchToken,
  fromNow,
  givenRefreshable,
  isInAnHour,
  mediatedProvider,
  metadataOf,
  notice,
  versionAfter,
} from './refreshable.ts';

const claims = ['store', 'refresh-notify'] as const;
const MINUTE_MS = 60_000;

/** 202 `{ accepted: true }`, or 200 with one of these outcomes. */
function expectNoticed(answer: Answer, outcomes: readonly string[]): void {
  const body = jsonObject(answer) ?? {};
  const later = answer.status === 202 && body['accepted'] === true;
  const now = answer.status === 200 && outcomes.some((each) => body['outcome'] === each);
  expectThat(later || now, answer, `202 { accepted: true } or 200 with outcome ${outcomes.join(' or ')}`);
}

/** Protocol section 7: `POST /v1/refresh-notify`. */
export const REFRESH_NOTICE_CHECKS: readonly Check[] = [
  {
    id: 'refresh-notify.refreshes',
    title: 'a notice of an expired token has it refreshed, at once or soon after',
    requirements: ['REF-01'],
    claims: [...claims, 'storage'],
    run: async (tools) => {
      for (const reason of ['expired', 'manual']) {
        const { name, provider } = await givenRefreshable(tools);
        const { token } = await metadataOf(tools, name);
        const answer = await notice(tools, { serviceName: name, reason, expiresAt: fromNow(-MINUTE_MS) });
        expectNoticed(answer, ['refreshed']);
        if (answer.status === 202) await provider.arrived(1);
        expectAsked(answer, provider, 1);
        const version = await versionAfter(tools, name, token['version']);
        expectThat(version !== undefined, answer, `for "${reason}", a new version of the record`);
        const { expiryTime } = jsonObject(answer) ?? {};
        expectThat(
          (expiryTime ?? null) === null || isInAnHour(expiryTime),
          answer,
          'expiryTime, if any, in an hour',
        );
      }
    },
  },
  {
    id: 'refresh-notify.expiring',
    title: 'a notice of a token that is about to expire is accepted',
    requirements: ['REF-01'],
    claims,
    run: async (tools) => {
      const expiryTime = fromNow(5 * MINUTE_MS);
      const record = await givenRefreshable(tools, { beside: { expiryTime } });
      const { name } = record;
      const answer = await notice(tools, { serviceName: name, reason: 'expiring', expiresAt: expiryTime });
      expectNoticed(answer, ['refreshed']);
      expectNoSecret(answer, record);
    },
  },
  {
    id: 'refresh-notify.waits',
    title: 'a notice of an expired token is answered once the provider has answered',
    requirements: ['REF-25'],
    claims,
    run: async (tools) => {
      for (const reason of ['expired', 'manual']) {
        const { name, provider } = await givenRefreshable(tools);
        const answer = await notice(tools, { serviceName: name, reason });
        expectAsked(answer, provider, 1);
        const { outcome } = expectOk(answer);
        expectThat(outcome === 'refreshed', answer, `for "${reason}", outcome "refreshed"`);
      }
    },
  },
  {
    id: 'refresh-notify.hints',
    title: 'tokenUrl and clientId of a notice are not used: the sealed ones are',
    requirements: ['REF-02', 'TRU-01'],
    claims,
    run: async (tools) => {
      const elsewhere = (await tools.given.upstream()).open(
        answerJson(200, { access_token: 'at.elsewhere', expires_in: 3600 }),
      );
      const { name, provider } = await givenRefreshable(tools);
      const hints = { tokenUrl: elsewhere.url, clientId: 'another-client' };
      const answer = await notice(tools, { serviceName: name, reason: 'expired', ...hints });
      expectNoticed(answer, ['refreshed']);
      if (answer.status === 202) await provider.arrived(1);
      expectThat(elsewhere.calls.length === 0, answer, 'no call to the tokenUrl of the notice');
      expectAsked(answer, provider, 1);
    },
  },
  {
    id: 'refresh-notify.not-refreshable',
    title: 'a token without provider is not_refreshable, whatever a hint says',
    requirements: ['REF-03', 'REF-02'],
    claims,
    run: async (tools) => {
      const elsewhere = (await tools.given.upstream()).open(
        answerJson(200, { access_token: 'at.elsewhere', expires_in: 3600 }),
      );
      const jwt = { tokenType: 'JWT', accessToken: randomToken(), refreshToken: randomToken() };
      const names = [(await tools.given.text()).name, await tools.given.record(jwt)];
      for (const serviceName of names)
        for (const hints of [{}, { tokenUrl: elsewhere.url, clientId: 'client' }]) {
          const answer = await notice(tools, { serviceName, reason: 'expired', ...hints });
          const { outcome } = expectOk(answer);
          expectThat(outcome === 'not_refreshable', answer, 'outcome "not_refreshable"');
          expectThat(elsewhere.calls.length === 0, answer, 'no call to the tokenUrl of the notice');
        }
    },
  },
  {
    id: 'refresh-notify.failed',
    title: 'a notice whose refresh fails is accepted, or has the outcome failed',
    requirements: ['REF-01'],
    claims,
    run: async (tools) => {
      const record = await givenRefreshable(tools);
      record.provider.answerWith(answerJson(500, { error: record.provider.firstRefreshToken }));
      const answer = await notice(tools, { serviceName: record.name, reason: 'expired' });
      expectNoticed(answer, ['failed']);
      expectNoSecret(answer, record);
    },
  },
  {
    id: 'refresh-notify.unknown',
    title: 'a notice about a record that is not there is answered with 404',
    requirements: ['REF-26'],
    claims: ['refresh-notify'],
    run: async (tools) => {
      const answer = await notice(tools, { serviceName: tools.freshName(), reason: 'manual' });
      expectRefusal(answer, 'NOT_FOUND');
    },
  },
  {
    id: 'refresh-notify.reauth-needed',
    title: 'a notice about a record that is REAUTH_NEEDED is answered with 422, and nobody is called',
    requirements: ['REF-27', 'REF-21'],
    claims: [...claims, 'credential'],
    run: async (tools) => {
      const record = await givenRefreshable(tools);
      record.provider.answerWith(answerJson(400, { error: 'invalid_grant' }));
      expectAsked(await fetchToken(tools, record), record.provider, 1);
      for (const reason of ['expired', 'expiring']) {
        const answer = await notice(tools, { serviceName: record.name, reason });
        expectRefusal(answer, 'REAUTH_NEEDED');
        expectAsked(answer, record.provider, 1);
      }
    },
  },
  {
    id: 'refresh-notify.mediated',
    title: 'a notice about a token that only the service can refresh is answered with 409 REFRESH_NEEDED',
    requirements: ['REF-24'],
    claims: [...claims, 'sv-refresh'],
    run: async (tools) => {
      const { name, provider } = await givenRefreshable(tools, { sealed: mediatedProvider });
      for (const reason of ['expired', 'expiring']) {
        const answer = await notice(tools, { serviceName: name, reason });
        expectRefusal(answer, 'REFRESH_NEEDED');
        expectAsked(answer, provider, 0);
      }
    },
  },
  {
    id: 'refresh-notify.other-reason',
    title: 'a notice whose reason is none of the three is answered with 400, and nobody is called',
    requirements: ['REF-37'],
    claims,
    run: async (tools) => {
      const { name: serviceName, provider } = await givenRefreshable(tools);
      for (const reason of [undefined, '', 'Expired', 'expired ', 'unexpired', 'expiring soon']) {
        const answer = await notice(tools, { serviceName, reason });
        expectRefusal(answer, 'INVALID_REQUEST', `reason ${JSON.stringify(reason)}`);
        expectThat(provider.calls.length === 0, answer, 'no call to the provider');
      }
    },
  },
  {
    id: 'refresh-notify.bad-body',
    title: 'a notice that names no record is answered with 400',
    requirements: ['TRN-02', 'ERR-01'],
    claims: ['refresh-notify'],
    run: async (tools) => {
      for (const body of ['{"reason":"expired"}', '{"serviceName":7,"reason":"expired"}', '["expired"]'])
        expectRefusal(await notice(tools, body), 'INVALID_REQUEST');
    },
  },
  {
    id: 'refresh-notify.unsigned',
    title: 'a notice without a signature is answered with 401, and nobody is called',
    requirements: ['SIG-26'],
    claims,
    run: async (tools) => {
      const { name, provider } = await givenRefreshable(tools);
      const answer = await tools.send({
        method: 'POST',
        path: '/v1/refresh-notify',
        headers: [['content-type', 'application/json']],
        body: JSON.stringify({ serviceName: name, reason: 'expired' }),
      });
      expectRefusal(answer, 'SIGNATURE_INVALID');
      expectAsked(answer, provider, 0);
    },
  },
];
