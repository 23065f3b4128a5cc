import { randomToken } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import { answerJson, openProvider } from '../../provider/provider.ts';
import { assertionClient, expectOutcome, givenLease, postClient, updateUnder } from './lease-hand.ts';
import {
  basicClient,
  expectAsked,
  expectNoSecret,
  jwtBody,
  mediatedProvider,
  metadataOf,
} from './refreshable.ts';

const claims = ['store', 'sv-refresh'] as const;

/** Protocol section 7: what an `update` is refused for, and how it fails. */
export const LEASE_REFUSAL_CHECKS: readonly Check[] = [
  {
    id: 'lease.update-unauthenticated',
    title: 'an update without what authMethod asks for is refused with 400, and the lease stays',
    requirements: ['REF-29'],
    claims,
    run: async (tools) => {
      for (const [client, wrong] of [
        [basicClient(), {}],
        [postClient(), { clientAssertion: randomToken() }],
        [assertionClient(), { clientSecret: randomToken() }],
      ] as const) {
        const { record, leaseId, authentication } = await givenLease(tools, client);
        const refused = await updateUnder(tools, leaseId, wrong);
        expectRefusal(refused, 'INVALID_REQUEST');
        expectAsked(refused, record.provider, 0);
        expectOutcome(await updateUnder(tools, leaseId, authentication), 'refreshed');
      }
    },
  },
  {
    id: 'lease.update-unknown',
    title: 'an update under a lease that is not known is refused with 409 LEASE_EXPIRED',
    requirements: ['REF-10'],
    claims,
    run: async (tools) => {
      const { record, leaseId, authentication } = await givenLease(tools);
      // As this webhook's ids look, but for one character.
      const id = String(leaseId);
      const other = (id.startsWith('0') ? '1' : '0') + id.slice(1);
      const answer = await updateUnder(tools, other, authentication);
      expectRefusal(answer, 'LEASE_EXPIRED');
      expectAsked(answer, record.provider, 0);
    },
  },
  {
    id: 'lease.update-after-store',
    title: 'an update for a record that was stored anew is refused with 409, and no provider is called',
    requirements: ['REF-30', 'REF-15'],
    claims,
    run: async (tools) => {
      const { record, leaseId, authentication } = await givenLease(tools);
      const { client } = record.provider;
      const other = openProvider(await tools.given.upstream(), client);
      const body = jwtBody(other, mediatedProvider(other), `stored.${randomToken()}`);
      expectOk(await tools.store(record.name, body));
      const answer = await updateUnder(tools, leaseId, authentication);
      expectAsked(answer, record.provider, 0);
      expectAsked(answer, other, 0);
      expectRefusal(answer, 'LEASE_EXPIRED');
    },
  },
  {
    id: 'lease.update-invalid-grant',
    title: 'invalid_grant is an outcome, and what the provider wrote beside it stays where it is',
    requirements: ['REF-20', 'REF-16'],
    claims: [...claims, 'storage'],
    run: async (tools) => {
      const { record, leaseId, authentication } = await givenLease(tools);
      const { firstRefreshToken: returned } = record.provider;
      record.provider.answerWith(answerJson(400, { error: 'invalid_grant', error_description: returned }));
      const answer = await updateUnder(tools, leaseId, authentication);
      expectAsked(answer, record.provider, 1);
      expectOutcome(answer, 'invalid_grant');
      expectNoSecret(answer, record);
      const { answer: listed, token } = await metadataOf(tools, record.name);
      expectThat(token['reauthNeeded'] === true, listed, 'reauthNeeded true');
    },
  },
  {
    id: 'lease.update-provider-error',
    title: 'a provider that fails is an outcome, and does not make the owner authorise anew',
    requirements: ['REF-16', 'REF-14'],
    claims: [...claims, 'storage'],
    run: async (tools) => {
      const { record, leaseId, authentication } = await givenLease(tools);
      const { firstRefreshToken: returned } = record.provider;
      record.provider.answerWith(answerJson(500, { error: returned }));
      const answer = await updateUnder(tools, leaseId, authentication);
      expectAsked(answer, record.provider);
      expectOutcome(answer, 'provider_error');
      expectNoSecret(answer, record);
      const { answer: listed, token } = await metadataOf(tools, record.name);
      expectThat((token['reauthNeeded'] ?? null) === null, listed, 'no reauthNeeded');
    },
  },
  {
    id: 'lease.update-goes-home',
    title: 'an update’s client authentication goes to the sealed token URL alone',
    requirements: ['REF-15', 'ADR-05', 'TRU-01'],
    claims,
    run: async (tools) => {
      const elsewhere = (await tools.given.upstream()).open(
        answerJson(200, { access_token: 'at.elsewhere' }),
      );
      const { record, leaseId, authentication } = await givenLease(tools);
      record.provider.answerWith((response) => {
        response.writeHead(307, { location: elsewhere.url }).end();
      });
      const answer = await updateUnder(tools, leaseId, { ...authentication, tokenUrl: elsewhere.url });
      expectThat(
        elsewhere.calls.length === 0,
        answer,
        'no call to the tokenUrl of the update, or of a redirect',
      );
      expectAsked(answer, record.provider);
      expectOutcome(answer, 'provider_error');
    },
  },
];
