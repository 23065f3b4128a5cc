import { randomToken } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { ProviderClient } from '../../provider/client-authentication.ts';
import { openProvider, type Provider } from '../../provider/provider.ts';
import { postClient } from './lease-hand.ts';
import {
  basicClient,
  expectAsked,
  expectLatest,
  fetchToken,
  givenRefreshable,
  jwtBody,
  metadataOf,
  sealedProvider,
} from './refreshable.ts';

const claims = ['credential', 'store', 'refresh-notify'] as const;
/** What RFC 6749 section 2.3.1 has encoded before the two are joined. */
const AWKWARD = 'a:b+c d%41/=&~';

interface Case {
  readonly title: string;
  readonly requirements: Check['requirements'];
  readonly clients: () => readonly ProviderClient[];
  /** By default with the method said. */
  readonly sealed?: (provider: Provider) => object;
}

const secret = (): string => randomToken();
const withoutMethod = (provider: Provider): object => ({
  ...sealedProvider(provider),
  authMethod: undefined,
});
const mediatedWithoutMethod = (provider: Provider): object => ({
  ...withoutMethod(provider),
  mediated: true,
});

const CASES: Readonly<Record<string, Case>> = {
  basic: {
    title: 'client_secret_basic sends id and secret in the Authorization header and nowhere else',
    requirements: ['CRE-16', 'REF-14'],
    // The second is longer than a line of base64 is, where somebody breaks lines.
    clients: () => [basicClient(), { ...basicClient(), secret: 'long'.repeat(50) }],
  },
  'basic-encoded': {
    title: 'client_secret_basic form-encodes id and secret before it joins them',
    requirements: ['CRE-16'],
    clients: () => [
      { id: 'client', method: 'client_secret_basic', secret: AWKWARD },
      { id: AWKWARD, method: 'client_secret_basic', secret: secret() },
    ],
  },
  post: {
    title: 'client_secret_post sends id and secret in the form and nowhere else',
    requirements: ['CRE-16', 'REF-14'],
    clients: () => [
      { id: 'a client', method: 'client_secret_post', secret: secret() },
      { id: 'client', method: 'client_secret_post', secret: AWKWARD },
    ],
  },
  none: {
    title: 'authMethod none sends the client’s id in the form and nothing that authenticates',
    requirements: ['CRE-16', 'REF-14'],
    clients: () => [{ id: 'client', method: 'none' }],
  },
  'default-with-secret': {
    title: 'without authMethod a client with a secret authenticates by client_secret_basic',
    requirements: ['CRE-17'],
    clients: () => [basicClient()],
    sealed: withoutMethod,
  },
  'default-without-secret': {
    title: 'without authMethod a client without a secret authenticates by nothing',
    requirements: ['CRE-17'],
    clients: () => [{ id: 'client', method: 'none' }],
    sealed: withoutMethod,
  },
};

/** What a provider sees of a refresh (protocol section 5.4; RFC 6749 sections 2.3.1 and 6). */
export const PROVIDER_CALL_CHECKS: readonly Check[] = [
  ...Object.entries(CASES).map(([id, { title, requirements, clients, sealed }]): Check => ({
    id: `refresh.client-${id}`,
    title,
    requirements,
    claims,
    run: async (tools) => {
      for (const client of clients()) {
        const record = await givenRefreshable(tools, { client, ...(sealed && { sealed }) });
        const answer = await fetchToken(tools, record);
        expectAsked(answer, record.provider, 1);
        expectLatest(answer, record);
      }
    },
  })),
  {
    id: 'refresh.scope',
    title: 'a refresh asks for the sealed scope or for none',
    requirements: ['TRU-01', 'REF-14'],
    claims,
    run: async (tools) => {
      for (const scope of ['read:all offline', undefined]) {
        const record = await givenRefreshable(tools, {
          ...(scope !== undefined && { scope }),
          sealed: (provider) => ({ ...sealedProvider(provider), scope }),
        });
        const answer = await fetchToken(tools, record);
        expectAsked(answer, record.provider, 1);
        expectLatest(answer, record);
      }
    },
  },
  {
    id: 'refresh.shown-provider',
    title: 'lists show a record’s token URL, client id, authMethod and mediated, and no secret of the client',
    requirements: ['CRE-17', 'STO-03'],
    claims: [...claims, 'storage'],
    run: async (tools) => {
      const publicClient = { id: 'client', method: 'none' } as const;
      const shown = [
        { client: basicClient(), sealed: withoutMethod, authMethod: 'client_secret_basic', mediated: false },
        { client: publicClient, sealed: withoutMethod, authMethod: 'none', mediated: false },
        { client: postClient(), sealed: sealedProvider, authMethod: 'client_secret_post', mediated: false },
        {
          client: publicClient,
          sealed: mediatedWithoutMethod,
          authMethod: 'client_secret_basic',
          mediated: true,
        },
      ];
      const served = shown.filter(({ mediated }) => !mediated || tools.claims.has('sv-refresh'));
      for (const { client, sealed, authMethod, mediated } of served) {
        const { name, provider } = await givenRefreshable(tools, { client, sealed });
        const { answer, token } = await metadataOf(tools, name);
        const { tokenUrl } = provider;
        const told = Object(token['provider']) as Record<string, unknown>;
        const expected = { tokenUrl, clientId: client.id, authMethod, mediated };
        for (const [member, value] of Object.entries(expected))
          expectThat(told[member] === value, answer, `provider.${member} ${JSON.stringify(value)}`);
        const returned = Buffer.from(answer.body).toString('utf8');
        expectThat(!('secret' in client) || !returned.includes(client.secret), answer, 'no client secret');
      }
    },
  },
  {
    id: 'refresh.auth-method-refused',
    title: 'another authMethod is refused, and private_key_jwt where the client is not mediated',
    requirements: ['CRE-16'],
    claims,
    run: async (tools) => {
      await givenRefreshable(tools); // Else a refused address looks like a refused authMethod.
      const provider = openProvider(await tools.given.upstream(), basicClient());
      const sealed = sealedProvider(provider);
      const name = tools.freshName();
      for (const authMethod of ['client_secret_jwt', 'Client_Secret_Basic', '', 'private_key_jwt'])
        expectRefusal(
          await tools.store(name, jwtBody(provider, { ...sealed, authMethod }, secret())),
          'INVALID_REQUEST',
        );
      expectRefusal(await fetchToken(tools, { name }), 'NOT_FOUND');
      expectOk(await tools.store(name, jwtBody(provider, sealed, secret())));
    },
  },
];
