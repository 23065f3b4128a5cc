import { randomToken } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { NotTestable } from '../../check/outcome.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import { answerJson } from '../../provider/provider.ts';
import type { Tools } from '../../check/tools.ts';
import { LEASE_UPDATE_CHECKS } from './lease-updates.ts';
import {
  basicClient,
  expectAsked,
  expectLatest,
  expectNoSecret,
  expectRetryAfter,
  fetchToken,
  fromNow,
  givenRefreshable,
  lease,
  mediatedProvider,
  metadataOf,
  notice,
  underWay,
} from './refreshable.ts';

const claims = ['store', 'sv-refresh'] as const;
const MINUTE_MS = 60_000;

const get = (tools: Tools, serviceName: string): Promise<Answer> =>
  lease(tools, { phase: 'get', serviceName });

/** Protocol section 7: `POST /v1/refresh`, its first phase, and who waits for it. */
export const LEASE_CHECKS: readonly Check[] = [
  {
    id: 'lease.get',
    title: 'a lease says for how long, where and as whom to refresh, and holds no token',
    requirements: ['REF-16', 'CRE-16', 'CRE-17'],
    claims,
    run: async (tools) => {
      const scope = 'read:all offline';
      const { id, secret } = basicClient();
      const assertion = `${randomToken()}.${randomToken()}.${randomToken()}`;
      for (const [client, said, authMethod] of [
        [{ id, method: 'client_secret_basic', secret }, undefined, 'client_secret_basic'],
        [{ id, method: 'client_secret_post', secret }, 'client_secret_post', 'client_secret_post'],
        [{ id, method: 'private_key_jwt', assertion }, 'private_key_jwt', 'private_key_jwt'],
      ] as const) {
        const record = await givenRefreshable(tools, {
          client,
          scope,
          sealed: (provider) => ({ ...mediatedProvider(provider), scope, authMethod: said }),
        });
        const answer = await get(tools, record.name);
        const body = expectOk(answer);
        const { tokenUrl } = record.provider;
        const expected = { leaseSeconds: 30, tokenUrl, clientId: id, authMethod, scope };
        for (const [member, value] of Object.entries(expected))
          expectThat(body[member] === value, answer, `${member} ${JSON.stringify(value)}`);
        expectThat(typeof body['leaseId'] === 'string' && body['leaseId'] !== '', answer, 'a leaseId');
        expectNoSecret(answer, record);
      }
    },
  },
  {
    id: 'lease.one-at-a-time',
    title:
      'a second lease for a token is refused with 409 REFRESH_BUSY and Retry-After, one for another token is not',
    requirements: ['REF-06'],
    claims,
    run: async (tools) => {
      const [one, other] = [
        await givenRefreshable(tools, { sealed: mediatedProvider }),
        await givenRefreshable(tools, { sealed: mediatedProvider }),
      ];
      const answers = await Promise.all(Array.from({ length: 5 }, () => get(tools, one.name)));
      const [first, ...more] = answers.filter(({ status }) => status === 200);
      const [any] = answers;
      if (any !== undefined) expectThat(first !== undefined, any, '200 with a lease, for one of five');
      for (const answer of more) expectThat(false, answer, '409, since the token has a lease');
      for (const answer of [...answers, await get(tools, one.name)])
        if (answer !== first) {
          expectRefusal(answer, 'REFRESH_BUSY');
          expectRetryAfter(answer);
        }
      expectOk(await get(tools, other.name));
    },
  },
  {
    id: 'lease.not-refreshable',
    title: 'a lease for a record without provider or refresh token is refused with 422',
    requirements: ['REF-07'],
    claims,
    run: async (tools) => {
      const jwt = { tokenType: 'JWT', accessToken: randomToken(), refreshToken: randomToken() };
      const unrefreshable = await givenRefreshable(tools, {
        sealed: mediatedProvider,
        beside: { refreshToken: undefined },
      });
      const names = [(await tools.given.text()).name, await tools.given.record(jwt), unrefreshable.name];
      for (const name of names) expectRefusal(await get(tools, name), 'NOT_REFRESHABLE');
    },
  },
  {
    id: 'lease.unknown-record',
    title: 'a lease for a record that is not there is refused with 404',
    requirements: ['REF-26'],
    claims: ['sv-refresh'],
    run: async (tools) => expectRefusal(await get(tools, tools.freshName()), 'NOT_FOUND'),
  },
  {
    id: 'lease.unsigned',
    title: 'a lease is given to nobody without a signature',
    requirements: ['SIG-26'],
    claims,
    run: async (tools) => {
      const { name } = await givenRefreshable(tools, { sealed: mediatedProvider });
      const answer = await tools.send({
        method: 'POST',
        path: '/v1/refresh',
        headers: [['content-type', 'application/json']],
        body: JSON.stringify({ phase: 'get', serviceName: name }),
      });
      expectRefusal(answer, 'SIGNATURE_INVALID');
      // Nor was one given silently.
      expectOk(await get(tools, name));
    },
  },
  {
    id: 'lease.bad-body',
    title: 'a refresh without a phase, or a lease for nothing, is answered with 400',
    requirements: ['TRN-02', 'ERR-01'],
    claims: ['sv-refresh'],
    run: async (tools) => {
      for (const body of [
        '{"serviceName":"a"}',
        '{"phase":"renew","serviceName":"a"}',
        '{"phase":"get"}',
        '[]',
      ])
        expectRefusal(await lease(tools, body), 'INVALID_REQUEST');
    },
  },
  {
    id: 'lease.reauth-needed',
    title: 'a lease for a record that is REAUTH_NEEDED is refused with 422',
    requirements: ['REF-27', 'REF-21', 'REF-20'],
    claims: [...claims, 'storage'],
    run: async (tools) => {
      const client = basicClient();
      const { name, provider } = await givenRefreshable(tools, { client, sealed: mediatedProvider });
      provider.answerWith(answerJson(400, { error: 'invalid_grant' }));
      const { leaseId } = expectOk(await get(tools, name));
      const update = await lease(tools, { phase: 'update', leaseId, clientSecret: client.secret });
      expectAsked(update, provider, 1);
      const { answer, token } = await metadataOf(tools, name);
      expectThat(token['reauthNeeded'] === true, answer, 'reauthNeeded true');
      expectRefusal(await get(tools, name), 'REAUTH_NEEDED');
    },
  },
  {
    id: 'lease.holds-own-refresh',
    title: 'the webhook’s own refresh of a token waits for that token’s lease',
    requirements: ['REF-09'],
    claims: [...claims, 'refresh-notify', 'storage'],
    run: async (tools) => {
      const client = basicClient();
      const beside = { expiryTime: fromNow(5 * MINUTE_MS) };
      const { name, provider } = await givenRefreshable(tools, { client, beside });
      const got = await get(tools, name);
      const { leaseId } = expectOk(got);
      // Whether the notice is answered now or after the lease is the webhook's affair.
      const noticed = underWay(notice(tools, { serviceName: name, reason: 'expiring' }));
      await provider.arrived(1, 60);
      const { answer } = await metadataOf(tools, name);
      expectThat(provider.calls.length === 0, answer, 'no call to the provider while a lease is out');
      const update = await lease(tools, { phase: 'update', leaseId, clientSecret: client.secret });
      const { outcome } = expectOk(update);
      expectThat(outcome === 'refreshed', update, 'outcome "refreshed"');
      await noticed;
      const fault = provider.calls.find((call) => call.fault !== undefined)?.fault;
      expectThat(fault === undefined, update, `calls that the provider can take, but ${fault}`);
    },
  },
  {
    id: 'lease.delivered-after',
    title: 'an expired token is delivered once the lease that is out was used, as the lease refreshed it',
    requirements: ['REF-09', 'CRE-12'],
    claims: [...claims, 'credential', 'refresh-notify'],
    run: async (tools) => {
      const client = basicClient();
      const record = await givenRefreshable(tools, { client });
      const { name, provider } = record;
      const { leaseId } = expectOk(await get(tools, name));
      const fetched = underWay(fetchToken(tools, record));
      await provider.arrived(1, 60);
      const update = await lease(tools, { phase: 'update', leaseId, clientSecret: client.secret });
      expectThat(expectOk(update)['outcome'] === 'refreshed', update, 'outcome "refreshed"');
      const answer = await fetched;
      expectLatest(answer, record);
      expectAsked(answer, provider, 1);
    },
  },
  {
    id: 'lease.busy-while-refreshing',
    title: 'a lease is refused with 409 REFRESH_BUSY while the webhook refreshes the token by itself',
    requirements: ['REF-28'],
    claims: [...claims, 'credential', 'refresh-notify'],
    run: async (tools) => {
      const record = await givenRefreshable(tools);
      const { name, provider } = record;
      const release = provider.hold();
      const fetched = underWay(fetchToken(tools, record));
      if (!(await provider.arrived(1))) {
        release();
        expectAsked(await fetched, provider, 1);
      }
      const timer = setTimeout(release, HELD_MS);
      const answer = await get(tools, name).finally(() => {
        clearTimeout(timer);
      });
      const wasHeld = provider.accessTokens.length === 0;
      release();
      if (wasHeld) {
        expectRefusal(answer, 'REFRESH_BUSY');
        expectRetryAfter(answer);
      }
      const delivered = await fetched;
      if (delivered.status !== 200) throw new NotTestable('the token was not refreshed', delivered);
    },
  },
  ...LEASE_UPDATE_CHECKS,
];

/** How long the provider keeps its answer back at most, for a webhook that does one thing after the other. */
const HELD_MS = 1_500;
