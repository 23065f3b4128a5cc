import { randomToken } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { ProviderClient } from '../../provider/client-authentication.ts';
import { answerJson } from '../../provider/provider.ts';
import { assertionClient, expectOutcome, getLease, givenLease, updateUnder } from './lease-hand.ts';
import { LEASE_REFUSAL_CHECKS } from './lease-refusals.ts';
import {
  basicClient,
  deliveredToken,
  expectAsked,
  expectLatest,
  expectNoSecret,
  expectRetryAfter,
  MAX_CALLS_AN_HOUR,
  fetchToken,
  givenRefreshable,
  isInAnHour,
  metadataOf,
  sealedProvider,
  underWay,
} from './refreshable.ts';

const claims = ['store', 'sv-refresh'] as const;

const METHODS = {
  basic: [
    (): ProviderClient => ({ ...basicClient(), secret: `s:+%41 ${randomToken()}` }),
    'clientSecret by client_secret_basic',
  ],
  post: [
    (): ProviderClient => ({
      id: 'a client',
      method: 'client_secret_post',
      secret: `s&+%41 ${randomToken()}`,
    }),
    'clientSecret by client_secret_post',
  ],
  assertion: [assertionClient, 'clientAssertion by private_key_jwt'],
  none: [(): ProviderClient => ({ id: 'a public client', method: 'none' }), 'client id alone, by none'],
} as const;

