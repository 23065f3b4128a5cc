import { randomToken } from '@svault/shared';
import type { Check } from '../check.ts';
import { expectOk, expectRefusal, expectThat } from '../expect.ts';
import type { Answer } from '../http/client.ts';
import type { ProviderClient } from '../provider/client-authentication.ts';
import { answerJson, openProvider } from '../provider/provider.ts';
import type { Tools } from '../tools.ts';
import {
  basicClient,
  deliveredToken,
  expectAsked,
  expectLatest,
  expectNoSecret,
  expectRetryAfter,
  fetchToken,
  givenRefreshable,
  isInAnHour,
  jwtBody,
  lease,
  mediatedProvider,
  metadataOf,
  sealedProvider,
  type Refreshable,
} from './refreshable.ts';

const claims = ['store', 'sv-refresh'] as const;

const get = (tools: Tools, { name }: Refreshable): Promise<Answer> =>
  lease(tools, { phase: 'get', serviceName: name });
const update = (tools: Tools, leaseId: unknown, authentication: object): Promise<Answer> =>
  lease(tools, { phase: 'update', leaseId, ...authentication });

/** A record that only the service can refresh, and a lease for it. */
async function givenLease(
  tools: Tools,
  client: ProviderClient = basicClient(),
): Promise<{ readonly record: Refreshable; readonly leaseId: unknown; readonly authentication: object }> {
  const record = await givenRefreshable(tools, { client, sealed: mediatedProvider });
  const { leaseId } = expectOk(await get(tools, record));
  return { record, leaseId, authentication: authenticationOf(client) };
}

/** What the service gives with `update`. */
const authenticationOf = (client: ProviderClient): object => ({
  ...('secret' in client && { clientSecret: client.secret }),
  ...('assertion' in client && { clientAssertion: client.assertion }),
});

const assertionClient = (): ProviderClient => ({
  id: 'client',
  method: 'private_key_jwt',
  assertion: `${randomToken()}.${randomToken()}.${randomToken()}`,
});
const postClient = (): ProviderClient => ({
  id: 'client',
  method: 'client_secret_post',
  secret: randomToken(),
});

function expectOutcome(answer: Answer, outcome: string): void {
  expectThat(expectOk(answer)['outcome'] === outcome, answer, `200 with outcome "${outcome}"`);
}

const METHODS = {
  basic: [
    (): ProviderClient => ({ ...basicClient(), secret: `s:+%41 ü${randomToken()}` }),
    'clientSecret by client_secret_basic',
  ],
  post: [
    (): ProviderClient => ({
      id: 'a client',
      method: 'client_secret_post',
      secret: `s&+%41 ü${randomToken()}`,
    }),
    'clientSecret by client_secret_post',
  ],
  assertion: [assertionClient, 'clientAssertion by private_key_jwt'],
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
      const answer = await update(tools, leaseId, authentication);
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
      const answer = await update(tools, leaseId, authentication);
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
      expectOutcome(await update(tools, leaseId, authentication), 'refreshed');
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
      expectOutcome(await update(tools, leaseId, authentication), 'refreshed');
      const again = await get(tools, record);
      const { leaseId: next } = expectOk(again);
      expectThat(next !== leaseId, again, 'another leaseId');
      const answer = await update(tools, next, authentication);
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
        expectOutcome(await update(tools, leaseId, authentication), outcome);
        record.provider.answerWith(undefined);
        const again = await update(tools, leaseId, authentication);
        expectAsked(again, record.provider, 1);
        expectOutcome(again, outcome);
      }
    },
  },
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
        const refused = await update(tools, leaseId, wrong);
        expectRefusal(refused, 'INVALID_REQUEST');
        expectAsked(refused, record.provider, 0);
        expectOutcome(await update(tools, leaseId, authentication), 'refreshed');
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
      const other = id.slice(0, -1) + (id.endsWith('0') ? '1' : '0');
      const answer = await update(tools, other, authentication);
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
      const answer = await update(tools, leaseId, authentication);
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
      const { firstRefreshToken: told } = record.provider;
      record.provider.answerWith(answerJson(400, { error: 'invalid_grant', error_description: told }));
      const answer = await update(tools, leaseId, authentication);
      expectAsked(answer, record.provider, 1);
      expectOutcome(answer, 'invalid_grant');
      expectNoSecret(answer, record);
      const { answer: listed, token } = await metadataOf(tools, record.name);
      expectThat(token['reauthNeeded'] === true, listed, 'reauthNeeded true');
    },
  },
  {
    id: 'lease.update-provider-error',
    title: 'a provider that fails is an outcome, and the stored token stays as it is',
    requirements: ['REF-16', 'REF-14'],
    claims: [...claims, 'storage'],
    run: async (tools) => {
      const { record, leaseId, authentication } = await givenLease(tools);
      const { token: before } = await metadataOf(tools, record.name);
      const { firstRefreshToken: told } = record.provider;
      record.provider.answerWith(answerJson(500, { error: told }));
      const answer = await update(tools, leaseId, authentication);
      expectAsked(answer, record.provider, 1);
      expectOutcome(answer, 'provider_error');
      expectNoSecret(answer, record);
      const { answer: listed, token } = await metadataOf(tools, record.name);
      expectThat(
        token['version'] === before['version'],
        listed,
        `version ${String(before['version'])}, as before`,
      );
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
      const answer = await update(tools, leaseId, { ...authentication, tokenUrl: elsewhere.url });
      expectThat(
        elsewhere.calls.length === 0,
        answer,
        'no call to the tokenUrl of the update, or of a redirect',
      );
      expectAsked(answer, record.provider, 1);
      expectOutcome(answer, 'provider_error');
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
      const updated = update(tools, leaseId, authentication);
      const asked = await provider.arrived(1);
      const timer = setTimeout(release, HELD_MS);
      const busy = asked ? await get(tools, record) : undefined;
      const wasHeld = provider.accessTokens.length === 0;
      const same = update(tools, leaseId, authentication);
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
      const { leaseId } = expectOk(await get(tools, record));
      record.provider.expiresIn = 5;
      expectOutcome(await update(tools, leaseId, { clientSecret: client.secret }), 'refreshed');
      record.provider.expiresIn = 3600;
      const answer = await fetchToken(tools, record);
      expectAsked(answer, record.provider, 2);
      deliveredToken(answer);
      expectLatest(answer, record);
    },
  },
];

/** How long the provider keeps its answer back at most, for a webhook that does one thing after the other. */
const HELD_MS = 1_500;