/** Protocol section 7: `POST /v1/refresh`, its second phase. */
export const LEASE_UPDATE_CHECKS: readonly Check[] = [
  ...Object.entries(METHODS).map(([id, [client, how]]): Check => ({
    id: `lease.update-${id}`,
    title: `an update has the webhook call the provider, with the service’s ${how}`,
    requirements: ['REF-14', 'CRE-16'],
    claims,
    run: async (tools) => {
      const { record, leaseId, authentication } = await givenLease(tools, client());
      const answer = await updateUnder(tools, leaseId, authentication);
      expectAsked(answer, record.provider, 1);
      expectOutcome(answer, 'refreshed');
    },
  })),
  {
    id: 'lease.update-says-no-token',
    title: 'the outcome of an update holds no token, and its expiryTime, if any, is the new one',
    requirements: ['REF-16'],
    claims,
    run: async (tools) => {
      const { record, leaseId, authentication } = await givenLease(tools);
      const answer = await updateUnder(tools, leaseId, authentication);
      expectAsked(answer, record.provider, 1);
      const { expiryTime } = expectOk(answer);
      expectNoSecret(answer, record);
      expectThat((expiryTime ?? null) === null || isInAnHour(expiryTime), answer, 'an expiryTime in an hour');
    },
  },
  {
    id: 'lease.update-stored',
    title: 'what an update gained is stored as a new version and delivered without another call',
    requirements: ['REF-13', 'STO-14'],
    claims: [...claims, 'storage', 'credential'],
    run: async (tools) => {
      const { record, leaseId, authentication } = await givenLease(tools);
      const { token: before } = await metadataOf(tools, record.name);
      expectOutcome(await updateUnder(tools, leaseId, authentication), 'refreshed');
      const { answer: listed, token: after } = await metadataOf(tools, record.name);
      expectThat(
        Number(after['version']) > Number(before['version']),
        listed,
        'a higher version than before',
      );
      const answer = await fetchToken(tools, record);
      expectLatest(answer, record);
      expectAsked(answer, record.provider, 1);
    },
  },
  {
    id: 'lease.update-rotates',
    title: 'a lease ends with its update, and the next one refreshes with the rotated token',
    requirements: ['REF-08', 'REF-13'],
    claims,
    run: async (tools) => {
      const { record, leaseId, authentication } = await givenLease(tools);
      expectOutcome(await updateUnder(tools, leaseId, authentication), 'refreshed');
      const again = await getLease(tools, record);
      const { leaseId: next } = expectOk(again);
      expectThat(next !== leaseId, again, 'another leaseId');
      const answer = await updateUnder(tools, next, authentication);
      expectAsked(answer, record.provider, 2);
      expectOutcome(answer, 'refreshed');
    },
  },
  {
    id: 'lease.update-again',
    title: 'the same update again is answered with the same outcome, and nobody is called',
    requirements: ['REF-11'],
    claims,
    run: async (tools) => {
      for (const outcome of ['refreshed', 'provider_error']) {
        const { record, leaseId, authentication } = await givenLease(tools);
        if (outcome !== 'refreshed') record.provider.answerWith(answerJson(500, {}));
        expectOutcome(await updateUnder(tools, leaseId, authentication), outcome);
        record.provider.answerWith(undefined);
        const again = await updateUnder(tools, leaseId, authentication);
        expectAsked(again, record.provider, 1);
        expectOutcome(again, outcome);
      }
    },
  },
  {
    id: 'lease.update-known-by-lease',
    title: 'an update under a lease that was used is the same one, whatever authentication it brings',
    requirements: ['REF-35', 'REF-11'],
    claims,
    run: async (tools) => {
      const { record, leaseId, authentication } = await givenLease(tools);
      expectOutcome(await updateUnder(tools, leaseId, authentication), 'refreshed');
      const again = await updateUnder(tools, leaseId, { clientSecret: randomToken(), more: 1 });
      expectAsked(again, record.provider, 1);
      expectOutcome(again, 'refreshed');
    },
  },
  {
    id: 'lease.calls-count',
    title: 'the calls of leases, failed ones too, count towards the ten of an hour',
    requirements: ['REF-36', 'REF-04', 'TRN-24'],
    claims,
    run: async (tools) => {
      const { record, leaseId, authentication } = await givenLease(tools);
      record.provider.answerWith(answerJson(500, {}));
      let answer = await updateUnder(tools, leaseId, authentication);
      for (let calls = 1; calls <= MAX_CALLS_AN_HOUR && answer.status === 200; calls++) {
        const next = await getLease(tools, record);
        answer =
          next.status === 200 ? await updateUnder(tools, expectOk(next)['leaseId'], authentication) : next;
      }
      expectAsked(answer, record.provider, MAX_CALLS_AN_HOUR);
      expectRefusal(answer, 'RATE_LIMITED');
      expectRetryAfter(answer);
    },
  },
  {
    id: 'lease.lasts-through-call',
    title: 'a lease lasts while the call runs that it led to, and the same update then calls nobody',
    requirements: ['REF-08', 'REF-06', 'REF-11'],
    claims,
    run: async (tools) => {
      const { record, leaseId, authentication } = await givenLease(tools);
      const { provider } = record;
      const release = provider.hold();
      const updated = underWay(updateUnder(tools, leaseId, authentication));
      const asked = await provider.arrived(1);
      const timer = setTimeout(release, HELD_MS);
      const busy = asked ? await getLease(tools, record) : undefined;
      const wasHeld = provider.accessTokens.length === 0;
      const same = underWay(updateUnder(tools, leaseId, authentication));
      await provider.arrived(2, 60);
      clearTimeout(timer);
      release();
      const answer = await updated;
      expectAsked(answer, provider, 1);
      expectOutcome(answer, 'refreshed');
      if (wasHeld && busy !== undefined) {
        expectRefusal(busy, 'REFRESH_BUSY');
        expectRetryAfter(busy);
      }
      const again = await same;
      expectAsked(again, provider, 1);
      expectOutcome(again, 'refreshed');
    },
  },
  {
    id: 'lease.own-secret',
    title: 'a token that the webhook can refresh by itself may be leased too, and stays refreshable by both',
    requirements: ['REF-14', 'REF-09'],
    claims: [...claims, 'credential', 'refresh-notify'],
    run: async (tools) => {
      const client = basicClient();
      const record = await givenRefreshable(tools, { client, sealed: sealedProvider });
      const { leaseId } = expectOk(await getLease(tools, record));
      record.provider.expiresIn = 5;
      expectOutcome(await updateUnder(tools, leaseId, { clientSecret: client.secret }), 'refreshed');
      record.provider.expiresIn = 3600;
      const answer = await fetchToken(tools, record);
      expectAsked(answer, record.provider, 2);
      deliveredToken(answer);
      expectLatest(answer, record);
    },
  },
  ...LEASE_REFUSAL_CHECKS,
];

/** How long the provider keeps its answer back at most, for a webhook that does one thing after the other. */
const HELD_MS = 1_500;
